/*
 * Stream captures: how many are open; see hooks.h. While one is, nothing may be switched.
 *
 * A capture ends with cuStreamEndCapture, whatever has become of it, or with its stream, or with
 * the context of that.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/hooks.h"
#include "inject/hooks_gates.h"

/* Streams whose capture the program began; one that finds no place here is only counted. */
#define STREAMS 128

static struct capture {
	_Atomic(CUstream) stream;
	_Atomic(CUcontext) context; /* NULL: it is not known */
	_Atomic bool leaving;       /* with the context, whose end is under way */
} captures[STREAMS];

/* What stands for a stream: each thread's own is one, whatever it is called. */
static CUstream name_of(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

static void note(CUstream stream, CUcontext context)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		CUstream none = NULL;

		if (atomic_load(&captures[i].stream) ||
		    !atomic_compare_exchange_strong(&captures[i].stream, &none, name_of(stream)))
			continue;
		atomic_store(&captures[i].context, context);
		return;
	}
}

static bool clear(struct capture *capture, CUstream stream)
{
	atomic_store(&capture->context, NULL);
	atomic_store(&capture->leaving, false);
	return atomic_compare_exchange_strong(&capture->stream, &stream, NULL);
}

/* False: that one is not there. */
static bool drop(CUstream stream)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (atomic_load(&captures[i].stream) == name_of(stream) &&
		    clear(&captures[i], name_of(stream)))
			return true;
	return false;
}

void kp_hooks_capture_forget(void)
{
	atomic_store(&kp_hooks_captures, 0);
	for (unsigned i = 0; i < STREAMS; i++)
		clear(&captures[i], atomic_load(&captures[i].stream));
	kp_gate_forget(&kp_hooks_capture_gate);
}

/* ---- with their contexts ---- */

/* Asked before a capture of it begins; NULL: it cannot be told. */
static CUcontext context_of(CUstream stream)
{
	CUcontext context = NULL;
	CUresult(CUDAAPI * ask)(CUstream, CUcontext *);

	*(void **)&ask = kp_hooks_driver_symbol("cuStreamGetCtx");
	return ask && ask(name_of(stream), &context) == CUDA_SUCCESS ? context : NULL;
}

/* Before: the handle of the context may be another's at once, and so may those of streams. */
void kp_hooks_captures_leave(CUcontext context)
{
	if (!context || atomic_load(&kp_hooks_captures) <= 0)
		return;
	for (unsigned i = 0; i < STREAMS; i++)
		if (atomic_load(&captures[i].stream) &&
		    atomic_load(&captures[i].context) == context)
			atomic_store(&captures[i].leaving, true);
}

void kp_hooks_captures_left(CUcontext context, bool ended)
{
	if (!context || atomic_load(&kp_hooks_captures) <= 0)
		return;
	for (unsigned i = 0; i < STREAMS; i++) {
		CUstream stream = atomic_load(&captures[i].stream);

		if (!stream || atomic_load(&captures[i].context) != context ||
		    !atomic_exchange(&captures[i].leaving, false))
			continue;
		if (ended && clear(&captures[i], stream))
			atomic_fetch_sub(&kp_hooks_captures, 1);
	}
}

/* ---- as they are opened and closed ---- */

/* Until it is known to be open, a capture counts as a call that opens one. */
static CUcontext open(CUstream stream)
{
	CUcontext context = context_of(stream);

	kp_gate_enter(&kp_hooks_capture_gate);
	return context;
}

static CUresult opened(CUstream stream, CUcontext context, CUresult result)
{
	if (result == CUDA_SUCCESS) {
		atomic_fetch_add(&kp_hooks_captures, 1);
		note(stream, context);
	}
	kp_gate_leave(&kp_hooks_capture_gate);
	return result;
}

/*
 * Whether a call to end a capture has done so. One that failed is closed by it, too, but not where
 * the call came from another thread than the one that began it, or for a stream that only joined.
 */
static bool has_ended(CUstream stream, bool per_thread, CUresult result)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult(CUDAAPI * ask)(CUstream, CUstreamCaptureStatus *);

	if (result == CUDA_SUCCESS)
		return true;
	if (result == CUDA_ERROR_ILLEGAL_STATE || result == CUDA_ERROR_INVALID_VALUE)
		return false; /* there was none */
	*(void **)&ask = kp_hooks_driver_symbol(per_thread ? "cuStreamIsCapturing_ptsz"
							   : "cuStreamIsCapturing");
	return !ask ||
	       (ask(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE);
}

static CUresult closed(CUstream stream, bool per_thread, CUresult result)
{
	if (atomic_load(&kp_hooks_captures) > 0 && has_ended(stream, per_thread, result)) {
		atomic_fetch_sub(&kp_hooks_captures, 1);
		drop(stream);
	}
	return result;
}

bool kp_hooks_capture_leaves(CUstream stream)
{
	return atomic_load(&kp_hooks_captures) > 0 && stream && drop(stream);
}

void kp_hooks_capture_left(CUstream stream, bool ended)
{
	if (ended)
		atomic_fetch_sub(&kp_hooks_captures, 1);
	else
		note(stream, NULL);
}

typedef CUresult(CUDAAPI *begin_function)(CUstream);
#define BEGIN(name)                                                                                \
	static CUresult CUDAAPI hook_##name(CUstream stream)                                       \
	{                                                                                          \
		CUcontext context = open(stream);                                                  \
                                                                                                   \
		return opened(stream, context, KP_REAL(name, begin_function)(stream));             \
	}                                                                                          \
	KP_WRAPPER(name)
BEGIN(cuStreamBeginCapture);
BEGIN(cuStreamBeginCapture_ptsz);

typedef CUresult(CUDAAPI *begin_v2_function)(CUstream, CUstreamCaptureMode);
#define BEGIN_V2(name)                                                                             \
	static CUresult CUDAAPI hook_##name(CUstream stream, CUstreamCaptureMode mode)             \
	{                                                                                          \
		CUcontext context = open(stream);                                                  \
                                                                                                   \
		return opened(stream, context, KP_REAL(name, begin_v2_function)(stream, mode));    \
	}                                                                                          \
	KP_WRAPPER(name)
BEGIN_V2(cuStreamBeginCapture_v2);
BEGIN_V2(cuStreamBeginCapture_v2_ptsz);

typedef CUresult(CUDAAPI *begin_to_graph_function)(CUstream, CUgraph, const CUgraphNode *,
						   const CUgraphEdgeData *, size_t,
						   CUstreamCaptureMode);
#define BEGIN_TO_GRAPH(name)                                                                       \
	static CUresult CUDAAPI hook_##name(                                                       \
		CUstream stream, CUgraph graph, const CUgraphNode *after,                          \
		const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)              \
	{                                                                                          \
		CUcontext context = open(stream);                                                  \
                                                                                                   \
		return opened(stream, context,                                                     \
			      KP_REAL(name, begin_to_graph_function)(stream, graph, after, edges,  \
								     count, mode));                \
	}                                                                                          \
	KP_WRAPPER(name)
BEGIN_TO_GRAPH(cuStreamBeginCaptureToGraph);
BEGIN_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz);

typedef CUresult(CUDAAPI *end_function)(CUstream, CUgraph *);
#define END(name, per_thread)                                                                      \
	static CUresult CUDAAPI hook_##name(CUstream stream, CUgraph *graph)                       \
	{                                                                                          \
		return closed(stream, per_thread, KP_REAL(name, end_function)(stream, graph));     \
	}                                                                                          \
	KP_WRAPPER(name)
END(cuStreamEndCapture, false);
END(cuStreamEndCapture_ptsz, true);
