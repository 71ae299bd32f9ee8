/*
 * Parts of a batch of launches that stay in a processor's cache while they go through an analysis.
 * Launches are in order of their start: where a part ends, its watermark is the next one's start.
 */
#ifndef KP_ANALYZERS_SLICE_H
#define KP_ANALYZERS_SLICE_H

#include <stdbool.h>

#include "trace/reader.h"

#define KP_SLICE_LAUNCHES 1024

/* A batch on its way; begin with {event}. */
struct kp_slices {
	const struct kp_event *event;
	size_t at; /* launches that were in parts before */
	bool done;
};

/* The next part; false: there is none left. Batches of other kinds are one part. */
static inline bool kp_slices_next(struct kp_slices *slices, struct kp_event *out)
{
	size_t end = slices->at + KP_SLICE_LAUNCHES;

	if (slices->done)
		return false;
	*out = *slices->event;
	slices->done = out->kind != KP_EVENT_LAUNCHES || end >= out->count;
	if (out->kind != KP_EVENT_LAUNCHES)
		return true;
	if (!slices->done && out->launches[end].start_ns < out->watermark_ns)
		out->watermark_ns = out->launches[end].start_ns;
	out->count = (slices->done ? out->count : end) - slices->at;
	out->launches += slices->at;
	slices->at = end;
	return true;
}

#endif
