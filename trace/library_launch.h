/*
 * Launches in calls of libraries, and nodes of graphs that were captured in such: the records of
 * LIBRARY_LAUNCHES and LIBRARY_NODES chunks.
 */
#ifndef KP_TRACE_LIBRARY_LAUNCH_H
#define KP_TRACE_LIBRARY_LAUNCH_H

#include <stdint.h>

/*
 * One launch in a call, or one of the first launches of a graph that has nodes from calls.
 *
 * `ordinal` counts the kernels that the process had launched when the launch returned, those of
 * graphs included, those launched while records were off left out. `before` of these came while it
 * was under way. analyzers/library_match.h says what follows from that.
 */
struct kp_library_launch {
	uint64_t start_ns, end_ns; /* a time shortly before the launch, twice */
	uint64_t ordinal;
	uint32_t before;
	uint32_t others;          /* threads besides its own that had launched before */
	uint32_t call;            /* number of a kp_library_call of the same process */
	uint32_t part;            /* 0, 1, … among the launches of this one call */
	uint32_t context, stream; /* CUPTI's, as in kp_launch_config; UINT32_MAX: unknown */
	uint32_t grid[3];         /* blocks */
	uint32_t block[3];        /* threads; 0: unknown */
	uint32_t graph;           /* number of the graph + 1, as in kp_library_node; 0: a kernel */
};

/* One kernel node of an executable graph, captured while its thread was in a call. */
struct kp_library_node {
	uint32_t graph; /* 0, 1, … among the executable graphs of the process that have such */
	uint32_t index; /* among all nodes of the graph, as created: the lower half of CUPTI's id */
	uint32_t kernels; /* that a launch of the graph issues; UINT32_MAX: unknown */
	uint32_t call, part;
	uint32_t grid[3], block[3];
};

#endif
