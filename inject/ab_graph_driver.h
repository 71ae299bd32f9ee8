/* The driver's own functions for graphs, past all hooks, as inject/ab_graph*.c needs them. */
#ifndef KP_INJECT_AB_GRAPH_DRIVER_H
#define KP_INJECT_AB_GRAPH_DRIVER_H

#include <stdint.h>

#include "inject/cuda_api.h"

/* CUDA_KERNEL_NODE_PARAMS_v2 and CUgraphEdgeData, which older headers lack. */
struct kp_ab_kernel_node {
	CUfunction function;
	unsigned grid[3], block[3], shared_bytes;
	void **parameters, **extra;
	void *kernel; /* where there is no function */
	CUcontext context;
};
struct kp_ab_edge {
	uint8_t from_port, to_port, type, reserved[5];
};

typedef CUresult(CUDAAPI *kp_ab_graph_neighbours)(CUgraphNode, CUgraphNode *, struct kp_ab_edge *,
						  size_t *);

/* X(name in the library, member, parameters); drivers that have all of KP_AB_DRIVER have these. */
#define KP_AB_GRAPH_DRIVER(X)                                                                      \
	X(cuGraphGetNodes, nodes, (CUgraph, CUgraphNode *, size_t *))                              \
	X(cuGraphNodeGetType, type, (CUgraphNode, CUgraphNodeType *))                              \
	X(cuGraphChildGraphNodeGetGraph, child, (CUgraphNode, CUgraph *))                          \
	X(cuGraphClone, clone, (CUgraph *, CUgraph))                                               \
	X(cuGraphNodeFindInClone, find, (CUgraphNode *, CUgraphNode, CUgraph))                     \
	X(cuGraphDestroy, destroy, (CUgraph))                                                      \
	X(cuGraphKernelNodeGetParams_v2, kernel, (CUgraphNode, struct kp_ab_kernel_node *))        \
	X(cuGraphKernelNodeGetAttribute, attribute, (CUgraphNode, unsigned, void *))               \
	X(cuGraphKernelNodeSetAttribute, set_attribute, (CUgraphNode, unsigned, const void *))     \
	X(cuGraphNodeGetDependencies_v2, before,                                                   \
	  (CUgraphNode, CUgraphNode *, struct kp_ab_edge *, size_t *))                             \
	X(cuGraphNodeGetDependentNodes_v2, behind,                                                 \
	  (CUgraphNode, CUgraphNode *, struct kp_ab_edge *, size_t *))                             \
	X(cuGraphAddDependencies_v2, connect,                                                      \
	  (CUgraph, const CUgraphNode *, const CUgraphNode *, const struct kp_ab_edge *, size_t))  \
	X(cuGraphDestroyNode, remove, (CUgraphNode))                                               \
	X(cuGraphAddKernelNode_v2, add,                                                            \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const struct kp_ab_kernel_node *)) \
	X(cuGraphAddChildGraphNode, add_child,                                                     \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph))                          \
	X(cuStreamCreate, stream, (CUstream *, unsigned))                                          \
	X(cuStreamBeginCapture_v2, begin, (CUstream, CUstreamCaptureMode))                         \
	X(cuStreamEndCapture, end, (CUstream, CUgraph *))                                          \
	X(cuStreamGetCaptureInfo_v3, info,                                                         \
	  (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **,       \
	   const struct kp_ab_edge **, size_t *))                                                  \
	X(cuStreamWaitEvent, wait, (CUstream, CUevent, unsigned))                                  \
	X(cuEventDestroy_v2, destroy_event, (CUevent))

struct kp_ab_graph_driver {
#define KP_AB_GRAPH_MEMBER(symbol, member, parameters) CUresult(CUDAAPI *member) parameters;
	KP_AB_GRAPH_DRIVER(KP_AB_GRAPH_MEMBER)
#undef KP_AB_GRAPH_MEMBER
};
/* NULL: this driver lacks one of them. */
const struct kp_ab_graph_driver *kp_ab_graph_driver(void);

#endif
