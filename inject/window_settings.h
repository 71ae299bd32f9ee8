/*
 * What the launcher asked for about windows and filters, from the environment. Read once, before
 * anything else uses it; plain numbers and texts, since the program's locale is not ours.
 */
#ifndef KP_INJECT_WINDOW_SETTINGS_H
#define KP_INJECT_WINDOW_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/control.h"

struct kp_window_settings {
	uint64_t delay_ns, duration_ns;   /* 0: none */
	uint32_t duty_ppm;                /* millionths of the time; 0: no duty */
	bool capture;                     /* between cuProfilerStart and cuProfilerStop */
	char range[KP_RANGE_MAX_BYTES];   /* name of an NVTX range; empty: none */
	uint64_t range_first, range_last; /* occurrences, from 1 on */
	char kernels[KP_PATTERNS_MAX_BYTES], skip_kernels[KP_PATTERNS_MAX_BYTES];
};

const struct kp_window_settings *kp_window_settings(void);

#endif
