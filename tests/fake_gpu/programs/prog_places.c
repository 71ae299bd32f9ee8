/*
 * Launches for rules of replacement whose surroundings come and go: prog_places WORK N
 *
 *     reset       a context is reset N times; another kernel comes at the handle of one
 *     release     the context is retained and released N times, and lives on
 *     released    the same by the last who had retained it, with which it ends
 *     unload      modules are unloaded N times, as in «reset»
 *     capture     N captures, which another thread tries to end
 *     unsafe      N captures that forbid other threads much, beside launches in another
 *     buffer      N launches by one buffer of parameters, and by such as are too small
 *     floats      N launches in a thread that traps what is not finite
 *     streams     products on N streams that come and go
 *     collective  N launches of a kernel with the name of one of NCCL's
 *
 * «double_rows» puts out y = 2 x of 5 rows of 24 columns, 32 apart; «triple_rows», of the same
 * parameters, y = 3 x. It prints what all results add up to.
 */
#include <fenv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/fake_gpu/common/bf16.h"
#include "tests/fake_gpu/library/cublas.h"
#include "tests/fake_gpu/programs/one_kernel.h"

enum { ROWS = 5, COLUMNS = 24, STRIDE = 32, TOKENS = 2, OUTPUTS = 64, INPUTS = 4096 };
enum { BF16 = 14, COMPUTE_32F = 68 };

static CUcontext context;
static CUstream stream;
static void *x, *y;
static double total;

/* ---- kernels ---- */

/* (const bf16 *x, bf16 *y, int rows, int columns, long stride) */
static void scale_rows(void **arguments, float factor)
{
	const void *from = *(void **)arguments[0];
	void *to = *(void **)arguments[1];
	long stride = *(long *)arguments[4];

	for (int i = 0; i < *(int *)arguments[2]; i++)
		for (int j = 0; j < *(int *)arguments[3]; j++)
			bf16_store(to, i * stride + j, factor * bf16_load(from, i * stride + j));
}

static void double_rows(const uint32_t grid[3], void **arguments)
{
	(void)grid;
	scale_rows(arguments, 2);
}

static void triple_rows(const uint32_t grid[3], void **arguments)
{
	(void)grid;
	scale_rows(arguments, 3);
}

static const struct kp_fake_kernel kernels[3] = {
	{.name = "double_rows",
	 .duration_ns = 4000,
	 .compute = double_rows,
	 .parameter_count = 5,
	 .parameter_bytes = {8, 8, 4, 4, 8}},
	{.name = "triple_rows",
	 .duration_ns = 4000,
	 .compute = triple_rows,
	 .parameter_count = 5,
	 .parameter_bytes = {8, 8, 4, 4, 8}},
	{.name = "_Z37ncclDevKernel_AllReduce_Sum_bf16_RING_double_rows",
	 .duration_ns = 4000,
	 .compute = double_rows,
	 .parameter_count = 5,
	 .parameter_bytes = {8, 8, 4, 4, 8}},
};

static CUfunction load(unsigned which, CUmodule *module)
{
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernels[which]};
	CUfunction function;

	check(cuModuleLoadData(module, &image), "cuModuleLoadData");
	check(cuModuleGetFunction(&function, *module, kernels[which].name), "function");
	return function;
}

/* ---- what all have in common ---- */

static void *make(size_t count, float step)
{
	CUdeviceptr memory;

	check(cuMemAlloc(&memory, count * 2), "cuMemAlloc");
	for (size_t i = 0; i < count; i++)
		bf16_store((void *)memory, (int64_t)i, step * (float)((i * 37) % 61) - 20 * step);
	return (void *)memory;
}

static void add_up(const void *data, size_t count)
{
	for (size_t i = 0; i < count; i++)
		total += (double)bf16_load(data, (int64_t)i) * (double)(1 + i % 7);
}

static CUresult launch_on(CUfunction function, CUstream on)
{
	static int rows = ROWS, columns = COLUMNS;
	static long stride = STRIDE;
	void *arguments[] = {&x, &y, &rows, &columns, &stride};

	return cuLaunchKernel(function, ROWS, 1, 1, 32, 1, 1, 0, on, arguments, NULL);
}

