/*
 * A gate: any number of threads pass through at a time, and one may close it for a moment.
 *
 * Passing costs two atomic additions. Whoever closes waits, for a bounded time, until all who are
 * inside have left, and gives up otherwise; whoever comes meanwhile sleeps, for a bounded time,
 * until it is open, and passes then in any case: a gate never holds a program up for good.
 */
#ifndef KP_INJECT_GATE_H
#define KP_INJECT_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* No one stands before a closed gate for longer. */
#define KP_GATE_PATIENCE_NS 2000000000ULL

struct kp_gate {
	_Atomic uint32_t state;    /* KP_GATE_CLOSED, and KP_GATE_ONE for each thread inside */
	_Atomic uint32_t openings; /* a futex: how often it has been opened again */
};

#define KP_GATE_CLOSED 1U
#define KP_GATE_ONE 2U

void kp_gate_wait(struct kp_gate *gate);

static inline void kp_gate_enter(struct kp_gate *gate)
{
	if (__builtin_expect(atomic_fetch_add(&gate->state, KP_GATE_ONE) & KP_GATE_CLOSED, 0))
		kp_gate_wait(gate);
}

static inline void kp_gate_leave(struct kp_gate *gate)
{
	atomic_fetch_sub(&gate->state, KP_GATE_ONE);
}

/* For what need not be: false, and not inside, where it is closed. */
static inline bool kp_gate_try_enter(struct kp_gate *gate)
{
	bool open = !(atomic_fetch_add(&gate->state, KP_GATE_ONE) & KP_GATE_CLOSED);

	if (!open)
		kp_gate_leave(gate);
	return open;
}

/* How many threads are inside, or just coming or going. */
static inline uint32_t kp_gate_inside(const struct kp_gate *gate)
{
	return atomic_load(&gate->state) / KP_GATE_ONE;
}

/*
 * Closes it, with no one inside but `own` passages of the calling thread. False: it is closed
 * already, or someone has not left within limit_ns; then it is as it was. One thread at a time.
 */
bool kp_gate_close(struct kp_gate *gate, uint32_t own, uint64_t limit_ns);
void kp_gate_open(struct kp_gate *gate);
/* In a forked child: open, with the one thread's passages inside. */
void kp_gate_forget(struct kp_gate *gate, uint32_t own);

#endif
