/*
 * Sequences in place: several launches of the program replaced by one; docs/rules.md.
 *
 * A launch that may belong to a sequence is held: it is copied, with all that its parameters hold,
 * and the program is told that it has been launched. When the last one of the sequence arrives, the
 * replacement runs in the place of all (or beside them, in shadow). In every other case what is
 * held is launched, in its order, before anything else happens that could make a difference: each
 * function of the driver that the program looks up or links, but queries (ab_sequence_names.c),
 * passes through a door here that does this first (ab_sequence_doors.c); other launches do it
 * before they look at rules; where the program does nothing at all, a thread does it
 * (ab_sequence_timer.c). What is held is of one stream and one thread; there is at most one
 * sequence under way.
 *
 * What asks about memory that was given back so ends this, too.
 *
 * Nothing is held whose parameters could be invalid, that could be seen by others than this GPU, or
 * in a capture, or as long as work of the GPU may wait for the host: docs/rules.md.
 * Where a launch that was held fails after all, what was held behind it is dropped, and the call
 * that had it launched, or the next one, returns its error and does nothing else.
 *
 * A replacement may leave intermediates unwritten, where the rule says so («elide»), or where it is
 * about what is recognised: then the launches stay held behind it, and are made after all before
 * anything else happens, so that memory is what it is without kprof; only where the program gives
 * these intermediates back in the order of the stream, and nothing else came in between, they are
 * dropped. Such calls are held meanwhile, as they are in the midst of a sequence; they are made
 * behind all launches, for nobody can tell. Of a rule whose intermediates are never given back the
 * sequences are left alone after a while.
 *
 * Threading: one lock guards all; it is taken where something is held, or is to be. What holds it
 * may call the driver, never the program, and touches no memory of the program's, which might not
 * be there; the thread cannot be cancelled or interrupted by signals meanwhile.
 *
 * Files: ab_sequence.c (the way of a launch), ab_sequence_calls.c (all that ends it),
 * ab_sequence_owed.c (what is held, and left unwritten), ab_sequence_hold.c (copies of launches),
 * ab_sequence_match.c (which launches fit), ab_sequence_recognise.c (the same by what launches are
 * known to do), ab_sequence_flow.c (their data), ab_sequence_memory.c (whose memory it is).
 */
#ifndef KP_INJECT_AB_SEQUENCE_H
#define KP_INJECT_AB_SEQUENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/ab.h"
#include "trace/ab_results.h"

/* Not 0: something is held, or an error has not been told yet. */
extern __attribute__((visibility("hidden"))) _Atomic uint32_t kp_ab_sequence_pending;
/* Whether the plan has sequences, and all that they need is there. */
extern __attribute__((visibility("hidden"))) _Atomic bool kp_ab_sequence_on;

static inline bool kp_ab_sequence_is_pending(void)
{
	return __builtin_expect(
		atomic_load_explicit(&kp_ab_sequence_pending, memory_order_relaxed) != 0, 0);
}

static inline bool kp_ab_sequence_is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&kp_ab_sequence_on, memory_order_relaxed), 0);
}

/* Behind the plan. */
void kp_ab_sequence_start(void);
/* What is held is launched, and from now on nothing is held any more. */
void kp_ab_sequence_end(void);
/* A context of that GPU was made: nothing is held in a process that uses several. */
void kp_ab_sequence_device(int device);
/* What is held is launched where the process ends. */
void kp_ab_sequence_finish(void);
/* In a forked child: nothing is held. */
void kp_ab_sequence_forget(void);

/* While it is on. True: a launch is held, or was the last; *result is the program's. Else it is to
 * go on. */
bool kp_ab_sequence_takes(const struct kp_ab_launch *launch, CUresult *result);
/* Launches what is held. An error of that, or of before: the caller is to return it; else 0. */
CUresult kp_ab_sequence_interrupt(enum kp_ab_reason reason);
/* The same where nothing can be returned: the next call of the driver does that. */
void kp_ab_sequence_interrupt_silently(enum kp_ab_reason reason);
/*
 * Before cuMemFreeAsync, of which `function` is one form. True: it is held, or was made, with all
 * that was before it; *result is the program's.
 */
bool kp_ab_sequence_holds_free(const void *function, uint64_t memory, CUstream stream,
			       CUresult *result);
/*
 * Before cuMemAllocAsync, likewise: what it gives is nobody's, so it may be made before what is
 * held. True: it was made, and succeeded.
 */
bool kp_ab_sequence_makes_alloc(const void *function, uint64_t *memory, size_t bytes,
				CUstream stream);
/* Whether what lies there was given back by a call that is held. */
bool kp_ab_sequence_gives_back(uint64_t memory);
/* For the timer: a number that changes with each launch that is held, and how long it may be. */
uint64_t kp_ab_sequence_turn_number(uint32_t *hold_us);
/* Launches what is held, if nothing came since that number. */
void kp_ab_sequence_due(uint64_t turn);

/*
 * ab_sequence_doors.c. Whether functions of the driver are to have doors: the launcher says so.
 * No call of the C library: dlsym asks.
 */
bool kp_ab_sequence_asked(void);
/* What the program is to get in the place of a function of the driver, `name`; `target` itself. */
void *kp_ab_sequence_door(const char *name, void *target);
/* A function of the driver was looked up in a way that cannot be answered with a door. */
void kp_ab_sequence_passed_by(const char *name);

/* ab_sequence_timer.c: something is held from now on. False: there can be no such thread. */
bool kp_ab_sequence_timer_wake(void);
void kp_ab_sequence_timer_forget(void);

#endif
