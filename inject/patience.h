/*
 * Waiting for another thread, but not for ever.
 *
 * What is counted is the time in which that thread could do something. While the whole process is
 * stopped (^Z in a shell, a frozen container, a debugger) the clock goes on, and a deadline would
 * have passed without anybody having had a chance: so each wait counts for what it was to take at
 * most.
 */
#ifndef KP_INJECT_PATIENCE_H
#define KP_INJECT_PATIENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/futex.h"
#include "inject/state.h"

#define KP_PATIENCE_WAIT_NS 50000000ULL

struct kp_patience {
	uint64_t left_ns;
};

/* One wait for the word to change from `seen`; it may be in vain. False: patience is at its end. */
static inline bool kp_patience_wait(struct kp_patience *patience, _Atomic uint32_t *word,
				    uint32_t seen)
{
	uint64_t most_ns =
		patience->left_ns < KP_PATIENCE_WAIT_NS ? patience->left_ns : KP_PATIENCE_WAIT_NS;
	uint64_t begin_ns = kp_clock_now(), took_ns;

	if (!most_ns)
		return false;
	kp_futex_wait(word, seen, begin_ns + most_ns);
	took_ns = kp_clock_now() - begin_ns;
	patience->left_ns -= took_ns < most_ns ? took_ns : most_ns;
	return true;
}

#endif
