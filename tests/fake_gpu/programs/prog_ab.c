/*
 * A program whose kernels compute, for rules of replacement:
 *
 *	prog_ab WORK ROUNDS [wait [TIMES]]
 *
 * WORK is «double» (y = 2 x of 5 rows of 24 columns, 32 apart, by a kernel «double_rows»), «blank»
 * (the same, but x is 0 in the first half of the rounds), «paced»
 * (the same as «double», half a millisecond between launches), «silu» (in place, named as that of
 * llm_decode), «softmax» (named as PyTorch's), «gemm» (a linear layer of 3 tokens by cublasGemmEx)
 * «graph» (a product outside of a capture first, then in one, whose graph is launched), or
 * «graph_changed» (the same, but what was captured is changed before it is instantiated). It
 * prints what the results add up to, after all rounds. With «wait» «double» says that it is
 * ready, waits for a line, and does all rounds again, once or so many times. «shapes»
 * is «double» of 24 to 13 columns in turn. «modules» is «double» by kernels of that name from three
 *places in turn: a module, a library of the same code, and a library of other code. «steps» is
 *«double» in ranges «step», with 1 and 3 launches in turn.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include "tests/fake_gpu/common/bf16.h"
#include "tests/fake_gpu/common/image.h"
#include "tests/fake_gpu/library/cublas.h"
#include "tests/fake_gpu/library/product.h"

enum { ROWS = 5, COLUMNS = 24, STRIDE = 32, TOKENS = 3, OUTPUTS = 48, INPUTS = 64 };
enum { BF16 = 14, COMPUTE_32F = 68 };
#define SOFTMAX                                                                                    \
	"_ZN12_GLOBAL__N_120softmax_warp_forwardIN3c108BFloat16ES2_fLi10ELb0ELb0EEEvPT0_"          \
	"PKT_iiiPKbib"

static CUstream stream;

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_ab: %s: error %d\n", what, result);
	exit(3);
}

/* ---- kernels ---- */

/* (const bf16 *x, bf16 *y, int rows, int columns, long stride) */
static void double_rows(const uint32_t grid[3], void **arguments)
{
	const void *x = *(void **)arguments[0];
	void *y = *(void **)arguments[1];
	int rows = *(int *)arguments[2], columns = *(int *)arguments[3];
	long stride = *(long *)arguments[4];

	(void)grid;
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			bf16_store(y, i * stride + j, 2 * bf16_load(x, i * stride + j));
}

/* (bf16 *x, size_t count) */
static void silu(const uint32_t grid[3], void **arguments)
{
	void *x = *(void **)arguments[0];

	(void)grid;
	for (int64_t i = 0; i < *(int64_t *)arguments[1]; i++)
		bf16_store(x, i, bf16_load(x, i) / (1 + expf(-bf16_load(x, i))));
}

/* (bf16 *y, const bf16 *x, int rows, int stride, int columns, …) */
static void softmax(const uint32_t grid[3], void **arguments)
{
	void *y = *(void **)arguments[0];
	const void *x = *(void **)arguments[1];
	int rows = *(int *)arguments[2], columns = *(int *)arguments[4];

	(void)grid;
	for (int64_t i = 0; i < rows * (int64_t)columns; i += columns) {
		float most = -INFINITY, sum = 0;

		for (int j = 0; j < columns; j++)
			most = fmaxf(most, bf16_load(x, i + j));
		for (int j = 0; j < columns; j++)
			sum += expf(bf16_load(x, i + j) - most);
		for (int j = 0; j < columns; j++)
			bf16_store(y, i + j, expf(bf16_load(x, i + j) - most) / sum);
	}
}

static const struct kp_fake_kernel kernels[] = {
	{.name = "double_rows",
	 .duration_ns = 4000,
	 .compute = double_rows,
	 .parameter_count = 5,
	 .parameter_bytes = {8, 8, 4, 4, 8}},
	{.name = "_Z11silu_kernelP13__nv_bfloat16m",
	 .duration_ns = 4000,
	 .compute = silu,
	 .parameter_count = 2,
	 .parameter_bytes = {8, 8}},
	{.name = SOFTMAX,
	 .duration_ns = 400000,
	 .compute = softmax,
	 .parameter_count = 8,
	 .parameter_bytes = {8, 8, 4, 4, 4, 8, 4, 1}},
};

