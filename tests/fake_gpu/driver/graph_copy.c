/*
 * Copies of graphs, and what their kernels compute: a clone keeps child graphs, an executable graph
 * has them unfolded. Nodes of a copy stand in an order in which each comes behind those it depends
 * on, whatever the order in which edges were added.
 */
#include "tests/fake_gpu/driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/driver/call.h"
#include "tests/fake_gpu/driver/emulate.h"
#include "tests/fake_gpu/driver/function.h"

/* ---- what kernels are launched with ---- */

void kp_fake_graph_set_arguments(struct CUgraphNode_st *node, const struct CUfunc_st *function,
				 void *const *arguments)
{
	const struct kp_fake_kernel *kernel = &function->kernel;

	node->function = function;
	node->arguments = NULL;
	if (!arguments || kernel->parameter_count == 0)
		return;
	node->arguments = kp_fake_alloc(kernel->parameter_count * sizeof(void *));
	for (uint32_t i = 0; i < kernel->parameter_count; i++) {
		node->arguments[i] = kp_fake_alloc(kernel->parameter_bytes[i]);
		memcpy(node->arguments[i], arguments[i], kernel->parameter_bytes[i]);
	}
}

uint64_t kp_fake_duration(const struct CUfunc_st *function, const uint32_t grid[3])
{
	if (function->emulation && !function->emulation->run)
		return kp_fake_emulate_operator(function->emulation, grid, 1, 0, NULL);
	return function->kernel.duration_ns;
}

void kp_fake_graph_compute(const struct CUgraphNode_st *node)
{
	if (!node->function || !node->arguments || node->disabled || kp_fake_faults()->graph_idle)
		return;
	if (node->function->kernel.compute)
		node->function->kernel.compute(node->op.grid, node->arguments);
	else if (node->function->emulation && !node->function->emulation->run)
		kp_fake_emulate_operator(node->function->emulation, node->op.grid,
					 node->op.block[0], node->op.dynamic_shared_bytes,
					 node->arguments);
}

/* ---- copies ---- */

struct CUgraphNode_st *kp_fake_graph_find(const struct CUgraph_st *graph,
					  const struct CUgraphNode_st *origin)
{
	struct CUgraphNode_st *node = graph->first;

	while (node && node->origin != origin)
		node = node->next;
	return node;
}

/* A node's copy, while a graph is copied. */
struct pair {
	const struct CUgraphNode_st *original;
	struct CUgraphNode_st *copy;
};

static struct CUgraphNode_st *find_copy(const struct pair *pairs, size_t count,
					const struct CUgraphNode_st *original)
{
	for (size_t i = count; i-- > 0;)
		if (pairs[i].original == original)
			return pairs[i].copy;
	return NULL;
}

static bool is_ready(const struct pair *pairs, size_t count, const struct CUgraphNode_st *node)
{
	if (find_copy(pairs, count, node))
		return false; /* it has been copied */
	for (size_t i = 0; i < node->dependency_count; i++)
		if (!find_copy(pairs, count, node->dependencies[i]))
			return false;
	return true;
}

static struct CUgraphNode_st *copy_nodes(const struct CUgraph_st *from, struct CUgraph_st *to,
					 struct CUgraphNode_st *before, bool unfold);

/* All that was added to a graph after a node, or at all. */
static void mark_conditional(struct CUgraph_st *graph, struct CUgraphNode_st *before)
{
	for (struct CUgraphNode_st *node = before ? before->next : graph->first; node;
	     node = node->next)
		node->conditional = true;
}

static struct CUgraphNode_st *copy_node(const struct CUgraphNode_st *node, struct CUgraph_st *to,
					struct CUgraphNode_st *before, bool unfold,
					const struct pair *pairs, size_t count)
{
	struct CUgraphNode_st *last = before, *copy;

	for (size_t i = 0; i < node->dependency_count; i++)
		last = find_copy(pairs, count, node->dependencies[i]);
	if (node->child && unfold) {
		struct CUgraphNode_st *before_child = to->last;

		last = copy_nodes(node->child, to, last, true);
		if (node->conditional)
			mark_conditional(to, before_child);
		return last;
	}
	copy = kp_fake_graph_add(to, NULL, 0, &node->op, node->duration_ns);
	for (size_t i = 0; i < node->dependency_count; i++)
		kp_fake_graph_depend(copy, find_copy(pairs, count, node->dependencies[i]),
				     node->edge_types[i]);
	if (node->dependency_count == 0 && before)
		kp_fake_graph_depend(copy, before, 0);
	if (node->child)
		copy->child = kp_fake_graph_copy(node->child, false);
	copy->origin = (struct CUgraphNode_st *)node;
	copy->function = node->function;
	copy->conditional = node->conditional;
	if (node->arguments)
		kp_fake_graph_set_arguments(copy, node->function, node->arguments);
	return copy;
}

/*
 * Appends copies to `to`, after `before` (NULL: at once); returns the last. Unfolded child graphs
 * become their nodes in a chain.
 */
static struct CUgraphNode_st *copy_nodes(const struct CUgraph_st *from, struct CUgraph_st *to,
					 struct CUgraphNode_st *before, bool unfold)
{
	struct pair *pairs = kp_fake_alloc(from->node_count * sizeof(*pairs));
	struct CUgraphNode_st *last = before;
	size_t count = 0, earlier;

	do {
		earlier = count;
		for (struct CUgraphNode_st *node = from->first; node; node = node->next) {
			if (!is_ready(pairs, count, node))
				continue;
			last = copy_node(node, to, before, unfold, pairs, count);
			pairs[count].original = node;
			pairs[count++].copy = last;
		}
	} while (count < from->node_count && count > earlier);
	free(pairs);
	return last;
}

struct CUgraph_st *kp_fake_graph_copy(const struct CUgraph_st *from, bool unfold)
{
	struct CUgraph_st *to = kp_fake_graph_create();

	to->origin = (struct CUgraph_st *)from;
	copy_nodes(from, to, NULL, unfold);
	return to;
}
