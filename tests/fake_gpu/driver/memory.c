/*
 * Memory of the fake driver: device memory is host memory, so that programs compute what they
 * would; copies and sets take 500 ns and one more for every 10 bytes.
 *
 * Synchronous forms run on the default stream and wait for their end.
 */
#include "tests/fake_gpu/driver/call.h"

#include <string.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/driver/emulate.h"
#include "tests/fake_gpu/driver/order.h"

#define FIXED_NS 500
#define BYTES_PER_NS 10

struct copy {
	void *to;
	const void *from; /* NULL: a set to op.value */
	CUstream stream;
	bool per_thread;
	bool words;           /* of a set: 32 bits each */
	struct kp_fake_op op; /* what it does, without times */
};

/* By bytes, or by words of 32 bits. */
static void set(const struct copy *copy)
{
	uint32_t *words = copy->to;

	if (!copy->words) {
		memset(copy->to, (int)copy->op.value, copy->op.bytes);
		return;
	}
	for (size_t i = 0; i < copy->op.bytes / sizeof(*words); i++)
		words[i] = copy->op.value;
}

static CUresult run(struct copy *copy, uint32_t correlation)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);
	struct CUstream_st *stream;

	if (result != CUDA_SUCCESS)
		return result;
	if (!copy->to)
		return CUDA_ERROR_INVALID_VALUE;
	stream = kp_fake_stream_resolve(context, copy->stream, copy->per_thread);
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture && !copy->op.async)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!stream->capture) {
		kp_fake_order_op(stream);
		if (copy->from)
			kp_fake_order_access(stream, copy->from, false);
		kp_fake_order_access(stream, copy->to, true);
	}
	if (copy->from)
		memmove(copy->to, copy->from, copy->op.bytes);
	else
		set(copy);
	kp_fake_emulate_anew();
	copy->op.correlation = correlation;
	kp_fake_submit(stream, FIXED_NS + copy->op.bytes / BYTES_PER_NS, &copy->op);
	if (!copy->op.async) {
		kp_fake_wait_until(stream->tail_ns);
		kp_fake_order_stream_reached(stream);
	}
	return CUDA_SUCCESS;
}

static CUresult run_copy(struct kp_fake_call *call, struct copy *copy, uint32_t copy_kind)
{
	copy->op.kind = KP_FAKE_OP_MEMCPY;
	copy->op.copy_kind = copy_kind;
	kp_fake_call_enter(call);
	call->result = copy->from ? run(copy, call->correlation) : CUDA_ERROR_INVALID_VALUE;
	return kp_fake_call_exit(call);
}

/* One exported copy without a stream. */
#define COPY_SYNC(function, TO, FROM, copy_kind, thread)                                           \
	KP_FAKE_EXPORT CUresult function(TO to, FROM from, size_t bytes)                           \
	{                                                                                          \
		function##_params params = {to, from, bytes};                                      \
		struct kp_fake_call call = KP_FAKE_CALL(function, &params);                        \
		struct copy copy = {.to = (void *)to,                                              \
				    .from = (const void *)from,                                    \
				    .per_thread = (thread),                                        \
				    .op.bytes = bytes};                                            \
                                                                                                   \
		return run_copy(&call, &copy, copy_kind);                                          \
	}

/* One exported copy on a stream. */
#define COPY_ASYNC(function, TO, FROM, copy_kind, thread)                                          \
	KP_FAKE_EXPORT CUresult function(TO to, FROM from, size_t bytes, CUstream stream)          \
	{                                                                                          \
		function##_params params = {to, from, bytes, stream};                              \
		struct kp_fake_call call = KP_FAKE_CALL(function, &params);                        \
		struct copy copy = {.to = (void *)to,                                              \
				    .from = (const void *)from,                                    \
				    .stream = stream,                                              \
				    .per_thread = (thread),                                        \
				    .op.bytes = bytes,                                             \
				    .op.async = true};                                             \
                                                                                                   \
		return run_copy(&call, &copy, copy_kind);                                          \
	}

#define HTOD CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
#define DTOH CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
#define DTOD CUPTI_ACTIVITY_MEMCPY_KIND_DTOD

/* clang-format off */
COPY_SYNC(cuMemcpyHtoD_v2, CUdeviceptr, const void *, HTOD, false)
COPY_SYNC(cuMemcpyHtoD_v2_ptds, CUdeviceptr, const void *, HTOD, true)
COPY_SYNC(cuMemcpyDtoH_v2, void *, CUdeviceptr, DTOH, false)
COPY_SYNC(cuMemcpyDtoH_v2_ptds, void *, CUdeviceptr, DTOH, true)
COPY_SYNC(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, DTOD, false)
COPY_SYNC(cuMemcpyDtoD_v2_ptds, CUdeviceptr, CUdeviceptr, DTOD, true)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, HTOD, false)
COPY_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, const void *, HTOD, true)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, DTOH, false)
COPY_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, void *, CUdeviceptr, DTOH, true)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, DTOD, false)
COPY_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, CUdeviceptr, CUdeviceptr, DTOD, true)
/* clang-format on */

static CUresult run_set(struct kp_fake_call *call, struct copy *set)
{
	set->op.kind = KP_FAKE_OP_MEMSET;
	kp_fake_call_enter(call);
	call->result = run(set, call->correlation);
	return kp_fake_call_exit(call);
}

KP_FAKE_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes)
{
	cuMemsetD8_v2_params params = {to, value, bytes};
	struct kp_fake_call call = KP_FAKE_CALL(cuMemsetD8_v2, &params);
	struct copy set = {.to = (void *)to, .op.bytes = bytes, .op.value = value};

	return run_set(&call, &set);
}

KP_FAKE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
					CUstream stream)
{
	cuMemsetD8Async_params params = {to, value, bytes, stream};
	struct kp_fake_call call = KP_FAKE_CALL(cuMemsetD8Async, &params);
	struct copy set = {.to = (void *)to,
			   .stream = stream,
			   .op.bytes = bytes,
			   .op.value = value,
			   .op.async = true};

	return run_set(&call, &set);
}

KP_FAKE_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t words,
					 CUstream stream)
{
	cuMemsetD32Async_params params = {to, value, words, stream};
	struct kp_fake_call call = KP_FAKE_CALL(cuMemsetD32Async, &params);
	struct copy set = {.to = (void *)to,
			   .stream = stream,
			   .words = true,
			   .op.bytes = words * 4,
			   .op.value = value,
			   .op.async = true};

	return run_set(&call, &set);
}

KP_FAKE_EXPORT CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t bytes,
					     CUstream stream)
{
	cuMemsetD8Async_ptsz_params params = {to, value, bytes, stream};
	struct kp_fake_call call = KP_FAKE_CALL(cuMemsetD8Async_ptsz, &params);
	struct copy set = {.to = (void *)to,
			   .stream = stream,
			   .per_thread = true,
			   .op.bytes = bytes,
			   .op.value = value,
			   .op.async = true};

	return run_set(&call, &set);
}

KP_FAKE_EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!free_bytes || !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*free_bytes = (size_t)(kp_fake_faults()->free_mib ? kp_fake_faults()->free_mib : 256) << 20;
	*total_bytes = KP_FAKE_DEVICE_BYTES;
	return CUDA_SUCCESS;
}

/* All of the host's memory is as good as pinned here. */
KP_FAKE_EXPORT CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned int flags)
{
	CUresult result = kp_fake_ready();

	(void)flags;
	if (result == CUDA_SUCCESS)
		result = kp_fake_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	return at && bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
