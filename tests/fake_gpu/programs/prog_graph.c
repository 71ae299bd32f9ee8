/*
 * A program whose graphs compute, for rules of replacement:
 *
 *	prog_graph WORK ROUNDS [PARTS]
 *
 * Its graph is y = 2 x, then z = 2 y, by the kernel «double_rows» of prog_ab, or the second by one
 * of another name; each round sets x, launches the graph, and compares z with what it must be.
 * WORK is one of the table at the end. It prints how many rounds were right. With PARTS it says
 * that it is ready, and waits for a line, before each part of the rounds, where WORK has these in
 * a row.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>

#include "tests/fake_gpu/common/bf16.h"
#include "tests/fake_gpu/common/image.h"

enum { ROWS = 5, COLUMNS = 24, STRIDE = 32, WARM_UP = 24 };

static CUstream streams[2];
static void *x, *other_x, *y, *z;
static long rounds, parts, right;

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "prog_graph: %s: error %d\n", what, (int)result);
	exit(3);
}

/* ---- the kernel ---- */

static void double_rows(const uint32_t grid[3], void **arguments)
{
	const void *from = *(void **)arguments[0];
	void *to = *(void **)arguments[1];
	long stride = *(long *)arguments[4];

	(void)grid;
	for (int i = 0; i < *(int *)arguments[2]; i++)
		for (int j = 0; j < *(int *)arguments[3]; j++)
			bf16_store(to, i * stride + j, 2 * bf16_load(from, i * stride + j));
}

#define KERNEL(of)                                                                                 \
	{                                                                                          \
		.name = (of), .duration_ns = 4000, .compute = double_rows, .parameter_count = 5,   \
		.parameter_bytes = {                                                               \
			8,                                                                         \
			8,                                                                         \
			4,                                                                         \
			4,                                                                         \
			8                                                                          \
		}                                                                                  \
	}

static const char *second = "double_rows"; /* the kernel by which z is computed */

static CUfunction find_kernel(const char *name)
{
	static const struct kp_fake_kernel kernels[] = {KERNEL("double_rows"),
							KERNEL("double_again")};
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 2, kernels};
	static CUmodule module;
	CUfunction function;

	if (!module)
		check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	check(cuModuleGetFunction(&function, module, name), "function");
	return function;
}

/* What a launch of it is given; valid until the next call. */
static void **arguments_of(void *from, void *to)
{
	static int rows = ROWS, columns = COLUMNS;
	static long stride = STRIDE;
	static void *pointers[2],
		*arguments[] = {&pointers[0], &pointers[1], &rows, &columns, &stride};

	pointers[0] = from;
	pointers[1] = to;
	return arguments;
}

static void launch(void *from, void *to)
{
	check(cuLaunchKernel(find_kernel(to == z ? second : "double_rows"), ROWS, 1, 1, 32, 1, 1, 0,
			     streams[0], arguments_of(from, to), NULL),
	      "cuLaunchKernel");
}

static CUDA_KERNEL_NODE_PARAMS params_of(void *from, void *to)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = find_kernel("double_rows"),
					 .gridDimX = ROWS,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 32,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = arguments_of(from, to)};
}

/* ---- graphs ---- */

static CUgraph capture(void *from)
{
	CUgraph graph;

	check(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
	launch(from, y);
	launch(y, z);
	check(cuStreamEndCapture(streams[0], &graph), "end");
	return graph;
}

/* By hand; nodes[0] is the first. */
static CUgraph build(void *from, CUgraphNode nodes[2])
{
	CUDA_KERNEL_NODE_PARAMS params = params_of(from, y);
	CUgraph graph;

	check(cuGraphCreate(&graph, 0), "cuGraphCreate");
	check(cuGraphAddKernelNode(&nodes[0], graph, NULL, 0, &params), "node");
	params = params_of(y, z);
	check(cuGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &params), "node");
	return graph;
}

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	return exec;
}

static void end(CUgraphExec exec, CUgraph graph)
{
	check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
	check(cuGraphDestroy(graph), "cuGraphDestroy");
}

/* One launch, of which every element is compared; `from`: what the first node reads now. */
static void play(CUgraphExec exec, CUstream stream, long round, const void *from, float factor)
{
	bool good = true;

	bf16_store(x, 3, (float)(round % 5));
	bf16_store(other_x, 3, (float)(round % 7));
	check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			good &= bf16_load(z, i * STRIDE + j) ==
				factor * bf16_load(from, i * STRIDE + j);
	right += good;
}

