/*
 * The timeline of one GPU: how long anything ran on it, and whose time that was.
 *
 * Busy time is the union of all intervals. With shares, each instant is divided equally among what
 * runs then: a clock V advances by dt / n while n intervals are open, and an interval's part is how
 * far V went while it was open, so that the parts add up to the busy time.
 *
 * Streaming: intervals are added in batches and settled up to a watermark, below which no later one
 * starts, so that memory holds only what is open or lies beyond it. Files that break that promise,
 * and timelines that no GPU can have (more than 65536 intervals open at once, or so many beyond
 * the watermark), are settled as well as possible and counted in kp_sweep_displaced.
 * Not thread-safe.
 */
#ifndef KP_ANALYZERS_SWEEP_H
#define KP_ANALYZERS_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

struct kp_sweep;

/* Busy time by row, nanoseconds. Zeroed: none yet. Several GPUs may add to one. */
struct kp_sweep_parts {
	double *row_ns;
	size_t count; /* rows beyond have no part */
};

void kp_sweep_parts_fini(struct kp_sweep_parts *parts);

/*
 * A timeline that divides its busy time among the rows of `parts` (borrowed; it must outlive the
 * sweep), or keeps only the union where that is NULL. Beyond a watermark waiting_most wait at most,
 * see kp_limits_waiting. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_sweep_create(struct kp_sweep_parts *parts, size_t waiting_most,
			       struct kp_sweep **out);
void kp_sweep_destroy(struct kp_sweep *sweep);

/*
 * Adds the interval [start_ns, end_ns], start_ns <= end_ns <= KP_TIME_MAX_NS, on account of `row`.
 * Errors: KP_NO_MEMORY.
 */
enum kp_status kp_sweep_add(struct kp_sweep *sweep, uint64_t start_ns, uint64_t end_ns,
			    uint32_t row);
/* Settles what starts before watermark_ns; UINT64_MAX: everything. Errors: KP_NO_MEMORY. */
enum kp_status kp_sweep_settle(struct kp_sweep *sweep, uint64_t watermark_ns);

/* Results: of what has been settled. */
uint64_t kp_sweep_busy_ns(const struct kp_sweep *sweep);
/* Intervals that could not be placed exactly; where there are any, the results are approximate. */
uint64_t kp_sweep_displaced(const struct kp_sweep *sweep);

#endif
