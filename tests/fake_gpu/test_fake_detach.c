/*
 * Detaching the fake CUPTI, and the fake GPU by the wall clock: what windows of recording rest on.
 * Each body runs in a child; see client.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fake_gpu/client.h"
#include "tests/fake_gpu/common/ledger.h"

#define KERNELS CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL

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

/* Finalizes at the first exit of a call that it sees. */
static void CUPTIAPI finalize_at_exit(void *result, CUpti_CallbackDomain domain,
				      CUpti_CallbackId id, const CUpti_CallbackData *call)
{
	(void)domain;
	(void)id;
	if (call->callbackSite == CUPTI_API_EXIT)
		*(CUptiResult *)result = cuptiFinalize();
}

static CUptiResult finalize_in_a_launch(void)
{
	CUpti_SubscriberHandle subscriber;
	CUptiResult result = CUPTI_ERROR_UNKNOWN;

	KP_EXPECT(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)finalize_at_exit, &result) ==
		  CUPTI_SUCCESS);
	KP_EXPECT(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) == CUPTI_SUCCESS);
	kp_client_launch(NULL);
	if (result != CUPTI_SUCCESS)
		KP_EXPECT(cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS);
	return result;
}

/* Nothing is recorded, no one is subscribed, and all comes back when it is asked for. */
static void finalizing_detaches(void)
{
	CUpti_SubscriberHandle subscriber;

	kp_client_begin();
	launch_many(5);
	flush();
	KP_EXPECT(finalize_in_a_launch() == CUPTI_SUCCESS);
	KP_EXPECT(kp_client_count(KERNELS) == 6); /* it gives back what it holds */
	KP_EXPECT(kp_client.buffers_given == kp_client.buffers_returned);
	launch_many(7);
	KP_EXPECT(kp_fake_counted(KP_FAKE_calls_detached) == 0);
	KP_EXPECT(cuptiActivityFlushAll(0) == CUPTI_ERROR_INVALID_OPERATION);
	KP_EXPECT(kp_fake_counted(KP_FAKE_calls_detached) == 1);
	KP_EXPECT(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)abort, NULL) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS);
	kp_client_begin();
	launch_many(3);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 9);
	KP_EXPECT(kp_fake_counted(KP_FAKE_finalizes) == 1);
	KP_EXPECT(kp_fake_counted(KP_FAKE_unsafe_finalizes) == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_calls_detached) == 1);
}

static void finalizing_elsewhere_is_unsafe(void)
{
	kp_client_begin();
	KP_EXPECT(cuptiFinalize() == CUPTI_SUCCESS);
	KP_EXPECT(kp_fake_counted(KP_FAKE_unsafe_finalizes) == 1);
}

static void finalizing_an_old_one_is_unsafe(void)
{
	kp_client_begin();
	KP_EXPECT(finalize_in_a_launch() == CUPTI_SUCCESS);
	KP_EXPECT(kp_fake_counted(KP_FAKE_unsafe_finalizes) == 1);
}

static void finalizing_can_be_refused(void)
{
	kp_client_begin();
	KP_EXPECT(finalize_in_a_launch() == CUPTI_ERROR_NOT_INITIALIZED);
	launch_many(4);
	flush();
	KP_EXPECT(kp_client_count(KERNELS) == 5);
}

/* An operation starts no earlier than it is issued. */
static void the_wall_clock_can_rule(void)
{
	kp_client_begin();
	launch_many(1);
	usleep(20000);
	launch_many(1);
	flush();
	KP_EXPECT(kp_client.records[1].start_ns - kp_client.records[0].end_ns >= 20000000);
}

/* X(test, KP_FAKE): each body in a child of its own. */
#define BODIES(X)                                                                                  \
	X(finalizing_detaches, NULL)                                                               \
	X(finalizing_elsewhere_is_unsafe, NULL)                                                    \
	X(finalizing_an_old_one_is_unsafe, "version=23")                                           \
	X(finalizing_can_be_refused, "finalize=15")                                                \
	X(the_wall_clock_can_rule, "wall")

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
