/*
 * The fake driver and the fake CUPTI on their own: what they simulate, by the rules of the real
 * ones. Each body runs in a child; see client.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fake_gpu/client.h"
#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"

#define KERNELS CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
#define KERNEL_NS 1000U

static const struct kp_client_record *record(size_t number)
{
	KP_EXPECT(number < kp_client.count);
	return &kp_client.records[number];
}

static void launch_many(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		kp_client_launch(NULL);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void flush(void)
{
	KP_EXPECT(cuptiActivityFlushAll(0) == CUPTI_SUCCESS);
}

/* ---- what is simulated ---- */

static void every_launch_has_a_record(void)
{
	kp_client_begin();
	launch_many(500);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 500);
	for (size_t i = 0; i < 500; i++) {
		KP_EXPECT(strcmp(record(i)->name, "test_kernel") == 0);
		KP_EXPECT(record(i)->end_ns - record(i)->start_ns == KERNEL_NS);
		KP_EXPECT(i == 0 || record(i)->start_ns == record(i - 1)->end_ns);
		KP_EXPECT(i == 0 || record(i)->correlation > record(i - 1)->correlation);
	}
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_issued) == 500);
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_delivered) == 500);
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffer_violations) == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffers_completed) > 1);
	KP_EXPECT(kp_client.buffers_given == kp_client.buffers_returned);
}

static void streams_overlap(void)
{
	CUstream a, b;

	kp_client_begin();
	a = kp_client_stream();
	b = kp_client_stream();
	kp_client_launch(a);
	kp_client_launch(b);
	KP_EXPECT(cuStreamSynchronize(a) == CUDA_SUCCESS);
	kp_client_launch(b);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	flush();
	KP_EXPECT(record(0)->start_ns == record(1)->start_ns);
	KP_EXPECT(record(0)->stream != record(1)->stream);
	KP_EXPECT(record(2)->start_ns == record(0)->end_ns);
}

