/*
 * Stream capture, and the one way by which an operation reaches a stream: it is scheduled and
 * announced, or becomes a node of the graph that the stream is captured into.
 */
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/call.h"

#include "tests/fake_gpu/driver/graph.h"

/* Which calls a capture forbids this thread; its address tells the thread from others. */
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void kp_fake_submit(struct CUstream_st *stream, uint64_t duration_ns, struct kp_fake_op *op)
{
	struct CUgraphNode_st *node = NULL;

	kp_fake_lock();
	if (stream->capture) {
		op->correlation = 0;
		node = kp_fake_graph_add(stream->capture, &stream->capture_tail,
					 stream->capture_tail ? 1 : 0, op, duration_ns);
		stream->capture_tail = node;
	} else {
		kp_fake_place(stream, kp_fake_stream_start(stream), duration_ns, op);
	}
	kp_fake_unlock();
	if (node)
		kp_fake_graph_announce(node, NULL);
	else
		kp_fake_announce_op(op);
	kp_fake_wait_for_room(op->start_ns);
}

/* The stream of a call about capture. */
static CUresult find_stream(CUstream handle, bool per_thread, struct CUstream_st **out)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*out = kp_fake_stream_resolve(context, handle, per_thread);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult begin(CUstream handle, bool per_thread, CUstreamCaptureMode mode)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, per_thread, &stream);
	CUpti_GraphData data = {0};

	if (result != CUDA_SUCCESS)
		return result;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream == stream->context->default_stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	kp_fake_lock();
	stream->capture = kp_fake_graph_create();
	stream->capture_tail = NULL;
	stream->capture_mode = mode;
	stream->capture_thread = &thread_mode;
	stream->capture_broken = false;
	kp_fake_unlock();
	data.graph = stream->capture;
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, stream->context, NULL, &data);
	return CUDA_SUCCESS;
}

static CUresult end(CUstream handle, bool per_thread, CUgraph *out)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
	    stream->capture_thread != &thread_mode)
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	kp_fake_lock();
	*out = stream->capture_broken ? NULL : stream->capture;
	stream->capture = NULL;
	kp_fake_unlock();
	if (stream->capture_broken)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	kp_fake_count(KP_FAKE_graphs_made, 1);
	return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(const struct CUstream_st *stream)
{
	if (!stream->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture_broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult query(CUstream handle, bool per_thread, CUstreamCaptureStatus *status)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = status_of(stream);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	cuStreamBeginCapture_v2_params params = {stream, mode};
	struct kp_fake_call call = KP_FAKE_CALL(cuStreamBeginCapture_v2, &params);

	kp_fake_call_enter(&call);
	call.result = begin(stream, false, mode);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
	cuStreamBeginCapture_v2_ptsz_params params = {stream, mode};
	struct kp_fake_call call = KP_FAKE_CALL(cuStreamBeginCapture_v2_ptsz, &params);

	kp_fake_call_enter(&call);
	call.result = begin(stream, true, mode);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	cuStreamEndCapture_params params = {stream, graph};
	struct kp_fake_call call = KP_FAKE_CALL(cuStreamEndCapture, &params);

	kp_fake_call_enter(&call);
	call.result = end(stream, false, graph);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
	cuStreamEndCapture_ptsz_params params = {stream, graph};
	struct kp_fake_call call = KP_FAKE_CALL(cuStreamEndCapture_ptsz, &params);

	kp_fake_call_enter(&call);
	call.result = end(stream, true, graph);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	return query(stream, false, status);
}

KP_FAKE_EXPORT CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus *status)
{
	return query(stream, true, status);
}

/* What the next operation would depend on; edges have no data here. */
static CUresult tell(CUstream handle, bool per_thread, CUstreamCaptureStatus *status,
		     cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = status_of(stream);
	if (!stream->capture)
		return CUDA_SUCCESS;
	if (id)
		*id = stream->capture->id;
	if (graph)
		*graph = stream->capture;
	if (nodes)
		*nodes = &stream->capture_tail;
	if (count)
		*count = stream->capture_tail ? 1 : 0;
	return CUDA_SUCCESS;
}

#define GET_CAPTURE_INFO(suffix, per_thread)                                                       \
	KP_FAKE_EXPORT CUresult cuStreamGetCaptureInfo_v2##suffix(                                 \
		CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,    \
		const CUgraphNode **nodes, size_t *count)                                          \
	{                                                                                          \
		return tell(stream, per_thread, status, id, graph, nodes, count);                  \
	}                                                                                          \
	KP_FAKE_EXPORT CUresult cuStreamGetCaptureInfo_v3##suffix(                                 \
		CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,    \
		const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count)           \
	{                                                                                          \
		if (edges)                                                                         \
			*edges = NULL;                                                             \
		return tell(stream, per_thread, status, id, graph, nodes, count);                  \
	}
GET_CAPTURE_INFO(, false)
GET_CAPTURE_INFO(_ptsz, true)

KP_FAKE_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = thread_mode;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

/* Whether a capture forbids this thread what is potentially unsafe, by its own mode. */
static bool forbids(const struct CUstream_st *stream)
{
	bool own = stream->capture_thread == &thread_mode;

	if (stream->tag != KP_FAKE_STREAM || !stream->capture ||
	    thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (own)
		return stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       stream->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult kp_fake_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;

	kp_fake_lock();
	for (struct CUctx_st *context = kp_fake_contexts(); context; context = context->next)
		for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
			if (forbids(stream)) {
				stream->capture_broken = true;
				result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
			}
	kp_fake_unlock();
	return result;
}
