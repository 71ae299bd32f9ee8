/* Gates; see gate.h. */
#include "inject/gate.h"

#include "inject/futex.h"
#include "inject/patience.h"
#include "inject/state.h"

/* Between two looks at whether all have left: those inside are inside for microseconds, mostly. */
#define LOOK_NS 20000ULL

void kp_gate_wait(struct kp_gate *gate)
{
	struct kp_patience patience = {KP_GATE_PATIENCE_NS};

	do {
		uint32_t seen = atomic_load(&gate->openings);

		kp_gate_leave(gate);
		if (atomic_load(&gate->state) & KP_GATE_CLOSED &&
		    !kp_patience_wait(&patience, &gate->openings, seen))
			kp_gate_open(gate); /* who closed it has gone astray: for all who come */
	} while (atomic_fetch_add(&gate->state, KP_GATE_ONE) & KP_GATE_CLOSED);
}

bool kp_gate_close(struct kp_gate *gate, uint32_t own, uint64_t limit_ns)
{
	uint32_t alone = KP_GATE_CLOSED + own * KP_GATE_ONE, state;
	uint64_t now_ns = kp_clock_now(), until_ns = now_ns + limit_ns;

	if (atomic_fetch_or(&gate->state, KP_GATE_CLOSED) & KP_GATE_CLOSED)
		return false;
	while ((state = atomic_load(&gate->state)) != alone) {
		if (now_ns >= until_ns) {
			kp_gate_open(gate);
			return false;
		}
		/* Who leaves wakes nobody; unlike nanosleep this is no point of cancellation. */
		kp_futex_wait(&gate->state, state, now_ns + LOOK_NS);
		now_ns = kp_clock_now();
	}
	return true;
}

void kp_gate_open(struct kp_gate *gate)
{
	atomic_fetch_and(&gate->state, ~KP_GATE_CLOSED);
	kp_futex_step(&gate->openings);
}

void kp_gate_forget(struct kp_gate *gate, uint32_t own)
{
	atomic_store(&gate->state, own * KP_GATE_ONE);
	atomic_store(&gate->openings, 0);
}
