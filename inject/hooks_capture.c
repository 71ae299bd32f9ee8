/*
 * Stream captures: how many are open; see hooks.h. While one is, nothing may be switched.
 *
 * A capture ends with cuStreamEndCapture, whatever has become of it, or with its stream.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/hooks.h"
#include "inject/hooks_gates.h"

/* Streams whose capture the program began; one that finds no place here is only counted. */
#define STREAMS 128

static _Atomic(CUstream) capturing[STREAMS];

/* Puts a stream in the place of another; NULL: of none. False: that one is not there. */
static bool replace(CUstream from, CUstream to)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		CUstream there = from;

		if (atomic_load(&capturing[i]) == from &&
		    atomic_compare_exchange_strong(&capturing[i], &there, to))
			return true;
	}
	return false;
}

void kp_hooks_capture_forget(void)
{
	atomic_store(&kp_hooks_captures, 0);
	for (unsigned i = 0; i < STREAMS; i++)
		atomic_store(&capturing[i], NULL);
	kp_gate_forget(&kp_hooks_capture_gate);
}

/* Until it is known to be open, a capture counts as a call that opens one. */
static void open(void)
{
	kp_gate_enter(&kp_hooks_capture_gate);
}

static CUresult opened(CUstream stream, CUresult result)
{
	if (result == CUDA_SUCCESS) {
		atomic_fetch_add(&kp_hooks_captures, 1);
		replace(NULL, stream);
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
		replace(stream, NULL);
	}
	return result;
}

bool kp_hooks_capture_leaves(CUstream stream)
{
	return atomic_load(&kp_hooks_captures) > 0 && stream && replace(stream, NULL);
}

void kp_hooks_capture_left(CUstream stream, bool ended)
{
	if (ended)
		atomic_fetch_sub(&kp_hooks_captures, 1);
	else
		replace(NULL, stream);
}

typedef CUresult(CUDAAPI *begin_function)(CUstream);
#define BEGIN(name)                                                                                \
	static CUresult CUDAAPI hook_##name(CUstream stream)                                       \
	{                                                                                          \
		open();                                                                            \
		return opened(stream, KP_REAL(name, begin_function)(stream));                      \
	}                                                                                          \
	KP_WRAPPER(name)
BEGIN(cuStreamBeginCapture);
BEGIN(cuStreamBeginCapture_ptsz);

typedef CUresult(CUDAAPI *begin_v2_function)(CUstream, CUstreamCaptureMode);
#define BEGIN_V2(name)                                                                             \
	static CUresult CUDAAPI hook_##name(CUstream stream, CUstreamCaptureMode mode)             \
	{                                                                                          \
		open();                                                                            \
		return opened(stream, KP_REAL(name, begin_v2_function)(stream, mode));             \
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
		open();                                                                            \
		return opened(stream, KP_REAL(name, begin_to_graph_function)(stream, graph, after, \
									     edges, count, mode)); \
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
