/* Changes of executable graphs: they concern launches to come, and leave the graph as it is. */
#include "tests/fake_gpu/driver/graph.h"

#include <string.h>

#include "tests/fake_gpu/driver/call.h"

/* The copy of a node of the graph that it was instantiated from. */
static CUgraphNode find(CUgraphExec exec, CUgraphNode node)
{
	return kp_fake_is(exec, KP_FAKE_EXEC) && kp_fake_is(node, KP_FAKE_NODE)
		       ? kp_fake_graph_find(exec->graph, node)
		       : NULL;
}

KP_FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
							  const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult result = kp_fake_ready();
	CUgraphNode own = find(exec, node);

	if (result != CUDA_SUCCESS)
		return result;
	return own && own->function && params ? kp_fake_graph_set_kernel(own, params)
					      : CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						       const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all = {0};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&all, params, sizeof(*params));
	return cuGraphExecKernelNodeSetParams_v2(exec, node, &all);
}

KP_FAKE_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node,
					      unsigned int enabled)
{
	CUresult result = kp_fake_ready();
	CUgraphNode own = find(exec, node);

	if (result != CUDA_SUCCESS)
		return result;
	if (!own)
		return CUDA_ERROR_INVALID_VALUE;
	own->disabled = enabled == 0;
	return CUDA_SUCCESS;
}

/* The same kinds of nodes, tied alike. */
static bool is_alike(const struct CUgraph_st *a, const struct CUgraph_st *b)
{
	const struct CUgraphNode_st *left = a->first, *right = b->first;

	while (left && right && left->op.kind == right->op.kind &&
	       left->dependency_count == right->dependency_count) {
		left = left->next;
		right = right->next;
	}
	return !left && !right;
}

/* Nodes keep their numbers, but are copies of the other graph's from then on. */
KP_FAKE_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
					     CUgraphExecUpdateResultInfo *info)
{
	CUresult result = kp_fake_ready();
	struct CUgraph_st *copy;
	bool alike;

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(exec, KP_FAKE_EXEC) || !kp_fake_is(graph, KP_FAKE_GRAPH) || !info)
		return CUDA_ERROR_INVALID_VALUE;
	memset(info, 0, sizeof(*info));
	kp_fake_lock();
	copy = kp_fake_graph_copy(graph, true);
	alike = is_alike(exec->graph, copy);
	if (alike) {
		CUgraphNode old = exec->graph->first;

		for (CUgraphNode node = copy->first; node; node = node->next, old = old->next)
			node->id = old->id;
		copy->id = exec->graph->id;
		exec->graph = copy;
	}
	kp_fake_unlock();
	info->result =
		alike ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	return alike ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

KP_FAKE_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node,
					  CUgraphExecUpdateResult *out)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUresult result;

	if (!node || !out)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuGraphExecUpdate_v2(exec, graph, &info);
	*node = info.errorNode;
	*out = info.result;
	return result;
}