static void launch(CUfunction function)
{
	check(launch_on(function, stream), "cuLaunchKernel");
}

static void make_current(void)
{
	check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static void run_beside(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument) != 0)
		exit(3);
	pthread_join(thread, NULL);
}

/* ---- handles that come again ---- */

/* Of the one kernel and of the other by turns. */
static void launch_some(unsigned round)
{
	CUmodule module;
	CUfunction function = load(round % 2, &module);

	for (int i = 0; i < 8; i++)
		launch(function);
	check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	add_up(y, ROWS * STRIDE);
}

static void reset(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		launch_some(i);
		check(cuDevicePrimaryCtxReset(0), "cuDevicePrimaryCtxReset");
		make_current();
	}
}

static void release(unsigned rounds)
{
	CUmodule module;
	CUfunction function = load(0, &module);
	CUcontext again;

	for (unsigned i = 0; i < rounds; i++) {
		check(cuDevicePrimaryCtxRetain(&again, 0), "cuDevicePrimaryCtxRetain");
		for (int j = 0; j < 5; j++)
			launch(function);
		check(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
	}
	add_up(y, ROWS * STRIDE);
}

static void release_last(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		launch_some(i);
		check(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
		make_current();
	}
}

static void unload(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		CUmodule module;
		CUfunction function = load(i % 2, &module);

		for (int j = 0; j < 8; j++)
			launch(function);
		check(cuStreamSynchronize(stream), "cuStreamSynchronize");
		add_up(y, ROWS * STRIDE);
		check(cuModuleUnload(module), "cuModuleUnload");
	}
}

/* ---- captures ---- */

