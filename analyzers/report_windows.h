/* What a report says of windows, and of the whole run that they are a sample of; see report.h. */
#ifndef KP_ANALYZERS_REPORT_WINDOWS_H
#define KP_ANALYZERS_REPORT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A total of the whole run, from the windows of --duty (see estimate.h): all 0 unless the report is
 * scaled. `by_time` measures windows by their length instead of the launches issued in them: where
 * the two lie apart, windows and the rest of the run differ.
 */
struct kp_estimate {
	double total_ns, total_ci95_ns; /* half the width of the 95 % interval */
	double total_by_time_ns;
	double calls, calls_ci95;
};

/* The windows of a trace that was not recorded from start to end. */
struct kp_report_windows {
	bool any;                   /* false: everything was recorded from start to end */
	uint64_t count;             /* over all processes; 0: recorded from start to end */
	double inside_ns, whole_ns; /* added over the processes that have windows */
	uint64_t reasons;           /* bit of each enum kp_window_reason by which one began */
	bool sampled;               /* by --duty */
	bool scaled; /* totals of the whole run are estimated; never from a single window */
	struct kp_estimate kernel_time;
};

#endif
