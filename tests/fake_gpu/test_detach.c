/*
 * inject/detach.c on the fake GPU: thousands of windows of programs that launch graphs in several
 * threads, and what may come in its way. Each body runs in a child; see client.h.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/buffers.h"
#include "inject/counters.h"
#include "inject/detach.h"
#include "inject/enabling.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/host_streams.h"
#include "inject/kept_names.h"
#include "inject/share.h"
#include "tests/fake_gpu/client.h"
#include "tests/fake_gpu/common/ledger.h"

#define WINDOWS 2000
#define THREADS 3
#define KERNELS CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL

/* ---- what detach.c asks of the rest ---- */

struct kp_gate kp_hooks_graph_gate = {.passage = KP_PASSAGE_GRAPH};
struct kp_gate kp_hooks_capture_gate = {.passage = KP_PASSAGE_CAPTURE};
struct kp_gate kp_host_streams_gate = {.passage = KP_PASSAGE_STREAM};
_Atomic int kp_hooks_captures;
static _Atomic bool sees_all = true, has_graphs, has_client, host_asked, ungated;
static _Atomic unsigned begun, ended, synchronised;
static uint64_t left_ns; /* when launch_once was through */

bool kp_counters_asked(void)
{
	return false;
}

bool kp_host_asked(void)
{
	return host_asked;
}

bool kp_hooks_see_all(void)
{
	return sees_all;
}

bool kp_hooks_have_graphs(void)
{
	return has_graphs;
}

bool kp_share_has_client(void)
{
	return has_client;
}

void kp_enabling_off(void)
{
	cuptiActivityDisable(KERNELS);
}

static void count_synchronised(void)
{
	atomic_fetch_add(&synchronised, 1);
}

static void count_begun(void)
{
	atomic_fetch_add(&begun, 1);
}

static void count_ended(void)
{
	atomic_fetch_add(&ended, 1);
}

static const struct kp_detach_events events = {count_synchronised, count_begun, count_ended};

static struct kp_cupti cupti = {
	.version = 130000,
	.Subscribe = cuptiSubscribe,
	.Unsubscribe = cuptiUnsubscribe,
	.EnableCallback = cuptiEnableCallback,
	.Finalize = cuptiFinalize,
	.ActivityFlushAll = cuptiActivityFlushAll,
	.ActivityGetNumDroppedRecords = cuptiActivityGetNumDroppedRecords,
	.ActivityGetNextRecord = cuptiActivityGetNextRecord,
};

/* ---- the program ---- */

static _Atomic bool stop;
static _Atomic unsigned staying;

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
	for (int i = 0; i < 3; i++)
		KP_EXPECT(cuGraphAddKernelNode(&node, graph, NULL, 0, &params) == CUDA_SUCCESS);
	KP_EXPECT(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
	has_graphs = true;
	return exec;
}

static CUresult launch_graph(CUgraphExec exec, CUstream stream)
{
	CUresult result;

	if (!ungated)
		kp_gate_enter(&kp_hooks_graph_gate);
	result = cuGraphLaunch(exec, stream);
	if (!ungated)
		kp_gate_leave(&kp_hooks_graph_gate);
	return result;
}

static void *launch_graphs(void *failures)
{
	CUgraphExec exec;
	CUstream stream;

	KP_EXPECT(cuCtxSetCurrent(kp_client.context) == CUDA_SUCCESS);
	exec = make_graph();
	stream = kp_client_stream();
	for (int i = 0; !atomic_load(&stop); i++) {
		if (launch_graph(exec, stream) != CUDA_SUCCESS)
			atomic_fetch_add((_Atomic int *)failures, 1);
		if (i % 7 == 6)
			cuStreamSynchronize(stream);
	}
	return NULL;
}

static void recycle(void)
{
	struct kp_filled *filled = kp_buffers_take(0);

	while (filled) {
		struct kp_filled *next = filled->next;

		kp_buffers_recycle(filled);
		filled = next;
	}
}

/* As kp_share_completed. */
static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid_bytes)
{
	if (kp_kept_names_enter())
		kp_kept_names_replace(&cupti, buffer, valid_bytes);
	kp_buffers_complete(context, stream, buffer, size, valid_bytes);
	kp_kept_names_leave();
}

static void attach(void)
{
	KP_EXPECT(kp_detach_watch(&cupti, &events) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiActivityRegisterCallbacks(kp_buffers_request, complete) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiActivityEnable(KERNELS) == CUPTI_SUCCESS);
}

/* One window; the end waits for what comes of it. */
static enum kp_detach_progress play_window(bool hurry)
{
	enum kp_detach_progress progress;

