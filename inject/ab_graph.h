/*
 * Rules in CUDA graphs: what a graph has of the launches that rules fit, a second executable graph
 * in which they are replaced, and which of the two a launch of the program's gets.
 *
 * The program captures, or builds, its own kernels, and instantiates them: nothing of that changes.
 * Beside it stand a copy of the graph, kept as the program changes its executable graph, and, from
 * the first launch on at which something in it has been verified, further executable graphs: with
 * all that is verified replaced, and with each rule alone. A launch of the program's graph becomes
 * one of these, by turns. What was taken back, or changed by the program, is built anew before it
 * is launched again, or left alone for good.
 *
 * Graphs are not synchronised by the driver: whoever calls with an executable graph owns it for as
 * long, and here too. Memory is bounded by KP_AB_MEMORY_MOST of each context, and given back with
 * the program's graph. Launches of all forms are in order, as those of one graph are.
 */
#ifndef KP_INJECT_AB_GRAPH_H
#define KP_INJECT_AB_GRAPH_H

#include "inject/ab.h"

struct kp_ab_graph;
struct kp_ab_graph_form;
struct kp_ab_sample;

/* A graph became an executable one, or its update. `plain`: only the host launches it. */
void kp_ab_graph_instantiated(CUgraphExec exec, CUgraph graph, uint64_t flags);
void kp_ab_graph_updated(CUgraphExec exec, CUgraph graph);
/*
 * A node of an executable graph was given other parameters. `of_graph`: the driver's function that
 * does the same to a node of a graph; NULL: there is none.
 */
void kp_ab_graph_changed(CUgraphExec exec, CUgraphNode node, const void *what,
			 const char *of_graph);
void kp_ab_graph_uploaded(CUgraphExec exec, CUstream stream);
/* Before it goes; its handle may be another's at once. */
void kp_ab_graph_exec_destroyed(CUgraphExec exec);
void kp_ab_graph_destroyed(CUgraph graph);
/* A context goes; NULL: perhaps any. In a forked child. */
void kp_ab_graphs_context_gone(CUcontext context);
void kp_ab_graphs_forget(void);

/* A launch under way. */
struct kp_ab_replay {
	struct kp_ab_graph *graph;           /* NULL: nothing in it is any rule's */
	const struct kp_ab_graph_form *form; /* NULL: the program's own */
	uint32_t reason;                     /* enum kp_ab_reason: why that */
	CUstream stream;
	struct kp_ab_sample *sample;
};
/* What is to be launched in its place, or itself; then kp_ab_graph_launched must follow. */
CUgraphExec kp_ab_graph_launches(struct kp_ab_replay *replay, CUgraphExec exec, CUstream stream,
				 bool per_thread);
void kp_ab_graph_launched(struct kp_ab_replay *replay, bool succeeded);

#endif
