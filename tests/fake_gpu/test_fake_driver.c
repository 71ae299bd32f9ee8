/*
 * The fake driver on its own: what captures forbid, what goes with a context, and handles that are
 * used again. Each body runs in a child; see client.h.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/fake_gpu/client.h"
#include "tests/fake_gpu/common/image.h"

static CUmodule load(const char *name, CUfunction *function)
{
	const struct kp_fake_kernel kernel = {.name = name, .duration_ns = 1000};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUmodule module;

	KP_EXPECT(cuModuleLoadData(&module, &image) == CUDA_SUCCESS);
	KP_EXPECT(cuModuleGetFunction(function, module, name) == CUDA_SUCCESS);
	return module;
}

/* What a thread beside a capture tries, in its mode; the result. */
struct attempt {
	CUstreamCaptureMode mode;
	CUstream stream; /* to be ended; NULL: memory is allocated */
	CUresult result;
};

static void *try_beside(void *argument)
{
	struct attempt *attempt = argument;
	CUdeviceptr memory;
	CUgraph graph;

	KP_EXPECT(cuCtxSetCurrent(kp_client.context) == CUDA_SUCCESS);
	KP_EXPECT(cuThreadExchangeStreamCaptureMode(&attempt->mode) == CUDA_SUCCESS);
	attempt->result = attempt->stream ? cuStreamEndCapture(attempt->stream, &graph)
					  : cuMemAlloc(&memory, 64);
	return NULL;
}

static CUresult beside(CUstreamCaptureMode mode, CUstream stream)
{
	struct attempt attempt = {mode, stream, CUDA_SUCCESS};
	pthread_t thread;

	KP_EXPECT(pthread_create(&thread, NULL, try_beside, &attempt) == 0);
	pthread_join(thread, NULL);
	return attempt.result;
}

static CUresult end(CUstream stream)
{
	CUgraph graph = NULL;
	CUresult result = cuStreamEndCapture(stream, &graph);

	KP_EXPECT((graph != NULL) == (result == CUDA_SUCCESS));
	return result;
}

