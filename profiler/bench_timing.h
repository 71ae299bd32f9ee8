/*
 * Times work on a GPU: launches back to back between events, many times, and the clock that the
 * multiprocessors had meanwhile. One thread.
 *
 * Launches before the clocks and the power have settled count for the best alone: a chip may be
 * faster for a moment than it can stay.
 */
#ifndef KP_PROFILER_BENCH_TIMING_H
#define KP_PROFILER_BENCH_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "device/nvml.h"
#include "profiler/gpu.h"

#define KP_TIMER_REPETITIONS 21
#define KP_TIMER_WARM_MOST 200

struct kp_timer {
	const struct kp_gpu *gpu; /* borrowed, open */
	struct kp_nvml nvml;
	void *nvml_device;
	void *events[KP_TIMER_WARM_MOST + KP_TIMER_REPETITIONS + 1];
};

struct kp_timing {
	double median_s, longest_s, shortest_s; /* of one launch */
	uint32_t sm_mhz;                        /* median of readings meanwhile; 0: unknown */
};

/* One launch, asynchronous; false once it has said what went wrong. */
typedef bool (*kp_timer_launch)(void *context);

/* kp_timer_fini is due even if this fails. */
bool kp_timer_init(struct kp_timer *timer, const struct kp_gpu *gpu);
void kp_timer_fini(struct kp_timer *timer);

/* One launch alone, in seconds. */
bool kp_timer_once(struct kp_timer *timer, kp_timer_launch launch, void *context, double *seconds);
/* The launch again and again: for warm_s first, then KP_TIMER_REPETITIONS times. */
bool kp_timer_run(struct kp_timer *timer, kp_timer_launch launch, void *context, double warm_s,
		  struct kp_timing *out);

#endif
