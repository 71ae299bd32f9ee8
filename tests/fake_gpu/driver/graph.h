/* Graphs of the fake driver, as stream capture needs them. With the lock unless said. */
#ifndef KP_FAKE_GPU_GRAPH_H
#define KP_FAKE_GPU_GRAPH_H

#include "tests/fake_gpu/driver/gpu.h"

/* An empty graph; announces nothing. */
struct CUgraph_st *kp_fake_graph_create(void);
/*
 * Adds a node that does `op` for `duration_ns` after the `count` nodes of `dependencies` (copied).
 * The caller announces it with kp_fake_graph_announce, without the lock.
 */
struct CUgraphNode_st *kp_fake_graph_add(struct CUgraph_st *graph,
					 struct CUgraphNode_st *const *dependencies, size_t count,
					 const struct kp_fake_op *op, uint64_t duration_ns);
/* Adds an edge. */
void kp_fake_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *on, uint8_t type);
/* Keeps what a kernel is launched with: copies of its arguments, as far as their sizes are known.
 */
void kp_fake_graph_set_arguments(struct CUgraphNode_st *node, const struct CUfunc_st *function,
				 void *const *arguments);
/* The copy of a node in its executable graph; NULL: there is none. */
struct CUgraphNode_st *kp_fake_graph_find(const struct CUgraph_st *graph,
					  const struct CUgraphNode_st *origin);
/* A new graph with copies of all nodes, child graphs unfolded or cloned; announces nothing. */
struct CUgraph_st *kp_fake_graph_copy(const struct CUgraph_st *from, bool unfold);
/* Gives a node another kernel to launch. */
CUresult kp_fake_graph_set_kernel(struct CUgraphNode_st *node, const CUDA_KERNEL_NODE_PARAMS *to);
/* How long a kernel takes. */
uint64_t kp_fake_duration(const struct CUfunc_st *function, const uint32_t grid[3]);
/* Does what a node's kernel does. Without the lock. */
void kp_fake_graph_compute(const struct CUgraphNode_st *node);
/* Tells the listener of a new node, or of one cloned from `original`. Without the lock. */
void kp_fake_graph_announce(struct CUgraphNode_st *node, struct CUgraphNode_st *original);

/* CU_GRAPH_NODE_TYPE_KERNEL and its kin. */
CUgraphNodeType kp_fake_graph_node_type(const struct CUgraphNode_st *node);

/* Takes the lock that a launch of a graph may hold, and leaves it, as often as the fault says. */
void kp_fake_take_launch_lock(void);

#endif
