/*
 * The lanes of a timeline: rows in which no two slices overlap.
 *
 * A stream has one lane, and more where its slices overlap (the branches of a graph); a thread has
 * one for each depth of its pushed ranges, more for those that were started and ended, and one for
 * its calls. Slices that overlap deeper than KP_LANES_DEEPEST share the last lane.
 */
#ifndef KP_PROFILER_EXPORT_LANES_H
#define KP_PROFILER_EXPORT_LANES_H

#include "profiler/export_events.h"

#define KP_LANES_DEEPEST 128
#define KP_NO_LANE UINT32_MAX

struct kp_lane_row {
	const struct kp_process *process;
	uint64_t free_ns; /* the end of its last slice */
	uint32_t group;   /* lanes of one stream or thread have the same */
	uint32_t place;   /* among them, from 0 */
	uint32_t next;    /* of the group; KP_NO_LANE: it is the last */
};

struct kp_lanes_of {
	struct kp_intern groups;
	uint32_t *first; /* lane of each group */
	size_t first_capacity;
	uint32_t *group_of; /* of each template of a kernel, copy or set, plus 1; 0: not known */
	size_t group_of_capacity;
	struct kp_lane_row *rows;
	size_t count, capacity;
};

/* The lane of an event with times, which is not a counter's or clock's. Errors: KP_NO_MEMORY. */
enum kp_status kp_lanes_find(struct kp_lanes_of *lanes, const struct kp_export_events *events,
			     const struct kp_export_event *event, uint32_t *out);
void kp_lanes_of_fini(struct kp_lanes_of *lanes);

/* What a lane is called, by an event in it: "GPU 0 stream 7", "thread 4711 NVTX". */
void kp_lanes_name(const struct kp_lanes_of *lanes, const struct kp_export_events *events,
		   uint32_t lane, const struct kp_export_event *event, char *out, size_t size);
/* Lanes sort by this: GPUs first, then calls, then ranges. */
uint32_t kp_lanes_rank(const struct kp_export_template *template);

#endif
