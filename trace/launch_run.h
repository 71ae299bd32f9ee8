/* Launches in a row, without a record of each call: the records of RUNS chunks; see records.h. */
#ifndef KP_TRACE_LAUNCH_RUN_H
#define KP_TRACE_LAUNCH_RUN_H

#include <stdint.h>

/*
 * Launches of one thread on one stream, one behind the other: no other thread launched on that
 * stream meanwhile, and no NVTX range began or ended that could own one of them and not another. So
 * all of them have the ranges that were open at start_ns. The runs of a stream, in order of
 * start_ns, are its launches in order. Launches that failed, or that only added to a graph that was
 * being captured, are not there.
 */
struct kp_launch_run {
	uint64_t start_ns; /* before the first launch, in its thread */
	uint64_t end_ns;   /* the same; or when another thread was seen to launch on the stream in
			      the midst of a launch: the order is not known from start to end */
	uint64_t shapes;   /* sum of kp_launch_run_shape of all */
	uint32_t thread;   /* system thread id */
	uint32_t kind;     /* enum kp_host_kind, of all */
	uint32_t context, stream; /* CUPTI's, as in kp_launch_config */
	uint32_t launches;
	uint32_t kernels; /* of each: 1, or those of the graph */
};

/* What a launch adds to `shapes`: it tells grids and blocks apart. That of a graph is 0. */
static inline uint64_t kp_launch_run_shape(const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t hash = grid[0] * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ hash >> 29) + grid[1] * 0xbf58476d1ce4e5b9ULL + grid[2];
	hash = (hash ^ hash >> 31) * 0x94d049bb133111ebULL + block[0];
	hash = (hash ^ hash >> 30) * 0xd6e8feb86659fd93ULL + block[1] * 0x2545f491ULL + block[2];
	return hash ^ hash >> 32;
}

#endif
