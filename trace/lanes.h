/*
 * What the coding of launches remembers from one record to the next: the last launch of each lane
 * (device, context, stream) and the last duration of each launch configuration.
 *
 * Writer and reader keep one each, add configurations in the same order, and reset it at the start
 * of every chunk, so that each chunk can be decoded alone.
 */
#ifndef KP_TRACE_LANES_H
#define KP_TRACE_LANES_H

#include "trace/intern.h"
#include "trace/records.h"

struct kp_lane {
	uint64_t end_ns; /* of the last launch with valid times */
	uint64_t graph_node;
	uint32_t correlation, graph;
};

#define KP_NO_LANE UINT32_MAX

struct kp_lanes {
	struct kp_intern identities; /* lane number by (device, context, stream) */
	struct kp_lane *lanes;
	size_t lane_capacity;
	uint32_t *lane_of;       /* by configuration; KP_NO_LANE: the configuration was lost */
	uint64_t *last_duration; /* by configuration */
	size_t config_count, config_capacity;
};

/* Adds the next configuration, NULL for one that was lost. Errors: KP_NO_MEMORY. */
enum kp_status kp_lanes_add(struct kp_lanes *lanes, const struct kp_launch_config *config);
/* Forgets all launches: every lane ends at base_ns, every duration is 0. */
void kp_lanes_reset(struct kp_lanes *lanes, uint64_t base_ns);
void kp_lanes_fini(struct kp_lanes *lanes);

#endif
