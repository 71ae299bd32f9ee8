/* The numbers of launches, for those who note single ones; see hooks.h. */
#ifndef KP_INJECT_HOOKS_NUMBER_H
#define KP_INJECT_HOOKS_NUMBER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/hooks.h"

/* The number of the launch before which `issued` kernels were: without those that were launched
 * while records were off, of which there were so many. And the number of the next. */
uint64_t kp_hooks_number(uint64_t issued);
uint64_t kp_hooks_unnumbered(void);
uint64_t kp_hooks_numbered(void);
/* Whether CUPTI may have a record of the call that is under way: all but those surely outside. */
static inline bool kp_hooks_may_be_recorded(void)
{
	unsigned now = atomic_load_explicit(&kp_windows_recording, memory_order_relaxed);

	return kp_hooks_before != now || (now & KP_RECORDING_MASK) != KP_RECORDING_OFF;
}

#endif
