/*
 * Graphs: building by hand, asking, and ending. Launching is exec.c, capturing capture.c.
 */
#include "tests/fake_gpu/driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/call.h"
#include "tests/fake_gpu/driver/function.h"

struct CUgraph_st *kp_fake_graph_create(void)
{
	struct CUgraph_st *graph = kp_fake_alloc(sizeof(*graph));

	graph->tag = KP_FAKE_GRAPH;
	graph->id = kp_fake_next_id();
	return graph;
}

void kp_fake_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *on, uint8_t type)
{
	size_t count = node->dependency_count++;
	struct CUgraphNode_st **dependencies =
		kp_fake_alloc(node->dependency_count * sizeof(*dependencies));
	uint8_t *types = kp_fake_alloc(node->dependency_count);

	if (count) {
		memcpy(dependencies, node->dependencies, count * sizeof(*dependencies));
		memcpy(types, node->edge_types, count);
	}
	free(node->dependencies);
	free(node->edge_types);
	node->dependencies = dependencies;
	node->edge_types = types;
	dependencies[count] = on;
	types[count] = type;
}

struct CUgraphNode_st *kp_fake_graph_add(struct CUgraph_st *graph,
					 struct CUgraphNode_st *const *dependencies, size_t count,
					 const struct kp_fake_op *op, uint64_t duration_ns)
{
	struct CUgraphNode_st *node = kp_fake_alloc(sizeof(*node));

	node->tag = KP_FAKE_NODE;
	node->id = (uint64_t)graph->id << 32 | graph->nodes_made++;
	node->graph = graph;
	node->op = *op;
	node->duration_ns = duration_ns;
	for (size_t i = 0; i < count; i++)
		kp_fake_graph_depend(node, dependencies[i], 0);
	if (graph->last)
		graph->last->next = node;
	else
		graph->first = node;
	graph->last = node;
	graph->node_count++;
	return node;
}

CUgraphNodeType kp_fake_graph_node_type(const struct CUgraphNode_st *node)
{
	if (node->child)
		return node->conditional ? CU_GRAPH_NODE_TYPE_CONDITIONAL
					 : CU_GRAPH_NODE_TYPE_GRAPH;
	switch (node->op.kind) {
	case KP_FAKE_OP_MEMCPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case KP_FAKE_OP_MEMSET:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	default:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	}
}

void kp_fake_graph_announce(struct CUgraphNode_st *node, struct CUgraphNode_st *original)
{
	CUpti_GraphData data = {
		.graph = node->graph,
		.node = node,
		.nodeType = kp_fake_graph_node_type(node),
	};

	if (original) {
		data.originalGraph = original->graph;
		data.originalNode = original;
	}
	kp_fake_announce_resource(original ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
					   : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
				  kp_fake_current(), NULL, &data);
}

KP_FAKE_EXPORT CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
	CUresult result = kp_fake_ready();
	CUpti_GraphData data = {0};

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	kp_fake_lock();
	*out = kp_fake_graph_create();
	kp_fake_unlock();
	kp_fake_count(KP_FAKE_graphs_made, 1);
	data.graph = *out;
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, kp_fake_current(), NULL,
				  &data);
	return CUDA_SUCCESS;
}

static CUresult check_place(CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(graph, KP_FAKE_GRAPH) || (count && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!kp_fake_is(dependencies[i], KP_FAKE_NODE) || dependencies[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph,
						const CUgraphNode *dependencies, size_t count,
						const CUDA_KERNEL_NODE_PARAMS *node)
{
	CUresult result = check_place(graph, dependencies, count);
	const struct CUfunc_st *function;
	struct kp_fake_op op;

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !node)
		return CUDA_ERROR_INVALID_VALUE;
	function = kp_fake_function(node->func ? node->func : (CUfunction)(void *)node->kern);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	op = (struct kp_fake_op){
		.kind = KP_FAKE_OP_KERNEL,
		.kernel = &function->kernel,
		.grid = {node->gridDimX, node->gridDimY, node->gridDimZ},
		.block = {node->blockDimX, node->blockDimY, node->blockDimZ},
		.dynamic_shared_bytes = node->sharedMemBytes,
	};
	kp_fake_lock();
	*out = kp_fake_graph_add(graph, dependencies, count, &op,
				 kp_fake_duration(function, op.grid));
	kp_fake_graph_set_arguments(*out, function, node->kernelParams);
	kp_fake_unlock();
	kp_fake_graph_announce(*out, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph,
					     const CUgraphNode *dependencies, size_t count,
					     const CUDA_KERNEL_NODE_PARAMS_v1 *node)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};

	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params, node, sizeof(*node));
	return cuGraphAddKernelNode_v2(out, graph, dependencies, count, &params);
}

KP_FAKE_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph,
						 const CUgraphNode *dependencies, size_t count,
						 CUgraph child)
{
	CUresult result = check_place(graph, dependencies, count);
	struct kp_fake_op none = {0};

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !kp_fake_is(child, KP_FAKE_GRAPH) || child == graph)
		return CUDA_ERROR_INVALID_VALUE;
	kp_fake_lock();
	*out = kp_fake_graph_add(graph, dependencies, count, &none, 0);
	(*out)->child = kp_fake_graph_copy(child, false);
	kp_fake_unlock();
	kp_fake_graph_announce(*out, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph,
						       CUcontext context, unsigned int initial,
						       unsigned int flags)
{
	(void)context;
	(void)initial;
	(void)flags;
	if (!out || !kp_fake_is(graph, KP_FAKE_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	*out = kp_fake_next_id();
	return CUDA_SUCCESS;
}

/* Conditional nodes alone, with one body, which is the caller's to fill. */
KP_FAKE_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph,
					  const CUgraphNode *dependencies,
					  const CUgraphEdgeData *edges, size_t count,
					  CUgraphNodeParams *params)
{
	CUresult result = check_place(graph, dependencies, count);
	struct kp_fake_op none = {0};

	(void)edges;
	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !params)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || params->conditional.size != 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	kp_fake_lock();
	*out = kp_fake_graph_add(graph, dependencies, count, &none, 0);
	(*out)->conditional = true;
	(*out)->child = kp_fake_graph_create();
	kp_fake_unlock();
	params->conditional.phGraph_out = &(*out)->child;
	kp_fake_graph_announce(*out, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	CUresult result = kp_fake_ready();
	CUgraphNode node;
	size_t room, i = 0;

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(graph, KP_FAKE_GRAPH) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	room = *count;
	*count = graph->node_count;
	for (node = nodes ? graph->first : NULL; node && i < room; node = node->next)
		nodes[i++] = node;
	if (nodes && i < *count)
		*count = i;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(node, KP_FAKE_NODE) || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = kp_fake_graph_node_type(node);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(node, KP_FAKE_NODE) || !node->child || !child)
		return CUDA_ERROR_INVALID_VALUE;
	*child = node->child;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(graph, KP_FAKE_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	graph->tag = KP_FAKE_DEAD;
	kp_fake_count(KP_FAKE_graphs_ended, 1);
	return CUDA_SUCCESS;
}