	attach();
	usleep(100);
	KP_EXPECT(kp_detach_request());
	if (hurry)
		kp_detach_hurry();
	while ((progress = kp_detach_progress()) == KP_DETACH_PENDING)
		usleep(50);
	kp_detach_conclude();
	KP_EXPECT(kp_detach_progress() == KP_DETACH_NONE);
	recycle();
	return progress;
}

/* Threads that launch graphs all the time, and windows meanwhile; launches that failed. */
static int play(unsigned windows)
{
	static _Atomic int failures;
	pthread_t threads[THREADS];

	kp_client_begin_cuda();
	for (int i = 0; i < THREADS; i++)
		KP_EXPECT(pthread_create(&threads[i], NULL, launch_graphs, &failures) == 0);
	while (!has_graphs)
		usleep(100);
	for (unsigned i = 0; i < windows; i++)
		KP_EXPECT(play_window(i % 2) == KP_DETACH_DONE);
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return failures;
}

/* ---- bodies ---- */

static void thousands_of_windows_lose_no_graph(void)
{
	KP_EXPECT(play(WINDOWS) == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_finalizes) == WINDOWS);
	KP_EXPECT(kp_fake_counted(KP_FAKE_graphs_stranded) == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_unsafe_finalizes) == 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_buffer_violations) == 0);
	KP_EXPECT(begun == WINDOWS && ended == WINDOWS && synchronised > 0);
	KP_EXPECT(!kp_detach_obstacle(&cupti));
}

/* The control: without the gate the same program is lost. */
static void without_the_gate_graphs_are_lost(void)
{
	ungated = true;
	KP_EXPECT(play(200) > 0);
	KP_EXPECT(kp_fake_counted(KP_FAKE_graphs_stranded) > 0);
}

static void *stay_inside(void *kind)
{
	kp_passages_begin((enum kp_passage)(uintptr_t)kind);
	atomic_fetch_add(&staying, 1);
	while (!atomic_load(&stop))
		usleep(100);
	kp_passages_end((enum kp_passage)(uintptr_t)kind);
	return NULL;
}

static pthread_t begin_to_stay(void *(*body)(void *), enum kp_passage kind)
{
	pthread_t thread;

	KP_EXPECT(pthread_create(&thread, NULL, body, (void *)(uintptr_t)kind) == 0);
	while (!atomic_load(&staying))
		usleep(100);
	return thread;
}

/* A thread that stays in a launch: the step is put off, nobody waits for long; then it is done. */
static void a_thread_that_stays_inside_is_waited_for(void)
{
	uint64_t begin_ns, longest_ns = 0;
	pthread_t thread;
	CUgraphExec exec;

	kp_client_begin_cuda();
	exec = make_graph();
	thread = begin_to_stay(stay_inside, KP_PASSAGE_GRAPH);
	attach();
	KP_EXPECT(kp_detach_request());
	kp_detach_hurry();
	for (int i = 0; i < 300; i++) {
		begin_ns = kp_clock_now();
		KP_EXPECT(launch_graph(exec, NULL) == CUDA_SUCCESS);
		if (kp_clock_now() - begin_ns > longest_ns)
			longest_ns = kp_clock_now() - begin_ns;
		usleep(1000);
	}
	KP_EXPECT(longest_ns >= 5000000 && longest_ns < 20000000000);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	KP_EXPECT(begun == 0 && kp_fake_counted(KP_FAKE_finalizes) == 0);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	while (kp_detach_progress() == KP_DETACH_PENDING) {
		KP_EXPECT(launch_graph(exec, NULL) == CUDA_SUCCESS);
		usleep(1000);
	}
	KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
	KP_EXPECT(kp_detach_conclude() >= 5000000); /* the waiting in vain, too */
	KP_EXPECT(!kp_gate_inside(&kp_hooks_graph_gate) && !kp_hooks_graph_gate.closed);
	KP_EXPECT(!kp_gate_inside(&kp_hooks_capture_gate) && !kp_hooks_capture_gate.closed);
}

static void *launch_once(void *unused)
{
	KP_EXPECT(cuCtxSetCurrent(kp_client.context) == CUDA_SUCCESS);
	kp_passages_begin(KP_PASSAGE_LAUNCH);
	kp_client_launch(NULL);
	kp_passages_end(KP_PASSAGE_LAUNCH);
	left_ns = kp_clock_now();
	return unused;
}

static size_t count_records(void)
{
	struct kp_filled *filled = kp_buffers_take(0);
	size_t count = 0;

	while (filled) {
		struct kp_filled *next = filled->next;
		CUpti_Activity *record = NULL;

		while (cuptiActivityGetNextRecord(filled->bytes, filled->valid_bytes, &record) ==
		       CUPTI_SUCCESS)
			count++;
		kp_buffers_recycle(filled);
		filled = next;
	}
	return count;
}

