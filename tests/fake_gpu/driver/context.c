/*
 * Contexts and streams of the fake driver: making, choosing, waiting, ending.
 *
 * Waiting moves the host past the work it waited for: what is issued next starts no earlier, on any
 * stream. Contexts are a stack per thread in the real driver; here cuCtxPushCurrent and
 * cuCtxPopCurrent keep a stack of the depth that programs use.
 */
#include "tests/fake_gpu/driver/call.h"

#include <string.h>

#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/driver/order.h"

#define STACK_DEPTH 16

static struct CUctx_st *primary[KP_FAKE_DEVICES];
static _Thread_local struct CUctx_st *stack[STACK_DEPTH];
static _Thread_local size_t stack_depth;

static CUresult create_context(CUcontext *out, CUdevice device)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (device < 0 || device >= KP_FAKE_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = kp_fake_context_create(device);
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *out, NULL, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
	cuCtxCreate_v2_params params = {out, flags, device};
	struct kp_fake_call call = KP_FAKE_CALL(cuCtxCreate_v2, &params);

	kp_fake_call_enter(&call);
	call.result = create_context(out, device);
	if (call.result == CUDA_SUCCESS)
		cuCtxPushCurrent_v2(*out);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice device)
{
	return cuCtxCreate_v2(out, flags, device);
}

KP_FAKE_EXPORT CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int count,
				       unsigned int flags, CUdevice device)
{
	(void)params;
	(void)count;
	return cuCtxCreate_v2(out, flags, device);
}

KP_FAKE_EXPORT CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
				       unsigned int flags, CUdevice device)
{
	(void)params;
	return cuCtxCreate_v2(out, flags, device);
}

KP_FAKE_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(context, KP_FAKE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack_depth < STACK_DEPTH)
		stack[stack_depth++] = kp_fake_current();
	kp_fake_set_current(context);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (out)
		*out = kp_fake_current();
	kp_fake_set_current(stack_depth ? stack[--stack_depth] : NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (context && !kp_fake_is(context, KP_FAKE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	kp_fake_set_current(context);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuCtxGetCurrent(CUcontext *out)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = kp_fake_current();
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result == CUDA_SUCCESS)
		*device = context->device;
	return result;
}

/* The host waits until `end_ns`, and what it issues later starts no earlier. */
static void wait_for(struct CUctx_st *context, uint64_t end_ns)
{
	kp_fake_lock();
	if (end_ns > context->floor_ns)
		context->floor_ns = end_ns;
	kp_fake_unlock();
	kp_fake_wait_until(end_ns);
}

static CUresult synchronize_context(void)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);
	uint64_t end_ns;

	if (result != CUDA_SUCCESS)
		return result;
	kp_fake_lock();
	end_ns = context->last_ns;
	kp_fake_unlock();
	kp_fake_count(KP_FAKE_waits, 1);
	wait_for(context, end_ns);
	kp_fake_order_context_reached(context);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuCtxSynchronize(void)
{
	struct kp_fake_call call = KP_FAKE_CALL(cuCtxSynchronize, NULL);

	kp_fake_call_enter(&call);
	call.result = synchronize_context();
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(context, KP_FAKE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL,
				  NULL);
	wait_for(context, context->last_ns);
	kp_fake_modules_end(context);
	context->tag = KP_FAKE_DEAD;
	if (kp_fake_current() == context)
		kp_fake_set_current(stack_depth ? stack[--stack_depth] : NULL);
	return CUDA_SUCCESS;
}

/* How often each primary context is retained; it lives as long as it is, or until a reset. */
static unsigned retained[KP_FAKE_DEVICES];

KP_FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || device < 0 || device >= KP_FAKE_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!kp_fake_is(primary[device], KP_FAKE_CONTEXT))
		result = create_context(&primary[device], device);
	retained[device] += result == CUDA_SUCCESS;
	*out = primary[device];
	return result;
}

KP_FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags,
						   int *active)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (device < 0 || device >= KP_FAKE_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags)
		*flags = 0;
	if (active)
		*active = kp_fake_is(primary[device], KP_FAKE_CONTEXT);
	return CUDA_SUCCESS;
}

/* Whoever uses the context is not asked. */
KP_FAKE_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	if (device < 0 || device >= KP_FAKE_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	retained[device] = 0;
	return kp_fake_is(primary[device], KP_FAKE_CONTEXT) ? cuCtxDestroy_v2(primary[device])
							    : kp_fake_ready();
}

/* The last of those that have retained it ends it. */
KP_FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (device < 0 || device >= KP_FAKE_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!retained[device])
		return CUDA_ERROR_INVALID_CONTEXT;
	return --retained[device] ? CUDA_SUCCESS : cuDevicePrimaryCtxReset_v2(device);
}

/* Never that of another, as the handle may be. */
KP_FAKE_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	context = context ? context : kp_fake_current();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kp_fake_is(context, KP_FAKE_CONTEXT))
		return context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
	*id = context->id;
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = kp_fake_stream_create(context, !(flags & CU_STREAM_NON_BLOCKING));
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, *out, NULL);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	(void)priority;
	return cuStreamCreate(out, flags);
}

/* The stream of a call that needs one and a current context. */
static CUresult find_stream(CUstream handle, bool per_thread, struct CUstream_st **out)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*out = kp_fake_stream_resolve(context, handle, per_thread);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult synchronize_stream(CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	kp_fake_count(KP_FAKE_waits, 1);
	wait_for(stream->context, stream->tail_ns);
	kp_fake_order_stream_reached(stream);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuStreamSynchronize(CUstream handle)
{
	cuStreamSynchronize_params params = {handle};
	struct kp_fake_call call = KP_FAKE_CALL(cuStreamSynchronize, &params);

	kp_fake_call_enter(&call);
	call.result = synchronize_stream(handle, false);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream handle)
{
	cuStreamSynchronize_ptsz_params params = {handle};
	struct kp_fake_call call = KP_FAKE_CALL(cuStreamSynchronize_ptsz, &params);

	kp_fake_call_enter(&call);
	call.result = synchronize_stream(handle, true);
	return kp_fake_call_exit(&call);
}

KP_FAKE_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, false, &stream);

	if (result == CUDA_SUCCESS)
		*out = stream->context;
	return result;
}

KP_FAKE_EXPORT CUresult cuStreamQuery(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, false, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (stream->tail_ns > kp_fake_now_ns())
		return CUDA_ERROR_NOT_READY;
	kp_fake_order_stream_reached(stream);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream handle)
{
	CUresult result = kp_fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!kp_fake_is(handle, KP_FAKE_STREAM))
		return CUDA_ERROR_INVALID_HANDLE;
	kp_fake_announce_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, handle->context,
				  handle, NULL);
	handle->tag = KP_FAKE_DEAD;
	return CUDA_SUCCESS;
}