/* The default stream waits for blocking streams, and they for it. */
static void default_stream_is_ordered(void)
{
	CUstream blocking;

	kp_client_begin();
	KP_EXPECT(cuStreamCreate(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
	kp_client_launch(blocking);
	kp_client_launch(NULL);
	kp_client_launch(blocking);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	flush();
	KP_EXPECT(record(1)->start_ns == record(0)->end_ns);
	KP_EXPECT(record(2)->start_ns == record(1)->end_ns);
}

static void graph_nodes_share_the_correlation_id(void)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;

	kp_client_begin();
	stream = kp_client_stream();
	KP_EXPECT(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
	for (int i = 0; i < 24; i++)
		kp_client_launch(stream);
	KP_EXPECT(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_issued) == 0);
	KP_EXPECT(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
	for (int i = 0; i < 2; i++)
		KP_EXPECT(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
	KP_EXPECT(cuStreamSynchronize(stream) == CUDA_SUCCESS);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 48);
	for (size_t i = 0; i < 24; i++) {
		KP_EXPECT(record(i)->correlation == record(0)->correlation);
		KP_EXPECT(record(24 + i)->correlation != record(0)->correlation);
		KP_EXPECT(record(i)->graph_node && record(i)->graph);
		KP_EXPECT(record(i)->graph_node == record(24 + i)->graph_node);
		KP_EXPECT(i == 0 || record(i)->graph_node != record(i - 1)->graph_node);
		KP_EXPECT(i == 0 || record(i)->start_ns == record(i - 1)->end_ns);
	}
}

static void copies_and_sets_are_recorded(void)
{
	char host[1000] = "sent";
	CUdeviceptr memory;

	kp_client_begin();
	KP_EXPECT(cuMemAlloc(&memory, sizeof(host)) == CUDA_SUCCESS);
	KP_EXPECT(cuMemcpyHtoD(memory, host, sizeof(host)) == CUDA_SUCCESS);
	memset(host, 0, sizeof(host));
	KP_EXPECT(cuMemcpyDtoH(host, memory, sizeof(host)) == CUDA_SUCCESS);
	KP_EXPECT(strcmp(host, "sent") == 0);
	KP_EXPECT(cuMemsetD8Async(memory, 1, 500, NULL) == CUDA_SUCCESS);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	flush();
	KP_EXPECT(record(0)->kind == CUPTI_ACTIVITY_KIND_MEMCPY);
	KP_EXPECT(record(0)->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	KP_EXPECT(record(0)->bytes == 1000 && record(0)->end_ns - record(0)->start_ns == 600);
	KP_EXPECT(record(1)->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	KP_EXPECT(record(2)->kind == CUPTI_ACTIVITY_KIND_MEMSET && record(2)->bytes == 500);
	KP_EXPECT(kp_fake_counted(KP_FAKE_memops_delivered) == 3);
}

/* ---- flushes and buffers ---- */

static void forced_flush_ends_what_runs(void)
{
	kp_client_begin();
	launch_many(3);
	kp_client_launch(NULL);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 0);
	KP_EXPECT(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
	KP_EXPECT(kp_client_count(KERNELS) == 4);
	KP_EXPECT(record(2)->end_ns == 0);
	KP_EXPECT(record(3)->end_ns == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_unfinished) == 4);
	usleep(1600000);
	KP_EXPECT(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
	KP_EXPECT(kp_client_count(KERNELS) == 4);
}

static void full_buffers_come_by_themselves(void)
{
	kp_client_begin();
	launch_many(400);
	for (int i = 0; i < 6000 && kp_client_count(KERNELS) < 300; i++)
		usleep(10000);
	KP_EXPECT(kp_client_count(KERNELS) >= 300);
	KP_EXPECT(kp_client_count(KERNELS) < 400); /* the last buffer is not full */
	KP_EXPECT(kp_fake_counted(KP_FAKE_flushes) == 0);
}

static void held_buffers_come_when_forced(void)
{
	kp_client_begin();
	launch_many(400);
	flush();
	usleep(100000);
	KP_EXPECT(kp_client_count(KERNELS) == 0);
	KP_EXPECT(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
	KP_EXPECT(kp_client_count(KERNELS) == 400);
}

static void no_buffer_is_a_dropped_record(void)
{
	size_t dropped = 0;

	kp_client_begin();
	kp_client.give_none = true;
	launch_many(5);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 0);
	KP_EXPECT(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS);
	KP_EXPECT(dropped == 5);
	KP_EXPECT(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS);
	KP_EXPECT(dropped == 0);
}

static void a_written_buffer_is_found_out(void)
{
	kp_client_begin();
	launch_many(1);
	kp_client.last_buffer[KP_CLIENT_BUFFER_BYTES - 1] ^= 1;
	flush();
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffer_violations) == 1);
}

static void a_buffer_given_twice_is_found_out(void)
{
	static _Alignas(64) uint8_t memory[KP_CLIENT_BUFFER_BYTES];

	kp_client_begin();
	kp_client.give_again = memory;
	launch_many(200);
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffer_violations) > 0);
}

static void a_dirty_buffer_is_found_out(void)
{
	static _Alignas(64) uint8_t memory[KP_CLIENT_BUFFER_BYTES];
	uint8_t zeroed = 1;
	size_t size = sizeof(zeroed);

	kp_client_begin();
	KP_EXPECT(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
					    &zeroed) == CUPTI_SUCCESS);
	kp_client.give_again = memory;
	launch_many(1);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 1);
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffer_violations) == 0);
	KP_EXPECT(memory[KP_CLIENT_BUFFER_BYTES - 1] == 0);
	launch_many(1); /* the first record still lies in the memory */
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffer_violations) == 1);
}

/* ---- faults ---- */

static void drops_are_counted(void)
{
	size_t dropped = 0;

	kp_client_begin();
	launch_many(100);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 90);
	KP_EXPECT(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS);
	KP_EXPECT(dropped == 10);
}

static void drops_can_be_unreadable(void)
{
	size_t dropped = 77;

	kp_client_begin();
	launch_many(20);
	KP_EXPECT(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) != CUPTI_SUCCESS);
	KP_EXPECT(dropped == 77);
	KP_EXPECT(cuptiGetLastError() == CUPTI_ERROR_NOT_INITIALIZED);
	KP_EXPECT(cuptiGetLastError() == CUPTI_SUCCESS);
}

static void every_fifth_is_untimed(void)
{
	kp_client_begin();
	launch_many(20);
	flush();
	for (size_t i = 0; i < 20; i++)
		KP_EXPECT((record(i)->start_ns == 0 && record(i)->end_ns == 0) == (i % 5 == 4));
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_untimed) == 4);
}

