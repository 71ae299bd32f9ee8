/*
 * Executable graphs and their launches.
 *
 * Instantiating copies the graph (graph_copy.c) with new node ids, announced as cloned.
 * A node starts when its dependencies have ended; all nodes of one launch share the correlation id
 * of the launch, as on the real driver.
 */
#include "tests/fake_gpu/driver/call.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/graph.h"
#include "tests/fake_gpu/driver/order.h"

static CUresult instantiate(CUgraphExec *out, CUgraph graph)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);
	CUpti_GraphData data = {0};
	struct CUgraphExec_st *exec;

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !kp_fake_is(graph, KP_FAKE_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	exec = kp_fake_alloc(sizeof(*exec));
	kp_fake_lock();
	exec->tag = KP_FAKE_EXEC;
	exec->context = context;
	exec->graph = kp_fake_graph_copy(graph, true);
	exec->id = exec->graph->id;
	kp_fake_unlock();
	for (struct CUgraphNode_st *node = exec->graph->first; node; node = node->next)
		kp_fake_graph_announce(node, node->origin);
	data.graph = graph;
	data.graphExec = exec;
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, context, NULL, &data);
	kp_fake_count(KP_FAKE_execs_made, 1);
	*out = exec;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
						    unsigned long long flags)
{
	cuGraphInstantiateWithFlags_params params = {out, graph, flags};
	struct kp_fake_call call = KP_FAKE_CALL(cuGraphInstantiateWithFlags, &params);

	kp_fake_call_enter(&call);
	call.result = instantiate(out, graph);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error,
					      char *log, size_t log_bytes)
{
	if (error)
		*error = NULL;
	if (log && log_bytes)
		*log = '\0';
	return cuGraphInstantiateWithFlags(out, graph, 0);
}

KP_FAKE_EXPORT CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error,
					   char *log, size_t log_bytes)
{
	return cuGraphInstantiate_v2(out, graph, error, log, log_bytes);
}

KP_FAKE_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
						     CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return cuGraphInstantiateWithFlags(out, graph, params->flags);
}

KP_FAKE_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *out, CUgraph graph,
							  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return cuGraphInstantiateWithParams(out, graph, params);
}

/*
 * Gives every node of a launch its times; returns how many do something. What is behind a condition
 * runs twice, and CUPTI sees the first time alone (kineto 1062). With the lock.
 */
static size_t schedule(struct CUgraphExec_st *exec, struct CUstream_st *stream,
		       struct kp_fake_op *ops, uint32_t correlation)
{
	struct CUgraph_st *graph = exec->graph;
	uint64_t begin_ns = kp_fake_stream_start(stream);
	struct CUgraphNode_st *node;
	size_t count = 0;

	if (exec->end_ns > begin_ns)
		begin_ns = exec->end_ns;
	for (node = graph->first; node; node = node->next) {
		uint64_t start_ns = begin_ns;
		struct kp_fake_op *op = &ops[count];

		for (size_t i = 0; i < node->dependency_count; i++)
			if (node->dependencies[i]->end_ns > start_ns)
				start_ns = node->dependencies[i]->end_ns;
		node->end_ns = start_ns;
		if (node->disabled)
			continue;
		*op = node->op;
		op->correlation = correlation;
		op->graph = graph->id;
		op->graph_node = node->id;
		kp_fake_place(stream, start_ns, node->duration_ns, op);
		node->end_ns = op->end_ns;
		if (op->end_ns > exec->end_ns)
			exec->end_ns = op->end_ns;
		count++;
		if (node->conditional)
			kp_fake_count(KP_FAKE_kernels_issued, 1);
	}
	return count;
}

static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;

void kp_fake_take_launch_lock(void)
{
	for (uint64_t i = 0; i < kp_fake_faults()->graph_lock; i++) {
		pthread_mutex_lock(&launch_lock);
		pthread_mutex_unlock(&launch_lock);
		kp_fake_wait_until(kp_fake_now_ns() + 50000); /* then the next launch has it */
	}
}

static void take_time(void)
{
	bool lock = kp_fake_faults()->graph_lock;

	if (!kp_fake_faults()->graph_launch)
		return;
	if (lock)
		pthread_mutex_lock(&launch_lock);
	kp_fake_wait_until(kp_fake_now_ns() + kp_fake_faults()->graph_launch * 1000);
	if (lock)
		pthread_mutex_unlock(&launch_lock);
}

static CUresult launch(CUgraphExec exec, CUstream handle, bool per_thread, uint32_t correlation)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);
	struct CUstream_st *stream;
	struct kp_fake_op *ops;
	size_t count;

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(exec, KP_FAKE_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	stream = kp_fake_stream_resolve(context, handle, per_thread);
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	ops = kp_fake_alloc(exec->graph->node_count * sizeof(*ops));
	kp_fake_lock();
	count = schedule(exec, stream, ops, correlation);
	kp_fake_unlock();
	kp_fake_count(KP_FAKE_graph_launches, 1);
	for (struct CUgraphNode_st *node = exec->graph->first; node; node = node->next) {
		if (node->function && !node->disabled)
			kp_fake_order_kernel(stream, &node->function->kernel, node->arguments);
		kp_fake_graph_compute(node);
	}
	for (size_t i = 0; i < count; i++)
		kp_fake_announce_op(&ops[i]);
	if (count)
		kp_fake_wait_for_room(ops[0].start_ns);
	take_time();
	free(ops);
	kp_fake_interrupt();
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	cuGraphLaunch_params params = {exec, stream};
	struct kp_fake_call call = KP_FAKE_CALL(cuGraphLaunch, &params);

	kp_fake_call_enter(&call);
	call.result = launch(exec, stream, false, call.correlation);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	cuGraphLaunch_ptsz_params params = {exec, stream};
	struct kp_fake_call call = KP_FAKE_CALL(cuGraphLaunch_ptsz, &params);

	kp_fake_call_enter(&call);
	call.result = launch(exec, stream, true, call.correlation);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	return kp_fake_is(exec, KP_FAKE_EXEC) ? kp_fake_ready() : CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(exec, KP_FAKE_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	exec->tag = KP_FAKE_DEAD;
	kp_fake_count(KP_FAKE_execs_ended, 1);
	return CUDA_SUCCESS;
}
