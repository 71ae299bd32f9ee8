/*
 * Windows: when records are on, and why.
 *
 * Records are on while the user wants them (window_gates.h), under --duty in its windows only
 * (duty.h), and while the program's own profiler has some on. Without any of that they are on from
 * start to end, and none of this costs anything.
 *
 * What happens in a thread of the program (a range, a capture range) switches in that thread before
 * it returns, so that what the thread launches next is inside, or outside, exactly. There, records
 * only go off: the next range may come at once, and a forced flush would cut off what still runs.
 * Where a pause is long (between windows of --duty, after --duration and «kprof ctl stop») CUPTI is
 * detached (detach.h): records stay on until a door is found, and that moment is the window's end.
 * Where none is, the window ends without one, and what starts later is discarded until there is.
 *
 * Time and the schedule are the worker's, in kp_windows_tick. One thread switches at a time,
 * without a lock; a thread that comes meanwhile leaves its wish to that one. Nothing is switched
 * while a stream is being captured: what CUPTI allocates would break the capture.
 *
 * Each launch is counted by what was on when it was issued: kp_windows_count.
 */
#ifndef KP_INJECT_WINDOWS_H
#define KP_INJECT_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "inject/state.h"
#include "trace/writer.h"

struct kp_cupti;

/*
 * enum kp_recording in the lowest bits, above them how often it has changed: a launch was surely
 * recorded, or surely not, if this is the same before and after it.
 */
enum kp_recording { KP_RECORDING_ON, KP_RECORDING_OFF, KP_RECORDING_SWITCHING };
#define KP_RECORDING_MASK 3U
extern _Atomic unsigned kp_windows_recording;

/* Whether records are to be on from the start, by what the launcher asked for. */
bool kp_windows_on_at_start(void);
/*
 * Begins: `on` says whether records are on, `attached` whether CUPTI is in the process at all. The
 * rest is borrowed. From here on kp_windows_tick is called. Once a process; also in a forked child
 * that starts a collector of its own.
 */
void kp_windows_start(struct kp_inject *inject, const struct kp_cupti *cupti, bool on,
		      bool attached);
/* In a forked child: nothing has happened yet. */
void kp_windows_forget(void);
/*
 * The end of the program: closes the open window and leaves records as they are; nothing switches
 * any more, until the end is taken back (the program did not become another). Worker only.
 */
void kp_windows_finish(void);
void kp_windows_resume(void);

/*
 * Does what is due and returns after how many milliseconds it wants to be called again, at most
 * `most_ms`. `delivered`: kernels of which CUPTI has given records, or says that they were dropped,
 * once all that it gave back before the call have been taken. Worker only.
 */
unsigned kp_windows_tick(unsigned most_ms, uint64_t delivered);
/*
 * Whether the worker may call CUPTI now: it is in the process, and is not detached before
 * kp_windows_end_calls, which must follow then.
 */
bool kp_windows_begin_calls(void);
void kp_windows_end_calls(void);
/* Whether the worker should take records at once, because a window has just ended, or is to. */
bool kp_windows_wants_flush(void);
/* Whether a window is open. */
bool kp_windows_is_open(void);

/* Events in the program's threads. errno is kept. */
void kp_windows_range_begin(bool *counted);
void kp_windows_range_end(bool counted);
void kp_windows_capture(bool on);
/*
 * «kprof ctl»: waits a moment for the end of the window, and calls `take` where records are to be
 * taken meanwhile. False: CUPTI refused. Worker only.
 */
bool kp_windows_control(bool on, void (*take)(void));

/* Nobody watches any more: in standby (standby.h) records go off. Worker only. */
void kp_windows_unwatched(void (*take)(void));

/* Writes the windows that have ended, and once the open one if `open`. Worker only. */
void kp_windows_write(struct kp_writer *writer, bool open);
/* Sets the counts of launches outside, given how many records were delivered. */
void kp_windows_put_counts(struct kp_live_slot *slot, uint64_t delivered, struct kp_counts *counts);
/* How many windows there were, an open one included. */
uint64_t kp_windows_number(void);
bool kp_windows_has_duty(void);
/* One sentence on how windows were switched, for the trace; NULL: nothing to say. */
const char *kp_windows_note(void);

void kp_windows_count_outside(struct kp_live_slot *slot, uint64_t kernels, unsigned before,
			      unsigned now);

/* Launches so far while records were off, and not about to be switched. */
uint64_t kp_windows_unnumbered(void);

/*
 * Counts launches that the driver has just accepted; `before` is kp_windows_recording as it was
 * when the call began. Any thread; on the launch path.
 */
static inline void kp_windows_count(struct kp_live_slot *slot, uint64_t kernels, unsigned before)
{
	unsigned now = atomic_load_explicit(&kp_windows_recording, memory_order_relaxed);

	if (__builtin_expect(before != now || (now & KP_RECORDING_MASK) != KP_RECORDING_ON, 0))
		kp_windows_count_outside(slot, kernels, before, now);
}

/* Whether the next launch of a graph is the first since CUPTI was attached: it costs more. */
extern _Atomic bool kp_windows_first_launch;
uint64_t kp_windows_first_launch_claim(void);
void kp_windows_first_launch_took(uint64_t begin_ns);

static inline uint64_t kp_windows_first_launch_begins(void)
{
	bool first = atomic_load_explicit(&kp_windows_first_launch, memory_order_relaxed);

	return __builtin_expect(first, 0) ? kp_windows_first_launch_claim() : 0;
}

static inline void kp_windows_first_launch_ends(uint64_t begin_ns)
{
	if (__builtin_expect(begin_ns != 0, 0))
		kp_windows_first_launch_took(begin_ns);
}

#endif