static void absurd_times_come_in_three_kinds(void)
{
	kp_client_begin();
	launch_many(6);
	flush();
	KP_EXPECT(record(1)->start_ns == 0x8000000000000000U);
	KP_EXPECT(record(3)->start_ns == UINT64_MAX && record(3)->end_ns == UINT64_MAX);
	KP_EXPECT(record(5)->end_ns == record(5)->start_ns - 1);
	KP_EXPECT(record(4)->end_ns - record(4)->start_ns == KERNEL_NS);
}

static void unknown_kinds_can_be_walked(void)
{
	kp_client_begin();
	launch_many(30);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 30);
	KP_EXPECT(kp_client.count == 33);
	KP_EXPECT(kp_fake_counted(KP_FAKE_unknown_delivered) == 3);
}

static void the_clock_steps_back(void)
{
	kp_client_begin();
	launch_many(6);
	flush();
	KP_EXPECT(record(2)->end_ns == record(3)->start_ns + 2000000000U);
	KP_EXPECT(record(4)->end_ns == record(5)->start_ns);
}

static void late_records_come_late(void)
{
	kp_client_begin();
	launch_many(5);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 0);
	usleep(1100000);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 5);
	KP_EXPECT(record(4)->end_ns - record(4)->start_ns == KERNEL_NS);
}

static void gaps_are_exact(void)
{
	kp_client_begin();
	launch_many(3);
	flush();
	KP_EXPECT(record(1)->start_ns == record(0)->end_ns + 250);
}

static void idle_time_passes(void)
{
	kp_client_begin();
	launch_many(1);
	usleep(2000);
	launch_many(1);
	flush();
	KP_EXPECT(record(1)->start_ns >= record(0)->end_ns + 2000000 - KERNEL_NS);
}

static void calls_have_records(void)
{
	kp_client_begin();
	KP_EXPECT(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiActivityPushExternalCorrelationId(2, 77) == CUPTI_SUCCESS);
	kp_client_launch(NULL);
	launch_many(1);
	flush();
	KP_EXPECT(record(0)->kind == KERNELS && record(2)->kind == CUPTI_ACTIVITY_KIND_DRIVER);
	KP_EXPECT(record(1)->external == 77 && record(1)->correlation == record(0)->correlation);
	KP_EXPECT(record(2)->start_ns > 0 && record(2)->correlation == record(0)->correlation);
}

static void launches_can_fail(void)
{
	int failed = 0;

	kp_client_begin();
	for (int i = 0; i < 9; i++)
		failed += cuLaunchKernel(kp_client.function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
					 NULL) == CUDA_ERROR_LAUNCH_FAILED;
	KP_EXPECT(failed == 3);
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_issued) == 6);
}

static void api_errors_are_scripted(void)
{
	CUpti_SubscriberHandle subscriber;
	uint32_t version;

	KP_EXPECT(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)abort, NULL) == 39);
	KP_EXPECT(cuptiActivityRegisterCallbacks((CUpti_BuffersCallbackRequestFunc)abort,
						 (CUpti_BuffersCallbackCompleteFunc)abort) == 39);
	KP_EXPECT(cuptiActivityEnable(KERNELS) == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	KP_EXPECT(cuptiGetVersion(&version) == CUPTI_SUCCESS && version == 12);
	KP_EXPECT(cuInit(0) == CUDA_ERROR_NO_DEVICE);
}

static void no_records_on_an_unsupported_device(void)
{
	int supported = 1;

	kp_client_begin();
	launch_many(5);
	KP_EXPECT(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
	KP_EXPECT(kp_client.count == 0);
	KP_EXPECT(cuptiDeviceSupported(0, &supported) == CUPTI_SUCCESS && !supported);
}

static void hanging_flush(void)
{
	kp_client_begin();
	launch_many(1);
	flush(); /* the first returns */
	alarm(1);
	flush(); /* the second never does: the alarm ends this child */
}

/* ---- versions ---- */

static void check_all_fields(void)
{
	kp_client_begin();
	launch_many(50);
	KP_EXPECT(cuMemsetD8Async((CUdeviceptr)malloc(8), 0, 8, NULL) == CUDA_SUCCESS);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 50);
	KP_EXPECT(kp_client_count(CUPTI_ACTIVITY_KIND_MEMSET) == 1);
	for (size_t i = 0; i < 50; i++) {
		KP_EXPECT(strcmp(record(i)->name, "test_kernel") == 0);
		KP_EXPECT(record(i)->end_ns - record(i)->start_ns == KERNEL_NS);
	}
}

