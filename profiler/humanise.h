/*
 * Numbers for people: durations, sizes and rates with a unit and a fixed number of digits.
 *
 * Deterministic: the C locale's point, rounding by printf, no NaN or infinity (they print as «-»).
 */
#ifndef KP_PROFILER_HUMANISE_H
#define KP_PROFILER_HUMANISE_H

#include <stdint.h>

/* Enough for every result below, the NUL included. */
#define KP_HUMAN_BYTES 32

struct kp_human {
	char text[KP_HUMAN_BYTES];
};

/* "1.23µs" with 3 significant digits, "1.234µs" with 4; whole nanoseconds have no decimals. */
struct kp_human kp_human_duration(double ns, int digits);
/* "1.23GB": powers of 1000, as bandwidths have them; whole bytes below 1000. */
struct kp_human kp_human_bytes(uint64_t bytes, int digits);
/* "45.3%" */
struct kp_human kp_human_percent(double percent);
/* "1,234,567" */
struct kp_human kp_human_count(uint64_t count);

#endif
