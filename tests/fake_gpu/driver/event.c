/*
 * Events of the fake driver: an event is reached when all that its stream had before it has ended,
 * and times between events are the GPU's.
 */
#include "tests/fake_gpu/driver/gpu.h"

#include <stdatomic.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/order.h"

/* The event that was recorded last, and how often it was asked for once it was reached. */
static _Atomic(CUevent) newest;
static atomic_ullong asked;

KP_FAKE_EXPORT CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = kp_fake_alloc(sizeof(**out));
	(*out)->tag = KP_FAKE_EVENT;
	(*out)->context = context;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuEventRecord(CUevent event, CUstream handle)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);
	struct CUstream_st *stream;

	if (result != CUDA_SUCCESS)
		return result;
	stream = kp_fake_stream_resolve(context, handle, false);
	if (!kp_fake_is(event, KP_FAKE_EVENT) || !stream || event->context != context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	kp_fake_lock();
	event->time_ns = kp_fake_stream_start(stream);
	event->recorded = true;
	kp_fake_unlock();
	atomic_store(&newest, event);
	atomic_store(&asked, 0);
	kp_fake_order_record(event, stream);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);
	struct CUstream_st *stream;

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	stream = kp_fake_stream_resolve(context, handle, false);
	if (!kp_fake_is(event, KP_FAKE_EVENT) || !stream)
		return CUDA_ERROR_INVALID_HANDLE;
	kp_fake_lock();
	if (event->recorded && event->time_ns > stream->tail_ns)
		stream->tail_ns = event->time_ns;
	kp_fake_unlock();
	kp_fake_order_wait(stream, event);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuEventQuery(CUevent event)
{
	CUresult result = kp_fake_ready();

	if (result == CUDA_SUCCESS)
		result = kp_fake_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(event, KP_FAKE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->time_ns > kp_fake_now_ns())
		return CUDA_ERROR_NOT_READY;
	if (event == atomic_load(&newest) &&
	    atomic_fetch_add(&asked, 1) < kp_fake_faults()->query_late)
		return CUDA_ERROR_NOT_READY;
	kp_fake_order_event_reached(event);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuEventSynchronize(CUevent event)
{
	CUresult result = cuEventQuery(event);

	if (result != CUDA_ERROR_NOT_READY)
		return result;
	kp_fake_count(KP_FAKE_waits, 1);
	kp_fake_wait_until(event->time_ns);
	kp_fake_order_event_reached(event);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
	CUresult result = cuEventQuery(end);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(begin, KP_FAKE_EVENT) || !begin->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	*ms = (float)((double)(int64_t)(end->time_ns - begin->time_ns) / 1e6);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent begin, CUevent end)
{
	return cuEventElapsedTime(ms, begin, end);
}

KP_FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(event, KP_FAKE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	event->tag = KP_FAKE_DEAD;
	return CUDA_SUCCESS;
}