/* ---- callbacks, processes, look-ups ---- */

static uint32_t seen_entries, seen_correlation;

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	const CUpti_CallbackData *call = data;

	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		abort();
	if (call->callbackSite != CUPTI_API_ENTER)
		return;
	seen_entries += *(const uint32_t *)user;
	seen_correlation = call->correlationId;
	KP_EXPECT(((const cuLaunchKernel_params *)call->functionParams)->gridDimX == 3);
	KP_EXPECT(strcmp(call->symbolName, "test_kernel") == 0);
}

static void callbacks_see_launches(void)
{
	static uint32_t one = 1;
	CUpti_SubscriberHandle subscriber, second;

	KP_EXPECT(cuptiSubscribe(&subscriber, on_call, &one) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiSubscribe(&second, on_call, &one) ==
		  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	KP_EXPECT(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) == CUPTI_SUCCESS);
	kp_client_begin();
	launch_many(3);
	flush();
	KP_EXPECT(seen_entries == 3);
	KP_EXPECT(seen_correlation == record(2)->correlation);
	KP_EXPECT(cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS);
	launch_many(1);
	KP_EXPECT(seen_entries == 3);
	KP_EXPECT(cuptiSubscribe(&second, on_call, &one) == CUPTI_SUCCESS);
}

static void a_forked_child_has_no_gpu(void)
{
	int status;
	pid_t child;

	kp_client_begin();
	child = fork();
	if (child == 0) {
		KP_EXPECT(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED);
		KP_EXPECT(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
		KP_EXPECT(cuptiActivityFlushAll(0) == CUPTI_ERROR_NOT_INITIALIZED);
		_exit(0);
	}
	KP_EXPECT(waitpid(child, &status, 0) == child && status == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_calls_after_fork) == 1);
}

static void injection_is_called_once(void)
{
	const char *seen;

	setenv("CUDA_INJECTION64_PATH", KP_TEST_INJECTION, 1);
	KP_EXPECT(cuInit(0) == CUDA_SUCCESS);
	KP_EXPECT(cuInit(0) == CUDA_SUCCESS);
	KP_EXPECT(kp_fake_counted(KP_FAKE_inits) == 2);
	KP_EXPECT(kp_fake_counted(KP_FAKE_injections) == 1);
	seen = getenv("KP_TEST_INJECTED");
	KP_EXPECT(seen && strcmp(seen, "1 of 2") == 0);
}

