/*
 * Passages: which threads are inside which gate (gate.h), one record a thread.
 *
 * A thread writes to its own record alone, so that passing costs no line of memory that another
 * thread writes. Records stand in one table and are never freed. That of a thread which has ended,
 * in a passage or not, is taken back when someone stumbles over it: no thread needs to say goodbye.
 *
 * A thread may leave a passage without leaving the gate: it is cancelled, or jumps or throws out of
 * the driver's call. If it has ended, it is inside no more. If it lives on, its next calls show it:
 * the driver may call its client back in the midst of a call, and that may launch, but not more
 * than KP_PASSAGES_WITHIN times.
 *
 * Any thread; async-signal-safe. errno is kept.
 */
#ifndef KP_INJECT_PASSAGES_H
#define KP_INJECT_PASSAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threads at a time that have a record; those beyond are only counted. */
#define KP_PASSAGES_MAX 4096
/* More calls than this while a passage has not ended: it was left. */
#define KP_PASSAGES_WITHIN 16
/* Who has not left within that may have ended. */
#define KP_PASSAGES_SOON_NS 500000ULL

/* Whose passages: one each. */
enum kp_passage {
	KP_PASSAGE_GRAPH,
	KP_PASSAGE_LAUNCH,
	KP_PASSAGE_CAPTURE,
	KP_PASSAGE_STREAM,
	KP_PASSAGE_LEAVING /* of calls by which functions go */
};
#define KP_PASSAGE_KINDS 5

struct kp_passages {
	/* How many began and ended, ever: odd, while it is inside. */
	_Alignas(64) _Atomic uint32_t steps[KP_PASSAGE_KINDS];
	_Atomic uint64_t owner; /* how often it was taken << 32 | thread; no thread: it is free */
	/* Rare: passages that began within the one, and in the lower half, those that have not
	 * ended */
	_Atomic uint32_t within[KP_PASSAGE_KINDS];
};
_Static_assert(sizeof(struct kp_passages) == 64, "a record is a cache line");

/* The calling thread's; NULL: it has none yet, or there was no room. */
extern _Thread_local struct kp_passages *kp_passages_own __attribute__((tls_model("initial-exec")));

/* Without a record, and where another one of the kind has not ended, or did not when this began. */
bool kp_passages_begin_first(enum kp_passage kind);
bool kp_passages_begin_within(enum kp_passage kind);
void kp_passages_end_otherwise(enum kp_passage kind);

/* Begins one. False: it is within another one, so that no gate may hold it up. */
static inline __attribute__((always_inline)) bool kp_passages_begin(enum kp_passage kind)
{
	struct kp_passages *own = kp_passages_own;
	uint32_t steps;

	if (__builtin_expect(!own, 0))
		return kp_passages_begin_first(kind);
	steps = atomic_load_explicit(&own->steps[kind], memory_order_relaxed);
	if (__builtin_expect(steps & 1, 0))
		return kp_passages_begin_within(kind);
	/* Before anything that follows: whoever closes the gate looks here afterwards. */
	atomic_store(&own->steps[kind], steps + 1);
#ifndef __x86_64__ /* there the store is a barrier to all that follows */
	atomic_thread_fence(memory_order_seq_cst);
#endif
	return true;
}

/* Ends the innermost one. */
static inline __attribute__((always_inline)) void kp_passages_end(enum kp_passage kind)
{
	struct kp_passages *own = kp_passages_own;

	if (__builtin_expect(!own || atomic_load_explicit(&own->within[kind], memory_order_relaxed),
			     0))
		kp_passages_end_otherwise(kind);
	else
		atomic_store_explicit(
			&own->steps[kind],
			(atomic_load_explicit(&own->steps[kind], memory_order_relaxed) | 1) + 1,
			memory_order_release);
}

/* The calling thread is in a call of another kind. */
void kp_passages_recall(enum kp_passage kind);

/* How many threads are inside; `others`: without the calling one. */
uint32_t kp_passages_inside(enum kp_passage kind, bool others);
/*
 * Waits until every passage of other threads that has begun has ended; new ones may begin. False:
 * some have not within limit_ns.
 */
bool kp_passages_await(enum kp_passage kind, uint64_t limit_ns);
/* Those that are inside and have ended are not any more. */
void kp_passages_sweep(enum kp_passage kind);
/*
 * Whether any thread is inside; without such as have ended in it, and without the calling one where
 * its calls show that it has left it.
 */
bool kp_passages_any(enum kp_passage kind);
/* In a forked child: there is the one thread, with the passages that it is in. */
void kp_passages_forget(void);

#endif
