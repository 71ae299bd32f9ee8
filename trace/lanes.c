/* The memory of the launch coding; see lanes.h. */
#include "trace/lanes.h"

#include <stdlib.h>

static bool grow_configs(struct kp_lanes *lanes)
{
	size_t capacity = lanes->config_capacity ? lanes->config_capacity * 2 : 64;
	uint32_t *lane_of = realloc(lanes->lane_of, capacity * sizeof(*lane_of));
	uint64_t *last_duration;

	if (!lane_of)
		return false;
	lanes->lane_of = lane_of;
	last_duration = realloc(lanes->last_duration, capacity * sizeof(*last_duration));
	if (!last_duration)
		return false;
	lanes->last_duration = last_duration;
	lanes->config_capacity = capacity;
	return true;
}

static bool grow_lanes(struct kp_lanes *lanes)
{
	size_t capacity = lanes->lane_capacity ? lanes->lane_capacity * 2 : 8;
	struct kp_lane *grown = realloc(lanes->lanes, capacity * sizeof(*grown));

	if (!grown)
		return false;
	lanes->lanes = grown;
	lanes->lane_capacity = capacity;
	return true;
}

enum kp_status kp_lanes_add(struct kp_lanes *lanes, const struct kp_launch_config *config)
{
	uint32_t lane = KP_NO_LANE;
	enum kp_status status = KP_OK;

	if (lanes->config_count == lanes->config_capacity && !grow_configs(lanes))
		return KP_NO_MEMORY;
	if (lanes->identities.count == lanes->lane_capacity && !grow_lanes(lanes))
		return KP_NO_MEMORY;
	if (config) {
		const uint32_t identity[3] = {config->device, config->context, config->stream};

		status = kp_intern_put(&lanes->identities, identity, sizeof(identity), &lane, NULL);
	}
	if (status != KP_OK)
		return status;
	lanes->lane_of[lanes->config_count] = lane;
	lanes->last_duration[lanes->config_count++] = 0;
	return KP_OK;
}

void kp_lanes_reset(struct kp_lanes *lanes, uint64_t base_ns)
{
	for (size_t i = 0; i < lanes->identities.count; i++)
		lanes->lanes[i] = (struct kp_lane){.end_ns = base_ns};
	if (lanes->config_count)
		memset(lanes->last_duration, 0, lanes->config_count * sizeof(uint64_t));
}

void kp_lanes_fini(struct kp_lanes *lanes)
{
	kp_intern_fini(&lanes->identities);
	free(lanes->lanes);
	free(lanes->lane_of);
	free(lanes->last_duration);
	*lanes = (struct kp_lanes){0};
}