/* A launch that has seen kernels recorded has its record, if it is through in time. */
static void launches_under_way_are_recorded(void)
{
	kp_client_begin_cuda();
	for (unsigned i = 1, recorded = 0; recorded < 20; i++) {
		uint64_t done_ns, cost_ns, kept;
		pthread_t thread;

		attach();
		KP_EXPECT(pthread_create(&thread, NULL, launch_once, NULL) == 0);
		while (kp_fake_counted(KP_FAKE_records_slow) < i)
			usleep(10);
		KP_EXPECT(kp_detach_request());
		KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
		done_ns = kp_clock_now();
		KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
		cost_ns = kp_detach_conclude();
		pthread_join(thread, NULL);
		kept = count_records() - kp_detach_take_dropped();
		KP_EXPECT(kept == 1 || (left_ns > done_ns && cost_ns >= 500000));
		recorded += kept == 1;
	}
}

/* One that does not return, because the driver's queue is full, is waited for less and less. */
static void launches_that_stay_are_not_waited_for(void)
{
	pthread_t thread;
	uint64_t cost_ns, least_ns = UINT64_MAX;

	kp_client_begin_cuda();
	thread = begin_to_stay(stay_inside, KP_PASSAGE_LAUNCH);
	for (int i = 0; i < 40; i++) { /* on a busy machine any of them may take long */
		attach();
		KP_EXPECT(kp_detach_request());
		KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
		KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
		cost_ns = kp_detach_conclude();
		KP_EXPECT(i > 0 || cost_ns >= 50000000);
		least_ns = cost_ns < least_ns ? cost_ns : least_ns;
		recycle();
	}
	KP_EXPECT(least_ns < 25000000);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

static void *leave_by_cancellation(void *unused)
{
	(void)unused;
	kp_gate_enter(&kp_hooks_graph_gate);
	kp_gate_enter(&kp_hooks_capture_gate);
	kp_passages_begin(KP_PASSAGE_LAUNCH);
	atomic_fetch_add(&staying, 1);
	for (;;)
		pause();
	return NULL;
}

/* A thread that was cancelled in launches of every kind keeps nothing from happening. */
static void a_cancelled_thread_is_forgotten(void)
{
	pthread_t thread;

	kp_client_begin_cuda();
	thread = begin_to_stay(leave_by_cancellation, KP_PASSAGE_LAUNCH);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	attach();
	KP_EXPECT(kp_detach_request());
	/* A thread that was joined may exist for a moment longer, for those who ask the system. */
	for (int i = 0; i < 60000 && kp_detach_progress() == KP_DETACH_PENDING; i++) {
		KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
		usleep(1000);
	}
	KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
}

/* While a stream is being captured, or another client is there, no door is one. */
static void captures_and_clients_keep_it_away(void)
{
	kp_client_begin_cuda();
	attach();
	KP_EXPECT(kp_detach_request());
	atomic_store(&kp_hooks_captures, 1);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	atomic_store(&kp_hooks_captures, 0);
	has_client = true;
	usleep(60000);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	has_client = false;
	usleep(120000);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
}

/* Only calls that wait are doors at first; a launch is one once it has been hurried twice. */
static void it_prefers_calls_that_wait(void)
{
	kp_client_begin_cuda();
	attach();
	kp_client_launch(NULL);
	KP_EXPECT(synchronised == 0);
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	KP_EXPECT(synchronised == 1);
	KP_EXPECT(kp_detach_request());
	kp_client_launch(NULL);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	KP_EXPECT(kp_detach_cancel());
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_WATCHING);
	KP_EXPECT(kp_detach_request());
	/* While the worker is in CUPTI no door is one either. */
	KP_EXPECT(kp_detach_pause());
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	kp_detach_unpause();
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	KP_EXPECT(!kp_detach_hurry());
	kp_client_launch(NULL);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	KP_EXPECT(kp_detach_hurry());
	kp_client_launch(NULL);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
	KP_EXPECT(!kp_detach_pause());
}

