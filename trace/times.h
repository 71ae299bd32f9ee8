/*
 * Which raw times of a record can be used: the one rule for collector, reader and analyses.
 *
 * CUPTI delivers 0 and 0 for what it could not time, an end of 0 for what was still running, and
 * now and then sentinels or an end before the start.
 */
#ifndef KP_TRACE_TIMES_H
#define KP_TRACE_TIMES_H

#include <stdint.h>

enum kp_time_quality {
	KP_TIME_VALID,
	KP_TIME_UNTIMED, /* start = end = 0: CUPTI could not time it; or end = 0: it was still
			    running */
	KP_TIME_INVALID  /* end before start, or outside what a run can last */
};

/* The latest time that is believed: 2^62 ns, 146 years. Sentinels such as UINT64_MAX lie above it.
 */
#define KP_TIME_MAX_NS (1ULL << 62)
/* The longest duration that is believed: 30 days. */
#define KP_DURATION_MAX_NS (30ULL * 24 * 3600 * 1000000000ULL)

/* Whether a pair of raw times can be used. */
static inline enum kp_time_quality kp_time_quality(uint64_t start_ns, uint64_t end_ns)
{
	if (end_ns == 0)
		return KP_TIME_UNTIMED;
	if (start_ns == 0 || end_ns < start_ns || end_ns > KP_TIME_MAX_NS ||
	    end_ns - start_ns > KP_DURATION_MAX_NS)
		return KP_TIME_INVALID;
	return KP_TIME_VALID;
}

#endif
