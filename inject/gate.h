/*
 * A gate: any number of threads pass through at a time, and one may close it for a moment.
 *
 * Passing writes to the thread's own record (passages.h). Whoever closes waits, for a bounded time,
 * until all who are inside have left, and gives up otherwise; whoever comes meanwhile sleeps, for a
 * bounded time, until it is open, and passes then in any case: a gate never holds a program up for
 * good. Nor does a thread that has gone without leaving: see passages.h.
 */
#ifndef KP_INJECT_GATE_H
#define KP_INJECT_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/passages.h"

/* No one stands before a closed gate for longer. */
#define KP_GATE_PATIENCE_NS 2000000000ULL

struct kp_gate {
	enum kp_passage passage;   /* whose they are; no two gates' */
	_Atomic uint32_t closed;   /* 1: it is */
	_Atomic uint32_t openings; /* a futex: how often it has been opened again */
};

void kp_gate_wait(struct kp_gate *gate);

static inline __attribute__((always_inline)) void kp_gate_enter(struct kp_gate *gate)
{
	if (kp_passages_begin(gate->passage) &&
	    __builtin_expect(atomic_load(&gate->closed) != 0, 0))
		kp_gate_wait(gate);
}

static inline __attribute__((always_inline)) void kp_gate_leave(const struct kp_gate *gate)
{
	kp_passages_end(gate->passage);
}

/* For what need not be: false, and not inside, where it is closed. */
static inline bool kp_gate_try_enter(struct kp_gate *gate)
{
	bool open = !kp_passages_begin(gate->passage) || !atomic_load(&gate->closed);

	if (!open)
		kp_gate_leave(gate);
	return open;
}

/* How many threads are inside, or just coming or going. */
static inline uint32_t kp_gate_inside(const struct kp_gate *gate)
{
	return kp_passages_inside(gate->passage, false);
}

/*
 * Closes it, with no one inside, but the calling thread if it `may_be` so. False: it is closed
 * already, or someone has not left within limit_ns; then it is as it was. One thread at a time.
 */
bool kp_gate_close(struct kp_gate *gate, bool may_be, uint64_t limit_ns);
void kp_gate_open(struct kp_gate *gate);
/* In a forked child: open. Who is inside is for kp_passages_forget. */
void kp_gate_forget(struct kp_gate *gate);

#endif
