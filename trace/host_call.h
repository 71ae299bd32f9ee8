/* How the program launched kernels: the records of HOST chunks; see records.h. */
#ifndef KP_TRACE_HOST_CALL_H
#define KP_TRACE_HOST_CALL_H

#include <stdint.h>

/* X(NAME, number, the driver's calls): how kernels were launched. */
#define KP_HOST_KINDS(X)                                                                           \
	X(LAUNCH, 0, "cuLaunchKernel and its kin")                                                 \
	X(COOPERATIVE, 1, "cuLaunchCooperativeKernel")                                             \
	X(GRAPH, 2, "cuGraphLaunch")

enum kp_host_kind {
#define KP_HOST_ROW(name, number, calls) KP_HOST_##name = (number),
	KP_HOST_KINDS(KP_HOST_ROW)
#undef KP_HOST_ROW
};

/* Of kp_host_call: a context, stream or number of kernels that could not be had. */
#define KP_HOST_UNKNOWN UINT32_MAX

/*
 * One call of the driver by which the program launched kernels. Calls that failed, or that only
 * added to a graph that was being captured, are not there.
 */
struct kp_host_call {
	uint64_t start_ns, end_ns; /* of the call, in its thread */
	uint32_t thread;           /* system thread id */
	uint32_t kind;             /* enum kp_host_kind */
	uint32_t context, stream;  /* CUPTI's, as in kp_launch_config */
	uint32_t correlation;      /* CUPTI's; 0: unknown, as a rule */
	uint32_t kernels;          /* 1, or those of the graph */
	uint32_t grid[3];          /* blocks; 0 of a graph */
	uint32_t block[3];         /* threads; 0 of a graph, and where it was set by another call */
};

#endif
