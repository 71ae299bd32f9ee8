/*
 * How many blocks of a launch reside on a GPU at once, from the launch's configuration and the
 * device's limits; after the CUDA programming guide's table of compute capabilities. Pure.
 */
#ifndef KP_ANALYZERS_FINDINGS_OCCUPANCY_H
#define KP_ANALYZERS_FINDINGS_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/records.h"

struct kp_launch_shape {
	double blocks;         /* of the grid */
	double threads;        /* of a block */
	uint32_t registers;    /* of a thread */
	uint64_t shared_bytes; /* of a block, static and dynamic */
};

struct kp_occupancy {
	uint64_t blocks_per_sm; /* at most, at once */
	double capacity;        /* blocks on the whole GPU at once */
	double waves;           /* blocks of the grid ÷ capacity */
	double warps_pct;       /* resident warps of a full SM ÷ those it can hold */
	double resident_pct; /* the same of the whole GPU, with no more blocks than the grid has */
	double sms_pct;      /* SMs that have a block */
};

/* False: a limit of the device or a part of the launch is not known, or it cannot be launched. */
bool kp_occupancy_of(const struct kp_device_info *device, const struct kp_launch_shape *launch,
		     struct kp_occupancy *out);

#endif
