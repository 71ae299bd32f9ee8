/*
 * Calls that change an executable graph, or bring it to the GPU: they pass the gate, so that none
 * of them runs while CUPTI is being detached; see hooks.h. How many kernels a graph has, none of
 * them changes.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/hooks.h"
#include "inject/hooks_gates.h"

/* One wrapper: its parameters, and the same as they are handed on. */
#define CHANGE(name, parameters, arguments)                                                        \
	typedef CUresult(CUDAAPI *name##_function) parameters;                                     \
	static CUresult CUDAAPI hook_##name parameters                                             \
	{                                                                                          \
		kp_hooks_graph_enter();                                                            \
		return kp_hooks_graph_leave(KP_REAL(name, name##_function) arguments);             \
	}                                                                                          \
	KP_WRAPPER(name)

/* What the parameters of nodes point to is only handed on: its types come and go with releases. */
#define CHANGE_NODE(name)                                                                          \
	CHANGE(name, (CUgraphExec exec, CUgraphNode node, const void *what), (exec, node, what))
#define CHANGE_NODE_IN(name)                                                                       \
	CHANGE(name, (CUgraphExec exec, CUgraphNode node, const void *what, CUcontext context),    \
	       (exec, node, what, context))

CHANGE(cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, stream));
CHANGE(cuGraphUpload_ptsz, (CUgraphExec exec, CUstream stream), (exec, stream));
/* Its nodes may have been captured in other calls than before. */
static CUresult updated(CUresult result, CUgraphExec exec, CUgraph graph)
{
	kp_hooks_graph_leave(result);
	if (result == CUDA_SUCCESS)
		kp_library_graphs_instantiated(exec, graph, UINT64_MAX);
	return result;
}

#define UPDATE(name, parameters, arguments)                                                        \
	typedef CUresult(CUDAAPI *name##_function) parameters;                                     \
	static CUresult CUDAAPI hook_##name parameters                                             \
	{                                                                                          \
		kp_hooks_graph_enter();                                                            \
		return updated(KP_REAL(name, name##_function) arguments, exec, graph);             \
	}                                                                                          \
	KP_WRAPPER(name)
UPDATE(cuGraphExecUpdate, (CUgraphExec exec, CUgraph graph, CUgraphNode *node, void *result),
       (exec, graph, node, result));
UPDATE(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, void *result),
       (exec, graph, result));
CHANGE_NODE(cuGraphExecKernelNodeSetParams);
CHANGE_NODE(cuGraphExecKernelNodeSetParams_v2);
CHANGE_NODE_IN(cuGraphExecMemcpyNodeSetParams);
CHANGE_NODE_IN(cuGraphExecMemsetNodeSetParams);
CHANGE_NODE(cuGraphExecHostNodeSetParams);
CHANGE_NODE(cuGraphExecChildGraphNodeSetParams);
CHANGE_NODE(cuGraphExecEventRecordNodeSetEvent);
CHANGE_NODE(cuGraphExecEventWaitNodeSetEvent);
CHANGE_NODE(cuGraphExecNodeSetParams);