static CUstream begin(CUstreamCaptureMode mode)
{
	CUstream stream = kp_client_stream();

	KP_EXPECT(cuStreamBeginCapture(stream, mode) == CUDA_SUCCESS);
	return stream;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
	CUstreamCaptureStatus status;

	KP_EXPECT(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
	return status;
}

static void captures_forbid_by_mode(void)
{
	static const struct {
		CUstreamCaptureMode captured, thread;
		CUresult result;
	} rows[] = {
		{CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL,
		 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
		{CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_SUCCESS},
		{CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS},
		{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS},
		{CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS},
	};

	kp_client_begin_cuda();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CUstream stream = begin(rows[i].captured);
		bool broken = rows[i].result != CUDA_SUCCESS;

		KP_EXPECT(beside(rows[i].thread, NULL) == rows[i].result);
		KP_EXPECT(status_of(stream) == (broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
						       : CU_STREAM_CAPTURE_STATUS_ACTIVE));
		KP_EXPECT(end(stream) ==
			  (broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS));
		KP_EXPECT(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
	}
}

static void captures_forbid_their_own_thread(void)
{
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr memory;
	CUstream stream;

	kp_client_begin_cuda();
	stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	KP_EXPECT(cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
	KP_EXPECT(end(stream) == CUDA_SUCCESS);
	stream = begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	KP_EXPECT(cuThreadExchangeStreamCaptureMode(&relaxed) == CUDA_SUCCESS);
	KP_EXPECT(cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
	KP_EXPECT(cuThreadExchangeStreamCaptureMode(&relaxed) == CUDA_SUCCESS);
	KP_EXPECT(cuMemAlloc(&memory, 64) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	KP_EXPECT(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void captures_end_where_they_began(void)
{
	CUstream stream;

	kp_client_begin_cuda();
	stream = begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	KP_EXPECT(beside(CU_STREAM_CAPTURE_MODE_GLOBAL, stream) ==
		  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	KP_EXPECT(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	KP_EXPECT(end(stream) == CUDA_SUCCESS);
	stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	KP_EXPECT(beside(CU_STREAM_CAPTURE_MODE_GLOBAL, stream) == CUDA_SUCCESS);
}

static void primary_contexts_live_as_long_as_they_are_retained(void)
{
	unsigned long long first, second;
	CUfunction function;
	CUcontext again;
	int active;

	kp_client_begin_cuda();
	load("one", &function);
	KP_EXPECT(cuCtxGetId(NULL, &first) == CUDA_SUCCESS);
	KP_EXPECT(cuDevicePrimaryCtxRetain(&again, 0) == CUDA_SUCCESS);
	KP_EXPECT(again == kp_client.context);
	KP_EXPECT(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
	KP_EXPECT(cuDevicePrimaryCtxGetState(0, NULL, &active) == CUDA_SUCCESS && active);
	KP_EXPECT(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
	KP_EXPECT(cuDevicePrimaryCtxGetState(0, NULL, &active) == CUDA_SUCCESS && !active);
	KP_EXPECT(cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
	KP_EXPECT(cuCtxGetId(kp_client.context, &second) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
	KP_EXPECT(cuDevicePrimaryCtxRetain(&again, 0) == CUDA_SUCCESS);
	KP_EXPECT(cuCtxSetCurrent(again) == CUDA_SUCCESS);
	KP_EXPECT(cuCtxGetId(NULL, &second) == CUDA_SUCCESS && second != first);
	KP_EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) ==
		  CUDA_ERROR_INVALID_HANDLE);
}

static void handles_are_used_again(void)
{
	CUfunction first, second;
	CUcontext again;

	kp_client_begin_cuda();
	KP_EXPECT(cuModuleUnload(load("one", &first)) == CUDA_SUCCESS);
	load("two", &second);
	KP_EXPECT(first == second);
	KP_EXPECT(cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
	KP_EXPECT(cuDevicePrimaryCtxRetain(&again, 0) == CUDA_SUCCESS);
	KP_EXPECT(again == kp_client.context);
	KP_EXPECT(cuCtxSetCurrent(again) == CUDA_SUCCESS);
	load("three", &second);
	KP_EXPECT(first == second);
}

static void handles_are_not_used_again(void)
{
	CUfunction first, second;

	kp_client_begin_cuda();
	KP_EXPECT(cuModuleUnload(load("one", &first)) == CUDA_SUCCESS);
	load("two", &second);
	KP_EXPECT(first != second);
}

static void buffers_hold_all_parameters(void)
{
	const struct kp_fake_kernel kernel = {
		.name = "one", .duration_ns = 1, .parameter_count = 2, .parameter_bytes = {4, 8}};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	unsigned char buffer[16] = {0};
	size_t bytes = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};
	void *one_by_one[] = {buffer, buffer + 8};
	CUfunction function;
	CUmodule module;

	kp_client_begin_cuda();
	KP_EXPECT(cuModuleLoadData(&module, &image) == CUDA_SUCCESS);
	KP_EXPECT(cuModuleGetFunction(&function, module, "one") == CUDA_SUCCESS);
	KP_EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) == CUDA_SUCCESS);
	KP_EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, one_by_one, extra) ==
		  CUDA_ERROR_INVALID_VALUE);
	bytes = 12; /* 4 of them between the two */
	KP_EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) ==
		  CUDA_ERROR_INVALID_VALUE);
}

#define BODIES(X)                                                                                  \
	X(captures_forbid_by_mode, NULL)                                                           \
	X(captures_forbid_their_own_thread, NULL)                                                  \
	X(captures_end_where_they_began, NULL)                                                     \
	X(primary_contexts_live_as_long_as_they_are_retained, NULL)                                \
	X(handles_are_used_again, "reuse")                                                         \
	X(handles_are_not_used_again, NULL)                                                        \
	X(buffers_hold_all_parameters, NULL)

#define TEST(body, faults)                                                                         \
	static void test_fake_##body(void **state)                                                 \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(kp_client_run(faults, body), 0);                                  \
	}
BODIES(TEST)

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROW(body, faults) cmocka_unit_test(test_fake_##body),
		BODIES(ROW)
#undef ROW
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
