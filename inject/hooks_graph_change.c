/*
 * Calls that change an executable graph, or bring it to the GPU: they pass the gate, so that none
 * of them runs while CUPTI is being detached; see hooks.h. How many kernels a graph has, none of
 * them changes.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/ab_graph.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"

/* One wrapper: its parameters, the same as they are handed on, and how it leaves the gate. */
#define CHANGE(name, parameters, arguments, leave)                                                 \
	typedef CUresult(CUDAAPI *name##_function) parameters;                                     \
	static CUresult CUDAAPI hook_##name parameters                                             \
	{                                                                                          \
		CUresult result;                                                                   \
                                                                                                   \
		kp_hooks_graph_enter();                                                            \
		result = KP_REAL(name, name##_function) arguments;                                 \
		return leave;                                                                      \
	}                                                                                          \
	KP_WRAPPER(name)

/* `of_graph`: what does the same to a node of a graph; NULL: nothing does. */
static CUresult changed(CUresult result, CUgraphExec exec, CUgraphNode node, const void *what,
			const char *of_graph)
{
	kp_hooks_graph_leave(result);
	if (result == CUDA_SUCCESS && kp_ab_is_on())
		kp_ab_graph_changed(exec, node, what, of_graph);
	return result;
}

/* What the parameters of nodes point to is only handed on: its types come and go with releases. */
#define CHANGE_NODE(name, of_graph)                                                                \
	CHANGE(name, (CUgraphExec exec, CUgraphNode node, const void *what), (exec, node, what),   \
	       changed(result, exec, node, what, of_graph))
#define CHANGE_NODE_IN(name, of_graph)                                                             \
	CHANGE(name, (CUgraphExec exec, CUgraphNode node, const void *what, CUcontext context),    \
	       (exec, node, what, context), changed(result, exec, node, what, of_graph))

static CUresult uploaded(CUresult result, CUgraphExec exec, CUstream stream)
{
	kp_hooks_graph_leave(result);
	if (result == CUDA_SUCCESS && kp_ab_is_on())
		kp_ab_graph_uploaded(exec, stream);
	return result;
}
CHANGE(cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, stream),
       uploaded(result, exec, stream));
CHANGE(cuGraphUpload_ptsz, (CUgraphExec exec, CUstream stream), (exec, stream),
       uploaded(result, exec, stream ? stream : CU_STREAM_PER_THREAD));
/* Its nodes may have been captured in other calls than before. */
static CUresult updated(CUresult result, CUgraphExec exec, CUgraph graph)
{
	kp_hooks_graph_leave(result);
	if (result == CUDA_SUCCESS)
		kp_library_graphs_instantiated(exec, graph, UINT64_MAX);
	if (result == CUDA_SUCCESS && kp_ab_is_on())
		kp_ab_graph_updated(exec, graph);
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
CHANGE_NODE(cuGraphExecKernelNodeSetParams, "cuGraphKernelNodeSetParams");
CHANGE_NODE(cuGraphExecKernelNodeSetParams_v2, "cuGraphKernelNodeSetParams_v2");
CHANGE_NODE_IN(cuGraphExecMemcpyNodeSetParams, "cuGraphMemcpyNodeSetParams");
CHANGE_NODE_IN(cuGraphExecMemsetNodeSetParams, "cuGraphMemsetNodeSetParams");
CHANGE_NODE(cuGraphExecHostNodeSetParams, "cuGraphHostNodeSetParams");
CHANGE_NODE(cuGraphExecChildGraphNodeSetParams, NULL);
CHANGE_NODE(cuGraphExecEventRecordNodeSetEvent, "cuGraphEventRecordNodeSetEvent");
CHANGE_NODE(cuGraphExecEventWaitNodeSetEvent, "cuGraphEventWaitNodeSetEvent");
CHANGE_NODE(cuGraphExecNodeSetParams, "cuGraphNodeSetParams");
CHANGE_NODE(cuGraphExecBatchMemOpNodeSetParams, "cuGraphBatchMemOpNodeSetParams");
CHANGE_NODE(cuGraphExecExternalSemaphoresSignalNodeSetParams,
	    "cuGraphExternalSemaphoresSignalNodeSetParams");
CHANGE_NODE(cuGraphExecExternalSemaphoresWaitNodeSetParams,
	    "cuGraphExternalSemaphoresWaitNodeSetParams");