static CUfunction find_kernel(size_t which)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 3, kernels};
	static CUmodule module;
	CUfunction function;

	if (!module)
		check((int)cuModuleLoadData(&module, &image), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&function, module, kernels[which].name), "function");
	return function;
}

/* The first kernel again, from code that has a hash: fatbins «one» and «two». */
static CUfunction find_in_module(long which)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, kernels};
	static const struct kp_fake_fatbin fatbins[] = {{KP_FAKE_FATBIN_MAGIC, 1, 16, 8, "one"},
							{KP_FAKE_FATBIN_MAGIC, 1, 16, 8, "two"}};
	static const struct kp_fake_wrapper wrappers[] = {
		{KP_FAKE_WRAPPER_MAGIC, 1, &fatbins[0], &image},
		{KP_FAKE_WRAPPER_MAGIC, 1, &fatbins[1], &image}};
	static CUfunction found[3];
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;

	if (found[which])
		return found[which];
	if (which == 0) {
		check((int)cuModuleLoadData(&module, &wrappers[0]), "cuModuleLoadData");
		check((int)cuModuleGetFunction(&found[0], module, kernels[0].name), "function");
		return found[0];
	}
	check((int)cuLibraryLoadData(&library, &wrappers[which - 1], NULL, NULL, 0, NULL, NULL, 0),
	      "cuLibraryLoadData");
	check((int)cuLibraryGetKernel(&kernel, library, kernels[0].name), "kernel");
	found[which] = (CUfunction)(void *)kernel;
	return found[which];
}

static void launch(size_t which, void **arguments)
{
	check((int)cuLaunchKernel(find_kernel(which), ROWS, 1, 1, 32, 1, 1, 0, stream, arguments,
				  NULL),
	      "cuLaunchKernel");
}

/* ---- work ---- */

static void *make(size_t count, float step)
{
	CUdeviceptr memory;

	check((int)cuMemAlloc(&memory, count * 2), "cuMemAlloc");
	for (size_t i = 0; i < count; i++)
		bf16_store((void *)memory, i, step * (float)((i * 37) % 61) - 20 * step);
	return (void *)memory;
}

static double sum_of(const void *data, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)bf16_load(data, i) * (double)(1 + i % 7);
	return sum;
}

static long waits;

static void wait_for_line(void)
{
	puts("ready");
	fflush(stdout);
	(void)getchar();
}

static double work_modules(long rounds)
{
	void *x = make(ROWS * STRIDE, 0.125F), *y = make(ROWS * STRIDE, 1);
	int rows = ROWS, columns = COLUMNS;
	long stride = STRIDE;
	void *arguments[] = {&x, &y, &rows, &columns, &stride};

	for (long i = 0; i < rounds; i++)
		check((int)cuLaunchKernel(find_in_module(i % 3), ROWS, 1, 1, 32, 1, 1, 0, stream,
					  arguments, NULL),
		      "cuLaunchKernel");
	return sum_of(y, ROWS * STRIDE);
}

static double work_steps(long rounds)
{
	void *x = make(ROWS * STRIDE, 0.125F), *y = make(ROWS * STRIDE, 1);
	int rows = ROWS, columns = COLUMNS;
	long stride = STRIDE;
	void *arguments[] = {&x, &y, &rows, &columns, &stride};

	for (long i = 0; i < rounds; i++) {
		nvtxRangePushA("step");
		for (long j = 0; j < 1 + 2 * (i % 2); j++)
			launch(0, arguments);
		nvtxRangePop();
	}
	return sum_of(y, ROWS * STRIDE);
}

static double work_double(long rounds, bool blank, bool paced, bool shapes)
{
	const struct timespec pause = {.tv_nsec = 500000};
	void *x = make(ROWS * STRIDE, blank ? 0 : 0.125F), *y = make(ROWS * STRIDE, 1);
	int rows = ROWS, columns = COLUMNS;
	long stride = STRIDE;
	void *arguments[] = {&x, &y, &rows, &columns, &stride};

	for (long i = 0; i < (waits + 1) * rounds; i++) {
		if (i && i % rounds == 0)
			wait_for_line();
		columns = shapes ? (int)(COLUMNS - i % 12) : COLUMNS;
		if (!blank || i >= rounds / 2)
			bf16_store(
				x, 3,
				(float)(i % 5)); /* what is kept from an earlier launch is wrong */
		launch(0, arguments);
		if (paced)
			nanosleep(&pause, NULL);
	}
	return sum_of(y, ROWS * STRIDE);
}

