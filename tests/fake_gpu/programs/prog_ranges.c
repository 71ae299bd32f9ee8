/*
 * A program that launches kernels in NVTX ranges in every way, and knows which range owns how many.
 *
 *	prog_ranges known      each range once, without waiting for the GPU: kernels run long after
 *	prog_ranges contended  four threads with ranges launch on one stream at the same time
 *	prog_ranges churn N    four threads: N times a new stream, two launches in a range, its end
 *	prog_ranges leak N     N ranges that are never popped, then N launches in ranges
 *	prog_ranges steps N    N requests: prefill, and eight steps of decode, each by a graph
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include "tests/fake_gpu/programs/one_kernel.h"

static CUcontext context;
static CUfunction function;
static CUstream stream;

static void launch_on(CUstream on, unsigned blocks, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		check(cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, on, NULL, NULL),
		      "cuLaunchKernel");
}

static void start(uint64_t duration_ns)
{
	context = begin_cuda();
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	function = load_kernel("work", duration_ns);
}

/* A graph of `count` kernels, captured. */
static CUgraphExec capture(unsigned count)
{
	CUgraph graph;
	CUgraphExec exec;

	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
	launch_on(stream, 3, count);
	launch_on(CU_STREAM_LEGACY, 9, 2); /* runs at once, on another stream */
	check(cuStreamEndCapture(stream, &graph), "end");
	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	return exec;
}

static void run_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument) != 0)
		exit(3);
	pthread_join(thread, NULL);
}

/* ---- known ---- */

static void *help(void *argument)
{
	nvtxRangeId_t *of_process = argument;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	launch_on(stream, 4, 2); /* in no range of this thread */
	nvtxRangePushA("helper");
	launch_on(stream, 5, 3);
	nvtxRangePop();
	nvtxRangeEnd(*of_process);
	nvtxRangePushA("never popped");
	launch_on(stream, 5, 4);
	return NULL;
}

static void nest(void)
{
	nvtxRangePushA("outer");
	launch_on(stream, 1, 2);
	nvtxRangePushA("inner");
	launch_on(stream, 2, 3);
	launch_on(NULL, 2, 1);
	nvtxRangePop();
	launch_on(stream, 1, 1);
	nvtxRangePop();
	nvtxRangePop(); /* one too many */
}

static void use_domain(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxEventAttributes_t event = {.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .messageType = NVTX_MESSAGE_TYPE_ASCII,
				       .message.ascii = "operation"};

	nvtxRangePushA("caller");
	nvtxDomainRangePushEx(domain, &event);
	launch_on(stream, 6, 4);
	nvtxRangePop(); /* the one of the default domain */
	launch_on(stream, 6, 1);
	nvtxDomainRangePop(domain);
}

static void run_known(void)
{
	nvtxRangeId_t of_process;
	CUgraphExec graph;

	launch_on(stream, 1, 7); /* before there is any range */
	launch_on(NULL, 1, 2);
	nest();
	launch_on(stream, 7, 5);
	nvtxRangePushA("capturing");
	graph = capture(3);
	nvtxRangePop();
	nvtxRangePushA("replaying");
	check(cuGraphLaunch(graph, stream), "cuGraphLaunch");
	launch_on(stream, 8, 1);
	check(cuGraphLaunch(graph, stream), "cuGraphLaunch");
	nvtxRangePop();
	use_domain();
	of_process = nvtxRangeStartA("request");
	nvtxRangePushA("waiting");
	launch_on(stream, 1, 1);
	run_thread(help, &of_process);
	launch_on(stream, 1, 2);
	nvtxRangePop();
}

/* ---- contended ---- */

static void *contend(void *argument)
{
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (unsigned i = 0; i < 100; i++) {
		nvtxRangePushA(argument);
		launch_on(stream, 1 + i % 3, 5);
		nvtxRangePop();
	}
	return NULL;
}

static void run_contended(void)
{
	static char names[][8] = {"first", "second", "third", "fourth"};
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, contend, names[i]) != 0)
			exit(3);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- churn ---- */

static unsigned churns;

static void *churn(void *argument)
{
	(void)argument;
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (unsigned i = 0; i < churns; i++) {
		CUstream own;

		check(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
		nvtxRangePushA("churn");
		launch_on(own, 1, 2);
		nvtxRangePop();
		check(cuStreamSynchronize(own), "cuStreamSynchronize");
		check(cuStreamDestroy(own), "cuStreamDestroy");
	}
	return NULL;
}

static void run_churn(unsigned count)
{
	pthread_t threads[4];

	churns = count;
	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, churn, NULL) != 0)
			exit(3);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- leak ---- */

static void run_leak(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		nvtxRangePushA("never popped");
	for (unsigned i = 0; i < count; i++) {
		nvtxRangePushA("step");
		launch_on(stream, 1, 1);
		nvtxRangePop();
	}
}

/* ---- steps ---- */

static void run_steps(unsigned requests)
{
	CUgraphExec graph = capture(4);

	for (unsigned i = 0; i < requests; i++) {
		nvtxRangePushA("request");
		nvtxRangePushA("prefill");
		launch_on(stream, 64, 6);
		nvtxRangePop();
		for (unsigned k = 0; k < 8; k++) {
			nvtxRangePushA("decode");
			check(cuGraphLaunch(graph, stream), "cuGraphLaunch");
			nvtxRangePop();
		}
		nvtxRangePop();
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	start(strcmp(argv[1], "known") == 0 ? 200000 : 2000);
	if (strcmp(argv[1], "known") == 0)
		run_known();
	else if (strcmp(argv[1], "contended") == 0)
		run_contended();
	else if (argc == 3 && strcmp(argv[1], "churn") == 0)
		run_churn((unsigned)atoi(argv[2]));
	else if (argc == 3 && strcmp(argv[1], "leak") == 0)
		run_leak((unsigned)atoi(argv[2]));
	else if (argc == 3)
		run_steps((unsigned)atoi(argv[2]));
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