/* The door of a graph's launch stands open already. */
static void a_graph_is_a_door_when_it_is_hurried(void)
{
	CUgraphExec exec;

	kp_client_begin_cuda();
	exec = make_graph();
	attach();
	KP_EXPECT(kp_detach_request());
	KP_EXPECT(launch_graph(exec, NULL) == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_PENDING);
	KP_EXPECT(!kp_detach_hurry());
	KP_EXPECT(launch_graph(exec, NULL) == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
}

static void CUPTIAPI ignore(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

/* A profiler of the program's that subscribes gets kprof's place, asked for or not. */
static void another_client_gets_the_place(void)
{
	CUpti_SubscriberHandle subscriber;

	kp_client_begin_cuda();
	for (int asked = 0; asked < 2; asked++) {
		attach();
		KP_EXPECT(!asked || kp_detach_request());
		kp_detach_yield();
		KP_EXPECT(kp_detach_progress() == KP_DETACH_NONE);
		KP_EXPECT(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)ignore, NULL) ==
			  CUPTI_SUCCESS);
		KP_EXPECT(kp_detach_watch(&cupti, &events) != CUPTI_SUCCESS);
		KP_EXPECT(!kp_detach_request());
		KP_EXPECT(cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS);
	}
}

/* What forbids it: launches that are not seen, an old CUPTI, graphs launched with records off. */
static void obstacles_are_named(void)
{
	kp_client_begin_cuda();
	KP_EXPECT(!kp_detach_obstacle(&cupti));
	sees_all = false;
	KP_EXPECT(kp_detach_obstacle(&cupti));
	sees_all = true;
	host_asked = true;
	KP_EXPECT(kp_detach_obstacle(&cupti));
	host_asked = false;
	has_client = true;
	KP_EXPECT(kp_detach_obstacle(&cupti));
	has_client = false;
	cupti.version = 23;
	KP_EXPECT(kp_detach_obstacle(&cupti));
	cupti.version = 24;
	kp_detach_leave_attached();
	KP_EXPECT(!kp_detach_obstacle(&cupti));
	has_graphs = true;
	KP_EXPECT(kp_detach_obstacle(&cupti));
}

/* The name in the one record of a window, read when CUPTI has gone. */
static void read_name_late(bool keep, const char *expected)
{
	CUpti_Activity *record = NULL;
	struct kp_filled *filled;

	attach();
	kp_client_launch(NULL);
	KP_EXPECT(kp_kept_names_keep(keep));
	KP_EXPECT(kp_detach_request());
	KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
	KP_EXPECT(kp_detach_progress() == KP_DETACH_DONE);
	kp_detach_conclude();
	filled = kp_buffers_take(0);
	KP_EXPECT(filled && !filled->next);
	if (!filled)
		return;
	KP_EXPECT(cuptiActivityGetNextRecord(filled->bytes, filled->valid_bytes, &record) ==
		  CUPTI_SUCCESS);
	KP_EXPECT(strcmp(((CUpti_ActivityKernel8 *)(void *)record)->name, expected) == 0);
	kp_buffers_recycle(filled);
}

/* A kernel's name goes with CUPTI, but for the copy that was kept: one, however often. */
static void names_outlive_cupti(void)
{
	kp_client_begin_cuda();
	read_name_late(false, "???????????");
	for (int i = 0; i < 100; i++)
		read_name_late(true, "test_kernel");
}

static void refusals_are_few(void)
{
	kp_client_begin_cuda();
	for (int i = 0; i < 3; i++) {
		KP_EXPECT(!kp_detach_obstacle(&cupti));
		attach();
		KP_EXPECT(kp_detach_request());
		KP_EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
		KP_EXPECT(kp_detach_progress() == KP_DETACH_REFUSED);
		kp_detach_conclude();
	}
	KP_EXPECT(kp_detach_obstacle(&cupti));
	KP_EXPECT(begun == 3 && ended == 3);
}

/* X(test, KP_FAKE): each body in a child of its own. */
#define BODIES(X)                                                                                  \
	X(thousands_of_windows_lose_no_graph, NULL)                                                \
	X(without_the_gate_graphs_are_lost, NULL)                                                  \
	X(a_thread_that_stays_inside_is_waited_for, NULL)                                          \
	X(launches_under_way_are_recorded, "slow_record=2000")                                     \
	X(launches_that_stay_are_not_waited_for, NULL)                                             \
	X(a_cancelled_thread_is_forgotten, NULL)                                                   \
	X(captures_and_clients_keep_it_away, NULL)                                                 \
	X(it_prefers_calls_that_wait, NULL)                                                        \
	X(a_graph_is_a_door_when_it_is_hurried, NULL)                                              \
	X(another_client_gets_the_place, NULL)                                                     \
	X(obstacles_are_named, NULL)                                                               \
	X(names_outlive_cupti, NULL)                                                               \
	X(refusals_are_few, "finalize=15")

#define TEST(body, faults)                                                                         \
	static void test_detach_##body(void **state)                                               \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(kp_client_run(faults, body), 0);                                  \
	}
BODIES(TEST)

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROW(body, faults) cmocka_unit_test(test_detach_##body),
		BODIES(ROW)
#undef ROW
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