static void *end_of_another(void *unused)
{
	CUgraph graph = NULL;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	if (cuStreamEndCapture(stream, &graph) != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
		exit(4);
	return unused;
}

static void launch_graph(CUgraph graph)
{
	CUgraphExec exec;

	memset(y, 0, (size_t)ROWS * STRIDE * 2);
	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
	check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	add_up(y, ROWS * STRIDE);
	check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
	check(cuGraphDestroy(graph), "cuGraphDestroy");
}

static void capture(unsigned rounds)
{
	CUmodule module;
	CUfunction function = load(0, &module);
	CUgraph graph;

	for (int i = 0; i < 20; i++)
		launch(function);
	for (unsigned i = 0; i < rounds; i++) {
		check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin");
		run_beside(end_of_another, NULL);
		launch(function);
		check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
		launch_graph(graph);
	}
}

/* Launches of a context of its own, which ends: neither may break the capture of another thread. */
static void *launch_beside(void *unused)
{
	CUmodule module;
	CUfunction function;
	CUstream on;
	CUcontext own;

	check(cuCtxCreate(&own, NULL, 0, 0), "cuCtxCreate");
	check(cuStreamCreate(&on, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	check(cuThreadExchangeStreamCaptureMode(&mode), "mode");
	function = load(0, &module);
	check(cuThreadExchangeStreamCaptureMode(&mode), "mode");
	for (int i = 0; i < 40; i++)
		check(launch_on(function, on), "cuLaunchKernel");
	check(cuStreamDestroy(on), "cuStreamDestroy");
	check(cuCtxDestroy(own), "cuCtxDestroy");
	return unused;
}

static void forbid(unsigned rounds)
{
	CUmodule module;
	CUfunction function = load(0, &module);
	CUgraph graph;

	for (unsigned i = 0; i < rounds; i++) {
		check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
		launch(function);
		run_beside(launch_beside, NULL);
		check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
		launch_graph(graph);
	}
}

/* ---- parameters in one buffer ---- */

struct parameters {
	void *x, *y;
	int rows, columns;
	long stride;
};

static CUresult launch_buffer(CUfunction function, void *buffer, size_t bytes, void **also)
{
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_BUFFER_POINTER,
			 buffer, CU_LAUNCH_PARAM_END};

	return cuLaunchKernel(function, ROWS, 1, 1, 32, 1, 1, 0, stream, also, extra);
}

/* The smaller one ends with its page, behind which there is nothing. */
static void give_buffers(unsigned rounds)
{
	struct parameters all = {x, y, ROWS, COLUMNS, STRIDE};
	size_t page = (size_t)sysconf(_SC_PAGESIZE), small = offsetof(struct parameters, rows);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *one_by_one[] = {&all.x, &all.y, &all.rows, &all.columns, &all.stride};
	CUmodule module;
	CUfunction function = load(0, &module);

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
		exit(3);
	memcpy(pages + page - small, &all, small);
	for (unsigned i = 0; i < rounds; i++) {
		check(launch_buffer(function, &all, sizeof(all), NULL), "cuLaunchKernel");
		total += launch_buffer(function, pages + page - small, small, NULL) ==
			 CUDA_ERROR_INVALID_VALUE;
		total += launch_buffer(function, &all, sizeof(all), one_by_one) ==
			 CUDA_ERROR_INVALID_VALUE;
	}
	add_up(y, ROWS * STRIDE);
}

/* ---- floating point ---- */

/* Rules compute with what the program's data is; none of it shows in the program's own flags. */
static void trap(unsigned rounds)
{
	CUmodule module;
	CUfunction function = load(0, &module);
	unsigned raised = 0;

	memset(x, 0, (size_t)ROWS * STRIDE * 2); /* what has no size has no relative error */
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
	fesetround(FE_UPWARD);
	for (unsigned i = 0; i < rounds; i++) {
		launch(function);
		raised += fetestexcept(FE_ALL_EXCEPT) != 0 || fegetround() != FE_UPWARD;
		if (i == rounds / 2)
			for (int64_t j = 0; j < (int64_t)ROWS * STRIDE; j++)
				bf16_store(x, j, (float)(j % 7));
		feclearexcept(FE_ALL_EXCEPT);
	}
	fesetround(FE_TONEAREST);
	fedisableexcept(FE_ALL_EXCEPT);
	printf("%u raised\n", raised);
	add_up(y, ROWS * STRIDE);
}

/* ---- streams ---- */

static void use_streams(unsigned rounds)
{
	void *tokens = make((size_t)TOKENS * INPUTS, 0.125F), *handle;
	void *weight = make((size_t)OUTPUTS * INPUTS, 0.0625F), *out = make(TOKENS * OUTPUTS, 1);
	const float one = 1, zero = 0;

	if (cublasCreate_v2(&handle) != 0)
		exit(3);
	for (unsigned i = 0; i < rounds; i++) {
		CUstream own;

		check(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
		if (cublasSetStream_v2(handle, own) != 0)
			exit(3);
		for (int j = 0; j < 4; j++)
			if (cublasGemmEx(handle, 1, 0, OUTPUTS, TOKENS, INPUTS, &one, weight, BF16,
					 INPUTS, tokens, BF16, INPUTS, &zero, out, BF16, OUTPUTS,
					 COMPUTE_32F, -1) != 0)
				exit(3);
		check(cuStreamDestroy(own), "cuStreamDestroy");
	}
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	add_up(out, TOKENS * OUTPUTS);
}

static void reduce(unsigned rounds)
{
	CUmodule module;
	CUfunction function = load(2, &module);

	for (unsigned i = 0; i < rounds; i++)
		launch(function);
	add_up(y, ROWS * STRIDE);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(unsigned);
	} ways[] = {{"reset", reset},         {"release", release}, {"released", release_last},
		    {"unload", unload},       {"capture", capture}, {"unsafe", forbid},
		    {"buffer", give_buffers}, {"floats", trap},     {"streams", use_streams},
		    {"collective", reduce}};

	if (argc < 3)
		return 2;
	check(cuInit(0), "cuInit");
	make_current();
	x = make(ROWS * STRIDE, 0.125F);
	y = make(ROWS * STRIDE, 1);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].body((unsigned)atoi(argv[2]));
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	printf("%.6g\n", total);
	return 0;
}
