/* Changing graphs, asking what is in them, and cloning them. */
#include "tests/fake_gpu/driver/graph.h"

#include <string.h>

#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/call.h"
#include "tests/fake_gpu/driver/function.h"

static bool is_node(CUgraphNode node)
{
	return kp_fake_is(node, KP_FAKE_NODE);
}

static bool is_kernel(CUgraphNode node)
{
	return is_node(node) && node->function;
}

/* ---- clones ---- */

KP_FAKE_EXPORT CUresult cuGraphClone(CUgraph *out, CUgraph graph)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !kp_fake_is(graph, KP_FAKE_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	for (CUgraphNode node = graph->first; node; node = node->next)
		if (node->conditional)
			return CUDA_ERROR_NOT_SUPPORTED;
	kp_fake_lock();
	*out = kp_fake_graph_copy(graph, false);
	kp_fake_unlock();
	kp_fake_count(KP_FAKE_graphs_made, 1);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node, CUgraph clone)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !kp_fake_is(clone, KP_FAKE_GRAPH) || !is_node(node))
		return CUDA_ERROR_INVALID_VALUE;
	*out = kp_fake_graph_find(clone, node);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- kernels ---- */

KP_FAKE_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
						      CUDA_KERNEL_NODE_PARAMS *out)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_kernel(node) || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)node->function,
		.gridDimX = node->op.grid[0],
		.gridDimY = node->op.grid[1],
		.gridDimZ = node->op.grid[2],
		.blockDimX = node->op.block[0],
		.blockDimY = node->op.block[1],
		.blockDimZ = node->op.block[2],
		.sharedMemBytes = node->op.dynamic_shared_bytes,
		.kernelParams = node->arguments,
	};
	return CUDA_SUCCESS;
}

CUresult kp_fake_graph_set_kernel(struct CUgraphNode_st *node, const CUDA_KERNEL_NODE_PARAMS *to)
{
	CUfunction handle = to->func ? to->func : (CUfunction)(void *)to->kern;
	const struct CUfunc_st *function = kp_fake_function(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	kp_fake_lock();
	node->op.kernel = &function->kernel;
	node->op.grid[0] = to->gridDimX;
	node->op.grid[1] = to->gridDimY;
	node->op.grid[2] = to->gridDimZ;
	node->op.block[0] = to->blockDimX;
	node->op.block[1] = to->blockDimY;
	node->op.block[2] = to->blockDimZ;
	node->op.dynamic_shared_bytes = to->sharedMemBytes;
	node->duration_ns = kp_fake_duration(function, node->op.grid);
	kp_fake_graph_set_arguments(node, function, to->kernelParams);
	kp_fake_unlock();
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
						      const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	return is_kernel(node) && params ? kp_fake_graph_set_kernel(node, params)
					 : CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all = {0};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&all, params, sizeof(*params));
	return cuGraphKernelNodeSetParams_v2(node, &all);
}

KP_FAKE_EXPORT CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID id,
						      CUlaunchAttributeValue *out)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_kernel(node) || !out)
		return CUDA_ERROR_INVALID_VALUE;
	memset(out, 0, sizeof(*out));
	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		out->cooperative = node->op.cooperative;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id,
						      const CUlaunchAttributeValue *value)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_kernel(node) || !value)
		return CUDA_ERROR_INVALID_VALUE;
	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		node->op.cooperative = value->cooperative != 0;
	return CUDA_SUCCESS;
}

/* ---- edges ---- */

struct neighbours {
	CUgraphNode *nodes;
	CUgraphEdgeData *edges;
	size_t room, count;
	bool typed; /* an edge has data */
};

static void note(struct neighbours *found, CUgraphNode node, uint8_t type)
{
	found->typed |= type != 0;
	if (found->nodes && found->count < found->room) {
		found->nodes[found->count] = node;
		if (found->edges)
			found->edges[found->count] =
				(CUgraphEdgeData){.from_port = type, .type = type};
	}
	found->count++;
}

/* Edges with data cannot be told without it. */
static CUresult tell(struct neighbours *found, size_t *count)
{
	if (found->typed && !found->edges)
		return CUDA_ERROR_LOSSY_QUERY;
	for (size_t i = found->count; found->nodes && i < found->room; i++)
		found->nodes[i] = NULL;
	*count = found->nodes && found->room < found->count ? found->room : found->count;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
						      CUgraphEdgeData *edges, size_t *count)
{
	struct neighbours found = {nodes, edges, count ? *count : 0, 0, false};
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_node(node) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < node->dependency_count; i++)
		note(&found, node->dependencies[i], node->edge_types[i]);
	return tell(&found, count);
}

KP_FAKE_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
							CUgraphEdgeData *edges, size_t *count)
{
	struct neighbours found = {nodes, edges, count ? *count : 0, 0, false};
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_node(node) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (CUgraphNode other = node->graph->first; other; other = other->next)
		for (size_t i = 0; i < other->dependency_count; i++)
			if (other->dependencies[i] == node)
				note(&found, other, other->edge_types[i]);
	return tell(&found, count);
}

KP_FAKE_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
						  const CUgraphNode *to,
						  const CUgraphEdgeData *edges, size_t count)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(graph, KP_FAKE_GRAPH) || (count && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!is_node(from[i]) || !is_node(to[i]) || from[i]->graph != graph ||
		    to[i]->graph != graph || from[i] == to[i] ||
		    (edges && edges[i].type && (!from[i]->function || !to[i]->function)))
			return CUDA_ERROR_INVALID_VALUE;
	kp_fake_lock();
	for (size_t i = 0; i < count; i++)
		kp_fake_graph_depend(to[i], from[i], edges ? edges[i].type : 0);
	kp_fake_unlock();
	return CUDA_SUCCESS;
}

static void forget_dependency(CUgraphNode node, const struct CUgraphNode_st *on)
{
	size_t left = 0;

	for (size_t i = 0; i < node->dependency_count; i++) {
		if (node->dependencies[i] == on)
			continue;
		node->dependencies[left] = node->dependencies[i];
		node->edge_types[left++] = node->edge_types[i];
	}
	node->dependency_count = left;
}

/* With all of its edges: what stood before it is not tied to what stood behind it. */
KP_FAKE_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node)
{
	CUresult result = kp_fake_ready();
	struct CUgraph_st *graph;
	CUgraphNode before = NULL;

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_node(node))
		return CUDA_ERROR_INVALID_VALUE;
	kp_fake_lock();
	graph = node->graph;
	for (CUgraphNode other = graph->first; other; other = other->next) {
		forget_dependency(other, node);
		if (other->next == node)
			before = other;
	}
	if (before)
		before->next = node->next;
	else
		graph->first = node->next;
	if (graph->last == node)
		graph->last = before;
	graph->node_count--;
	node->tag = KP_FAKE_DEAD;
	kp_fake_unlock();
	return CUDA_SUCCESS;
}