static double work_silu(long rounds)
{
	size_t count = 256;
	double sum = 0;

	for (long i = 0; i < rounds; i++) {
		void *x = make(count, 0.0625F), *arguments[] = {&x, &count};

		launch(1, arguments);
		check((int)cuStreamSynchronize(stream), "cuStreamSynchronize");
		sum = sum_of(x, count);
		check((int)cuMemFree((CUdeviceptr)x), "cuMemFree");
	}
	return sum;
}

static double work_softmax(long rounds)
{
	int rows = 4, columns = 96, group = 1;
	void *x = make(384, 0.125F), *y = make(384, 1), *mask = NULL;
	bool is_mask = false;
	void *arguments[] = {&y, &x, &rows, &columns, &columns, &mask, &group, &is_mask};

	for (long i = 0; i < rounds; i++)
		launch(2, arguments);
	return sum_of(y, 384);
}

static void multiply(void *handle, const void *x, const void *weight, void *y)
{
	const float one = 1, zero = 0;

	check(cublasGemmEx(handle, 1, 0, OUTPUTS, TOKENS, INPUTS, &one, weight, BF16, INPUTS, x,
			   BF16, INPUTS, &zero, y, BF16, OUTPUTS, COMPUTE_32F, -1),
	      "cublasGemmEx");
}

/* What was captured as a product by 1 becomes one by 2. */
static void change_product(CUgraph graph)
{
	CUDA_KERNEL_NODE_PARAMS params;
	struct kp_fake_product product;
	void *arguments[] = {&product};
	CUgraphNode node;
	size_t count = 1;

	check((int)cuGraphGetNodes(graph, &node, &count), "cuGraphGetNodes");
	check((int)cuGraphKernelNodeGetParams(node, &params), "cuGraphKernelNodeGetParams");
	product = *(struct kp_fake_product *)params.kernelParams[0];
	product.alpha = 2;
	params.kernelParams = arguments;
	check((int)cuGraphKernelNodeSetParams(node, &params), "cuGraphKernelNodeSetParams");
}

static double work_gemm(long rounds, bool graph, bool changed)
{
	void *x = make(TOKENS * INPUTS, 0.125F), *weight = make(OUTPUTS * INPUTS, 0.0625F);
	void *y = make(TOKENS * OUTPUTS, 1), *handle;
	CUgraphExec exec;
	CUgraph made;

	check(cublasCreate_v2(&handle), "cublasCreate_v2");
	check(cublasSetStream_v2(handle, stream), "cublasSetStream_v2");
	for (long i = 0; i < (graph ? 6 : rounds); i++)
		multiply(handle, x, weight, y);
	if (!graph)
		return sum_of(y, TOKENS * OUTPUTS);
	check((int)cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
	multiply(handle, x, weight, y);
	check((int)cuStreamEndCapture(stream, &made), "end");
	if (changed)
		change_product(made);
	check((int)cuGraphInstantiate(&exec, made, 0), "instantiate");
	for (long i = 0; i < rounds; i++)
		check((int)cuGraphLaunch(exec, stream), "cuGraphLaunch");
	return sum_of(y, TOKENS * OUTPUTS);
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	CUcontext context;
	double sum;

	if (rounds < 1)
		return 2;
	waits = argc > 4 ? atol(argv[4]) : argc > 3;
	check((int)cuInit(0), "cuInit");
	check((int)cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	check((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check((int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (strcmp(argv[1], "double") == 0 || strcmp(argv[1], "blank") == 0 ||
	    strcmp(argv[1], "paced") == 0 || strcmp(argv[1], "shapes") == 0)
		sum = work_double(rounds, argv[1][0] == 'b', argv[1][0] == 'p', argv[1][0] == 's');
	else if (strcmp(argv[1], "steps") == 0)
		sum = work_steps(rounds);
	else if (strcmp(argv[1], "modules") == 0)
		sum = work_modules(rounds);
	else if (strcmp(argv[1], "silu") == 0)
		sum = work_silu(rounds);
	else if (strcmp(argv[1], "softmax") == 0)
		sum = work_softmax(rounds);
	else
		sum = work_gemm(rounds, strncmp(argv[1], "graph", 5) == 0,
				strcmp(argv[1], "graph_changed") == 0);
	check((int)cuCtxSynchronize(), "cuCtxSynchronize");
	printf("%.6g\n", sum);
	return 0;
}
