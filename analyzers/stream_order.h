/*
 * What cannot be on one stream: kernels that run past the next, and kernels that start long after
 * one that was launched later. The first are programmatic dependent launches, or durations that are
 * too long; the second are a clock that went back.
 *
 * Kernels come in order of their start. CUPTI's correlation ids grow with the launches, so a kernel
 * whose id is older than that of one that started KP_CLOCK_STEP_NS before is out of order; threads
 * that launch at once are not that far apart. Graphs are left out: their branches overlap.
 */
#ifndef KP_ANALYZERS_STREAM_ORDER_H
#define KP_ANALYZERS_STREAM_ORDER_H

#include "analyzers/activities.h"

#define KP_CLOCK_STEP_NS 10000000U
/* Newest ids of the past, at least KP_CLOCK_STEP_NS / 8 apart. */
#define KP_STREAM_PAST 12

/* One stream of one process. Zeroed: nothing ran. */
struct kp_stream_order {
	uint64_t end_ns; /* of what ran so far */
	uint64_t past_ns[KP_STREAM_PAST];
	uint32_t past[KP_STREAM_PAST]; /* a ring */
	uint32_t newest, past_count;
	uint64_t last_past_ns; /* of the last that is remembered */
	uint32_t step_id;      /* the first launch behind the last step; 0: none */
	uint64_t step_ns;      /* when it started */
};

/* Of all streams of a GPU. Zeroed: nothing wrong. */
struct kp_stream_faults {
	uint64_t overlapping, overlap_ns;
	uint64_t out_of_order, step_ns; /* step_ns: the most that the clock went back */
};

/* What is to be remembered, or out of order. */
void kp_stream_order_look(struct kp_stream_order *stream, const struct kp_activity *kernel,
			  struct kp_stream_faults *faults);

static inline void kp_stream_order_add(struct kp_stream_order *stream,
				       const struct kp_activity *kernel,
				       struct kp_stream_faults *faults)
{
	uint64_t end_ns = stream->end_ns;

	if (kernel->end_ns > end_ns)
		stream->end_ns = kernel->end_ns;
	if (kernel->graph)
		return;
	if (end_ns > kernel->start_ns) {
		faults->overlapping++;
		faults->overlap_ns +=
			(end_ns < kernel->end_ns ? end_ns : kernel->end_ns) - kernel->start_ns;
	}
	if (!kernel->correlation)
		return;
	/* As a rule it is the newest, and there is nothing to remember yet. */
	if (stream->past_count && (int32_t)(kernel->correlation - stream->newest) >= 0 &&
	    kernel->start_ns < stream->last_past_ns + KP_CLOCK_STEP_NS / 8)
		stream->newest = kernel->correlation;
	else
		kp_stream_order_look(stream, kernel, faults);
}

#endif
