/* What the command line says of kprof top; a part of struct kp_settings. */
#ifndef KP_PROFILER_TOP_OPTIONS_H
#define KP_PROFILER_TOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define KP_TOP_NO_FRAMES UINT64_MAX

struct kp_top_options {
	const char *log;        /* file for the program's output; NULL: it waits and is shown */
	const char *unit_range; /* NVTX range; NULL: what repeats is a unit */
	double units;           /* that each makes */
	bool rules;             /* all rules of A/B that kprof has */
	uint64_t frames;        /* screens to print; KP_TOP_NO_FRAMES: not asked for */
};

#endif
