/*
 * Detaching the fake CUPTI, and the fake GPU by the wall clock: what windows of recording rest on.
 * Each body runs in a child; see client.h.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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

/* ---- graphs ---- */

static CUgraphExec make_graph(void)
{
	CUDA_KERNEL_NODE_PARAMS params = {.func = kp_client.function,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1};
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	KP_EXPECT(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
	KP_EXPECT(cuGraphAddKernelNode(&node, graph, NULL, 0, &params) == CUDA_SUCCESS);
	KP_EXPECT(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
	return exec;
}

/* Detaches, with a launch of the graph in the midst of it or not, and comes back. */
static CUresult launch_after_detaching(bool between)
{
	CUgraphExec exec;

	kp_client_begin();
	exec = make_graph();
	KP_EXPECT(cuGraphLaunch(exec, NULL) == CUDA_SUCCESS);
	KP_EXPECT(cuptiActivityDisable(KERNELS) == CUPTI_SUCCESS);
	if (between)
		KP_EXPECT(cuGraphLaunch(exec, NULL) == CUDA_SUCCESS);
	KP_EXPECT(cuptiFinalize() == CUPTI_SUCCESS);
	KP_EXPECT(cuGraphLaunch(exec, NULL) == CUDA_SUCCESS); /* it fails late */
	KP_EXPECT(kp_fake_counted(KP_FAKE_graphs_stranded) == between);
	kp_client_register();
	return cuGraphLaunch(exec, NULL);
}

static void graphs_survive_in_one_go(void)
{
	KP_EXPECT(launch_after_detaching(false) == CUDA_SUCCESS);
}

static void graphs_launched_between_are_lost(void)
{
	KP_EXPECT(launch_after_detaching(true) == CUDA_ERROR_LAUNCH_FAILED);
	KP_EXPECT(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
}

static _Atomic bool launching;

static void *launch_one(void *exec)
{
	KP_EXPECT(cuCtxSetCurrent(kp_client.context) == CUDA_SUCCESS);
	atomic_store(&launching, true);
	KP_EXPECT(cuGraphLaunch(exec, NULL) == CUDA_SUCCESS); /* takes a second */
	return NULL;
}

static void graphs_of_other_threads_are_lost(void)
{
	pthread_t thread;

	kp_client_begin();
	KP_EXPECT(pthread_create(&thread, NULL, launch_one, make_graph()) == 0);
	while (!atomic_load(&launching))
		usleep(100);
	usleep(100000); /* now it is in the midst of it */
	KP_EXPECT(cuptiFinalize() == CUPTI_SUCCESS);
	KP_EXPECT(kp_fake_counted(KP_FAKE_graphs_stranded) == 1);
	pthread_join(thread, NULL);
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
/* ---- times after a restart ---- */

static void far_times_are_early_and_late(void)
{
	const struct kp_client_record *records = kp_client.records;

	kp_client_begin();
	launch_many(6);
	flush();
	KP_EXPECT(kp_client.count == 6);
	KP_EXPECT(records[1].start_ns + 100000000000000U == records[0].end_ns);
	KP_EXPECT(records[3].start_ns - 100000000000000U == records[2].end_ns);
	KP_EXPECT(records[3].end_ns - records[3].start_ns ==
		  records[2].end_ns - records[2].start_ns);
	KP_EXPECT(kp_fake_counted(KP_FAKE_kernels_absurd) == 3);
}

#define BODIES(X)                                                                                  \
	X(finalizing_detaches, NULL)                                                               \
	X(finalizing_elsewhere_is_unsafe, NULL)                                                    \
	X(finalizing_an_old_one_is_unsafe, "version=23")                                           \
	X(finalizing_can_be_refused, "finalize=15")                                                \
	X(graphs_survive_in_one_go, NULL)                                                          \
	X(graphs_launched_between_are_lost, NULL)                                                  \
	X(graphs_of_other_threads_are_lost, "graph_launch=1000000")                                \
	X(far_times_are_early_and_late, "far=2")                                                   \
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
