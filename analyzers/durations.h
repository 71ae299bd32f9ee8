/*
 * Statistics of many durations in little memory: count, sum, extremes, mean, deviation, quantiles.
 *
 * Quantiles come from a histogram: one bucket for each nanosecond below 2048, above that 1024
 * buckets for each power of two, so that a bucket's middle is within 0.05 % of all its durations.
 * Buckets live in pages of 64, allocated as durations fall into them; one kernel's durations lie
 * close together and need a few pages. Sums are whole numbers, so that nothing depends on an order.
 *
 * Everything is allocated from the caller's arena. Not thread-safe.
 */
#ifndef KP_ANALYZERS_DURATIONS_H
#define KP_ANALYZERS_DURATIONS_H

#include <stdint.h>

#include "analyzers/report.h"
#include "trace/arena.h"
#include "trace/records.h"

#define KP_DURATION_GROUP_BUCKETS 1024
#define KP_DURATION_PAGE_BUCKETS 64
/* Groups 0 and 1 are exact; each further one is a power of two, up to KP_DURATION_MAX_NS < 2^52. */
#define KP_DURATION_GROUPS 43

struct kp_duration_group {
	uint64_t *pages[KP_DURATION_GROUP_BUCKETS / KP_DURATION_PAGE_BUCKETS];
};

/* Zeroed: no durations yet. */
struct kp_duration_tally {
	uint64_t count;
	uint64_t min_ns, max_ns;
	unsigned __int128 sum, squares; /* of the durations, of their squares; modulo 2^128 */
	struct kp_duration_group *groups[KP_DURATION_GROUPS];
};

/* A sum that hostile input cannot wrap. */
static inline uint64_t kp_add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Adds one duration (at most KP_DURATION_MAX_NS). Errors: KP_NO_MEMORY. */
enum kp_status kp_durations_add(struct kp_duration_tally *tally, uint64_t duration_ns,
				struct kp_arena *arena);

/* The same for many. */
enum kp_status kp_durations_add_all(struct kp_duration_tally *tally, const uint64_t *durations_ns,
				    size_t count, struct kp_arena *arena);

/* Adds all that `other` holds. Errors: KP_NO_MEMORY. */
enum kp_status kp_durations_merge(struct kp_duration_tally *tally,
				  const struct kp_duration_tally *other, struct kp_arena *arena);

/*
 * The duration that a `fraction` of all do not exceed, nanoseconds, for 0 < fraction <= 1: exact
 * below 2048 ns, else within 0.05 %, and never outside [min, max]. 0 without durations.
 */
double kp_durations_quantile(const struct kp_duration_tally *tally, double fraction);

/* How many durations are as long or longer, likewise. */
uint64_t kp_durations_count_from(const struct kp_duration_tally *tally, double duration_ns);

/*
 * The result. The median of an even number of durations is the mean of the middle two. The standard
 * deviation is the population's (divided by n, not n - 1).
 */
struct kp_durations kp_durations_result(const struct kp_duration_tally *tally);

#endif
