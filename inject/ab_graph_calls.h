/*
 * Calls of libraries that are captured. What a call becomes, in the driver's terms, does not say
 * what it computes; the call does. So its nodes are noted when it is captured, and found again when
 * the graph is instantiated.
 */
#ifndef KP_INJECT_AB_GRAPH_CALLS_H
#define KP_INJECT_AB_GRAPH_CALLS_H

#include "inject/ab_graph_state.h"

/* Before a call that is captured. False: where it stands cannot be had. */
bool kp_ab_graph_call_begins(const struct kp_ab_job *job, struct kp_ab_graph_place *place);
/* Behind it. False: it is none whose nodes can be told. */
bool kp_ab_graph_call_ends(const struct kp_ab_job *job, const struct kp_ab_graph_place *before);
/* The calls of a graph, on the heap; NULL: none. */
size_t kp_ab_graph_calls(CUgraph graph, struct kp_ab_graph_part **out);
/* A graph goes. */
void kp_ab_graph_calls_forget(CUgraph graph);
/* In a forked child. */
void kp_ab_graph_calls_reset(void);

/* A hash of what the kernels of a part's nodes are launched with. False: it cannot be had. */
bool kp_ab_graph_print(const struct kp_ab_graph_part *part, uint64_t *out);

#endif
