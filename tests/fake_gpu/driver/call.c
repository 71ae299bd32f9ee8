/*
 * The listener of the fake driver, and the struct by which libcupti finds it; see call.h, link.h.
 */
#include "tests/fake_gpu/driver/call.h"

#include <stdatomic.h>

#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/graph.h"

static _Atomic(const struct kp_fake_listener *) listener;
static _Atomic uint32_t last_correlation;

void kp_fake_call_enter(struct kp_fake_call *call)
{
	const struct kp_fake_listener *to = atomic_load(&listener);

	call->correlation = atomic_fetch_add(&last_correlation, 1) + 1;
	call->context = kp_fake_current();
	if (to)
		to->call(call, false);
}

CUresult kp_fake_call_exit(struct kp_fake_call *call)
{
	const struct kp_fake_listener *to = atomic_load(&listener);

	call->context = kp_fake_current();
	if (to)
		to->call(call, true);
	return call->result;
}

void kp_fake_announce_op(const struct kp_fake_op *op)
{
	const struct kp_fake_listener *to = atomic_load(&listener);

	kp_fake_count(
		op->kind == KP_FAKE_OP_KERNEL ? KP_FAKE_kernels_issued : KP_FAKE_memops_issued, 1);
	if (to)
		to->op(op);
}

void kp_fake_announce_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor)
{
	const struct kp_fake_listener *to = atomic_load(&listener);

	if (to)
		to->resource(cbid, context, stream, descriptor);
}

static void listen(const struct kp_fake_listener *to)
{
	atomic_store(&listener, to);
}

static uint32_t context_id(CUcontext context)
{
	return kp_fake_is(context, KP_FAKE_CONTEXT) ? context->id : 0;
}

static uint32_t context_device(CUcontext context)
{
	return kp_fake_is(context, KP_FAKE_CONTEXT) ? (uint32_t)context->device : 0;
}

static uint32_t stream_id(CUcontext context, CUstream handle)
{
	struct CUstream_st *stream;

	if (!kp_fake_is(context, KP_FAKE_CONTEXT))
		return 0;
	stream = kp_fake_stream_resolve(context, handle, false);
	return stream ? stream->id : 0;
}

static uint64_t node_id(CUgraphNode node)
{
	return kp_fake_is(node, KP_FAKE_NODE) ? node->id : 0;
}

static uint32_t graph_id(CUgraph graph)
{
	return kp_fake_is(graph, KP_FAKE_GRAPH) ? graph->id : 0;
}

static uint32_t exec_id(CUgraphExec exec)
{
	return kp_fake_is(exec, KP_FAKE_EXEC) ? exec->graph->id : 0;
}

KP_FAKE_EXPORT extern const struct kp_fake_gpu kp_fake_gpu_v1;
const struct kp_fake_gpu kp_fake_gpu_v1 = {
	.listen = listen,
	.now_ns = kp_fake_now_ns,
	.fail = kp_fake_fail,
	.take_lock = kp_fake_take_launch_lock,
	.context_id = context_id,
	.context_device = context_device,
	.stream_id = stream_id,
	.node_id = node_id,
	.graph_id = graph_id,
	.exec_id = exec_id,
};