static void look_ups_follow_version_and_flag(void)
{
	void *old = NULL, *new = NULL, *thread = NULL;
	CUdriverProcAddressQueryResult status;

	KP_EXPECT(cuGetProcAddress("cuCtxCreate", &old, 12000, 0, NULL) == CUDA_SUCCESS);
	KP_EXPECT(cuGetProcAddress("cuCtxCreate", &new, 13000, 0, NULL) == CUDA_SUCCESS);
	KP_EXPECT(new == (void *)cuCtxCreate_v4 &&old != new &&old);
	KP_EXPECT(cuGetProcAddress("cuLaunchKernel", &thread, 12000,
				   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
				   NULL) == CUDA_SUCCESS);
	KP_EXPECT(thread && thread != (void *)cuLaunchKernel);
	KP_EXPECT(cuGetProcAddress("cuLaunchKernelEx", &new, 11000, 0, &status) == CUDA_SUCCESS);
	KP_EXPECT(!new &&status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	KP_EXPECT(cuGetProcAddress("", &new, 12000, 0, NULL) == CUDA_ERROR_NOT_FOUND);
	KP_EXPECT(cuGetProcAddress("cuInit", &new, 99999, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
}

static void bad_handles_are_errors(void)
{
	CUmodule module;
	int nothing = 0;

	KP_EXPECT(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
	KP_EXPECT(cuInit(0) == CUDA_SUCCESS);
	KP_EXPECT(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
	kp_client_begin_cuda();
	KP_EXPECT(cuLaunchKernel((CUfunction)(void *)&nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
				 NULL) == CUDA_ERROR_INVALID_HANDLE);
	KP_EXPECT(cuLaunchKernel(kp_client.function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) ==
		  CUDA_ERROR_INVALID_VALUE);
	KP_EXPECT(cuModuleLoadData(&module, "no image, but long enough") ==
		  CUDA_ERROR_INVALID_IMAGE);
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_issued) == 0);
}

static void test_fake_faults_parse(void **state)
{
	struct kp_fake_faults faults;
	const char *bad = NULL;

	(void)state;
	assert_true(kp_fake_faults_parse("drop=7,hang_flush,untimed", &faults, &bad));
	assert_int_equal(faults.drop, 7);
	assert_int_equal(faults.hang_flush, 1);
	assert_int_equal(faults.untimed, 5);
	assert_int_equal(faults.absurd, 0);
	assert_true(kp_fake_faults_parse(NULL, &faults, &bad));
	assert_false(kp_fake_faults_parse("drop,dropp", &faults, &bad));
	assert_string_equal(bad, "dropp");
	assert_false(kp_fake_faults_parse("drop=", &faults, &bad));
	assert_false(kp_fake_faults_parse("drop=-1", &faults, &bad));
	assert_false(kp_fake_faults_parse("drop=1x", &faults, &bad));
}

/* X(test, KP_FAKE, exit status): each body in a child of its own. */
#define BODIES(X)                                                                                  \
	X(every_launch_has_a_record, NULL, 0)                                                      \
	X(streams_overlap, NULL, 0)                                                                \
	X(default_stream_is_ordered, NULL, 0)                                                      \
	X(graph_nodes_share_the_correlation_id, NULL, 0)                                           \
	X(copies_and_sets_are_recorded, NULL, 0)                                                   \
	X(forced_flush_ends_what_runs, "late=1500", 0)                                             \
	X(full_buffers_come_by_themselves, NULL, 0)                                                \
	X(held_buffers_come_when_forced, "hold_buffers", 0)                                        \
	X(no_buffer_is_a_dropped_record, NULL, 0)                                                  \
	X(a_written_buffer_is_found_out, NULL, 0)                                                  \
	X(a_buffer_given_twice_is_found_out, "hold_buffers", 0)                                    \
	X(a_dirty_buffer_is_found_out, NULL, 0)                                                    \
	X(drops_are_counted, "drop=10", 0)                                                         \
	X(drops_can_be_unreadable, "drop=10,drop_unreadable", 0)                                   \
	X(every_fifth_is_untimed, "untimed=5", 0)                                                  \
	X(absurd_times_come_in_three_kinds, "absurd=2", 0)                                         \
	X(unknown_kinds_can_be_walked, "unknown_kind=10", 0)                                       \
	X(the_clock_steps_back, "clock_step=4", 0)                                                 \
	X(late_records_come_late, "late=1000", 0)                                                  \
	X(gaps_are_exact, "gap=250", 0)                                                            \
	X(idle_time_passes, "wall", 0)                                                             \
	X(calls_have_records, NULL, 0)                                                             \
	X(launches_can_fail, "launch_fail=3", 0)                                                   \
	X(api_errors_are_scripted, "subscribe,registration,enable,version=12,init_fail", 0)        \
	X(no_records_on_an_unsupported_device, "no_records", 0)                                    \
	X(hanging_flush, "hang_flush=2", 128 + 14)                                                 \
	X(callbacks_see_launches, NULL, 0)                                                         \
	X(a_forked_child_has_no_gpu, NULL, 0)                                                      \
	X(injection_is_called_once, NULL, 0)                                                       \
	X(look_ups_follow_version_and_flag, NULL, 0)                                               \
	X(bad_handles_are_errors, NULL, 0)

#define TEST(body, faults, status)                                                                 \
	static void test_fake_##body(void **state)                                                 \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(kp_client_run(faults, body), (status));                           \
	}
BODIES(TEST)

static void test_fake_every_version_can_be_walked(void **state)
{
	static const char *const versions[] = {"version=18", "version=19", "version=26",
					       "version=130001", "version=130200"};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		assert_int_equal(kp_client_run(versions[i], check_all_fields), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROW(body, faults, status) cmocka_unit_test(test_fake_##body),
		BODIES(ROW)
#undef ROW
			cmocka_unit_test(test_fake_every_version_can_be_walked),
		cmocka_unit_test(test_fake_faults_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
