/* Times as the rows of a report have them; see report.h. */
#ifndef KP_ANALYZERS_REPORT_TIMES_H
#define KP_ANALYZERS_REPORT_TIMES_H

#include <stdint.h>

/* Durations of one row: nanoseconds, timed launches only. With timed = 0 the rest is 0. */
struct kp_durations {
	uint64_t timed; /* launches with usable times */
	uint64_t total_ns;
	uint64_t min_ns, max_ns;
	double mean_ns, stddev_ns; /* population standard deviation */
	double median_ns;          /* exact below 2048 ns, else within 0.05 % */
};

/* Of a row, in percent; report.h says of what. */
struct kp_shares {
	double kernel_pct, busy_pct, span_pct;
	double alone_pct; /* of the span: nothing else ran meanwhile. With a timeline, else 0 */
	double path_pct;  /* of the span: on the critical path. Likewise */
};

#endif
