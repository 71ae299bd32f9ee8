/*
 * Graphs that were captured in calls of libraries: which node is of which call.
 *
 * A launch in a call that only adds a node to a capture leaves the node here. When the graph is
 * instantiated, its nodes are walked in their order, and those that are known go to the trace with
 * their place: CUPTI numbers the nodes of an executable graph in that order. Which graph a launch
 * is of, the reader learns from the first launches of each (KP_LIBRARY_GRAPH_LAUNCHES), which are
 * put into the ring as launches of kernels are. None of this is on the path of a launch that runs:
 * it locks and allocates.
 */
#ifndef KP_INJECT_LIBRARY_GRAPHS_H
#define KP_INJECT_LIBRARY_GRAPHS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "trace/writer.h"

/* So many launches of each graph are noted. */
#define KP_LIBRARY_GRAPH_LAUNCHES 8U
/* So many captured nodes are remembered, of all graphs that live. */
#define KP_LIBRARY_NODES_MOST (1U << 20)

/* How many graphs there are of which launches are still to be noted. */
extern _Atomic uint32_t kp_library_graphs_watched;

static inline bool kp_library_graphs_care(void)
{
	return __builtin_expect(
		atomic_load_explicit(&kp_library_graphs_watched, memory_order_relaxed) != 0, 0);
}

/* The launch under way of this thread became the newest node of its stream's capture. */
void kp_library_graphs_capture(void);
/* A graph goes: its nodes' handles may be another's. Before it does. */
void kp_library_graphs_destroy(CUgraph graph);
/* A graph became an executable one, or changed one; `kernels`: UINT64_MAX: unknown. */
void kp_library_graphs_instantiated(CUgraphExec exec, CUgraph graph, uint64_t kernels);
void kp_library_graphs_exec_destroy(CUgraphExec exec);
/* Notes a launch, of which kp_library_graph_begins was told. */
void kp_library_graphs_launched(CUgraphExec exec, uint64_t issued);

/* Writes the nodes that came. Worker only. */
void kp_library_graphs_write(struct kp_writer *writer);
void kp_library_graphs_forget(void);

#endif