/* So slowly that kprof's worker gets to the results between two, on a loaded machine, too. */
static void warm_up(void)
{
	const struct timespec pause = {.tv_nsec = 4000000};

	for (int i = 0; i < WARM_UP; i++) {
		launch(x, y);
		nanosleep(&pause, NULL);
	}
	check(cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
}

/* ---- works ---- */

static void wait_for_line(void)
{
	puts("ready");
	fflush(stdout);
	(void)getchar();
}

static void play_rounds(CUgraph graph)
{
	CUgraphExec exec = instantiate(graph);

	check(cuGraphUpload(exec, streams[0]), "cuGraphUpload");
	for (long i = 0; i < rounds; i++) {
		if (parts && i % (rounds / parts) == 0)
			wait_for_line();
		play(exec, streams[0], i, x, 4);
	}
	end(exec, graph);
}

static void captured(void)
{
	warm_up();
	play_rounds(capture(x));
}

/* By two kernels: what two rules fit. */
static void two_kernels(void)
{
	second = "double_again";
	warm_up();
	for (int i = 0; i < WARM_UP; i++)
		launch(y, z);
	play_rounds(capture(x));
}

static void built(void)
{
	CUgraphNode nodes[2];

	warm_up();
	play_rounds(build(x, nodes));
}

/* Nothing was launched outside of the graph. */
static void unverified(void)
{
	play_rounds(capture(x));
}

/* Verified only when the graph has been launched some times. */
static void late(void)
{
	CUgraph graph = capture(x);
	CUgraphExec exec = instantiate(graph);

	for (long i = 0; i < rounds; i++) {
		if (i == rounds / 4)
			warm_up();
		play(exec, streams[0], i, x, 4);
	}
	end(exec, graph);
}

/* Launches outside of the graph go on. */
static void beside(void)
{
	CUgraph graph;
	CUgraphExec exec;

	warm_up();
	graph = capture(x);
	exec = instantiate(graph);
	for (long i = 0; i < rounds; i++) {
		launch(x, y);
		play(exec, streams[0], i, x, 4);
	}
	end(exec, graph);
}

static void set(long changes)
{
	CUgraphNode nodes[2];
	CUgraph graph;
	CUgraphExec exec;
	void *from = x;

	warm_up();
	graph = build(x, nodes);
	exec = instantiate(graph);
	for (long i = 0; i < rounds; i++) {
		if (i % (rounds / changes) == 0) {
			CUDA_KERNEL_NODE_PARAMS params;

			from = from == x ? other_x : x;
			params = params_of(from, y);
			check(cuGraphExecKernelNodeSetParams(exec, nodes[0], &params), "set");
		}
		play(exec, streams[0], i, from, 4);
	}
	end(exec, graph);
}

static void set_seldom(void)
{
	set(4);
}

static void set_often(void)
{
	set(rounds);
}

static void updated(void)
{
	CUgraph graph;
	CUgraphExec exec;
	void *from = x;

	warm_up();
	graph = capture(x);
	exec = instantiate(graph);
	for (long i = 0; i < rounds; i++) {
		if (i % (rounds / 4) == 0) {
			CUgraphExecUpdateResultInfo info;

			check(cuGraphDestroy(graph), "cuGraphDestroy");
			from = from == x ? other_x : x;
			graph = capture(from);
			check(cuGraphExecUpdate(exec, graph, &info), "update");
		}
		play(exec, streams[0], i, from, 4);
	}
	end(exec, graph);
}

/* From the middle on the first node does nothing: y is what it was. */
static void disabled(void)
{
	CUgraphNode nodes[2];
	CUgraph graph;
	CUgraphExec exec;

	warm_up();
	graph = build(x, nodes);
	exec = instantiate(graph);
	for (long i = 0; i < rounds; i++) {
		if (i == rounds / 2)
			check(cuGraphNodeSetEnabled(exec, nodes[0], 0), "disable");
		play(exec, streams[0], i, i < rounds / 2 ? x : y, i < rounds / 2 ? 4 : 2);
	}
	end(exec, graph);
}

static void child(void)
{
	CUgraph inner, graph;
	CUgraphNode node;

	warm_up();
	inner = capture(x);
	check(cuGraphCreate(&graph, 0), "cuGraphCreate");
	check(cuGraphAddChildGraphNode(&node, graph, NULL, 0, inner), "child");
	check(cuGraphDestroy(inner), "cuGraphDestroy");
	play_rounds(graph);
}

/* Launches of one graph are one behind the other, whatever their streams. */
static void check_order(CUevent before, CUevent behind)
{
	float ms;

	check(cuEventSynchronize(behind), "cuEventSynchronize");
	check(cuEventElapsedTime(&ms, before, behind), "cuEventElapsedTime");
	if (ms < 0.0019F) /* one of 2 us takes no less */
		right = -rounds;
}

static void two_streams(void)
{
	CUevent events[2];
	CUgraph graph;
	CUgraphExec exec;

	warm_up();
	graph = capture(x);
	exec = instantiate(graph);
	for (int i = 0; i < 2; i++)
		check(cuEventCreate(&events[i], 0), "cuEventCreate");
	for (long i = 0; i < rounds; i++) {
		CUstream stream = streams[i / 3 % 2];

		play(exec, stream, i, x, 4);
		check(cuEventRecord(events[i % 2], stream), "cuEventRecord");
		if (i > 0)
			check_order(events[(i - 1) % 2], events[i % 2]);
	}
	end(exec, graph);
}

/* Three rounds of a thread, on the stream that is its own. */
struct own_rounds {
	CUcontext context;
	CUgraphExec exec;
	CUevent *events; /* two */
	long first;
};

static void *play_own(void *argument)
{
	const struct own_rounds *own = argument;

	check(cuCtxSetCurrent(own->context), "cuCtxSetCurrent");
	for (long i = own->first; i < own->first + 3 && i < rounds; i++) {
		play(own->exec, CU_STREAM_PER_THREAD, i, x, 4);
		check(cuEventRecord(own->events[i % 2], CU_STREAM_PER_THREAD), "cuEventRecord");
		if (i > 0)
			check_order(own->events[(i - 1) % 2], own->events[i % 2]);
	}
	return NULL;
}

/* One name of streams, and another one in each thread. */
static void own_streams(void)
{
	CUevent events[2];
	struct own_rounds own = {.events = events};
	CUgraph graph;

	warm_up();
	graph = capture(x);
	own.exec = instantiate(graph);
	check(cuCtxGetCurrent(&own.context), "cuCtxGetCurrent");
	for (int i = 0; i < 2; i++)
		check(cuEventCreate(&events[i], 0), "cuEventCreate");
	for (; own.first < rounds; own.first += 3) {
		pthread_t thread;

		check((CUresult)pthread_create(&thread, NULL, play_own, &own), "pthread_create");
		pthread_join(thread, NULL);
	}
	end(own.exec, graph);
}

/* A new one every round. */
static void renewed(void)
{
	warm_up();
	for (long i = 0; i < rounds; i++) {
		CUgraph graph = capture(x);
		CUgraphExec exec = instantiate(graph);

		play(exec, streams[0], i, x, 4);
		end(exec, graph);
	}
}

static const struct {
	const char *name;
	void (*work)(void);
} works[] = {
	{"captured", captured},
	{"two_kernels", two_kernels},
	{"built", built},
	{"unverified", unverified},
	{"late", late},
	{"beside", beside},
	{"set_seldom", set_seldom},
	{"set_often", set_often},
	{"updated", updated},
	{"disabled", disabled},
	{"child", child},
	{"two_streams", two_streams},
	{"own_streams", own_streams},
	{"renewed", renewed},
};

static void *make(float step)
{
	CUdeviceptr memory;

	(void)find_kernel(second); /* no code is loaded in a capture */
	check(cuMemAlloc(&memory, ROWS * STRIDE * 2), "cuMemAlloc");
	for (size_t i = 0; i < ROWS * STRIDE; i++)
		bf16_store((void *)memory, i, step * (float)((i * 37) % 61) - 20 * step);
	return (void *)memory;
}

int main(int argc, char **argv)
{
	CUcontext context;
	size_t i = 0;

	rounds = argc > 2 ? atol(argv[2]) : 0;
	parts = argc > 3 ? atol(argv[3]) : 0;
	while (argc > 1 && i < sizeof(works) / sizeof(works[0]) &&
	       strcmp(argv[1], works[i].name) != 0)
		i++;
	if (rounds < 4 || parts < 0 || parts > rounds || i == sizeof(works) / sizeof(works[0]))
		return 2;
	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (int j = 0; j < 2; j++)
		check(cuStreamCreate(&streams[j], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	x = make(0.125F);
	other_x = make(0.25F);
	y = make(1);
	z = make(1);
	works[i].work();
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	printf("%ld of %ld rounds right\n", right, rounds);
	return 0;
}
