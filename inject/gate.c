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
		if (atomic_load(&gate->closed) &&
		    !kp_patience_wait(&patience, &gate->openings, seen))
			kp_gate_open(gate); /* who closed it has gone astray: for all who come */
	} while (kp_passages_begin(gate->passage) && atomic_load(&gate->closed));
}

bool kp_gate_close(struct kp_gate *gate, bool may_be, uint64_t limit_ns)
{
	uint64_t now_ns = kp_clock_now(), until_ns = now_ns + limit_ns;
	uint64_t sweep_ns =
		now_ns + (limit_ns < KP_PASSAGES_SOON_NS ? limit_ns : KP_PASSAGES_SOON_NS);

	if (atomic_exchange(&gate->closed, 1))
		return false;
	while (kp_passages_inside(gate->passage, may_be)) {
		if (now_ns >= sweep_ns) {
			sweep_ns = UINT64_MAX;
			kp_passages_sweep(gate->passage);
			continue;
		}
		if (now_ns >= until_ns) {
			kp_gate_open(gate);
			return false;
		}
		/* Who leaves wakes nobody; unlike nanosleep this is no point of cancellation. */
		kp_futex_wait(&gate->closed, 1, now_ns + LOOK_NS);
		now_ns = kp_clock_now();
	}
	return true;
}

void kp_gate_open(struct kp_gate *gate)
{
	atomic_store(&gate->closed, 0);
	kp_futex_step(&gate->openings);
}

void kp_gate_forget(struct kp_gate *gate)
{
	atomic_store(&gate->closed, 0);
	atomic_store(&gate->openings, 0);
}
