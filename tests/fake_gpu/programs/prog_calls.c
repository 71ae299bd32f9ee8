/*
 * A program that calls one entry point of the driver many times, for counting instructions:
 *
 *	prog_calls DOOR WORK COUNT
 *
 * DOOR is how it has found the entry point: «link», «dlsym», or «address» (cuGetProcAddress).
 * WORK is «launch»; «capture», which launches while another stream is being captured; or «graph»,
 * which launches a graph of one kernel; or «range», which launches in an NVTX range. Or, by «link»:
 * «gemm», which multiplies matrices by cuBLAS, and «matmul», by cuBLASLt; each product launches one
 * kernel. «known» launches a kernel of PyTorch's whose parameters kprof knows. «broken» launches
 * the first of a sequence and something else in turn, «broken_by_calls» asks for the stream in
 * between; «recognised» launches one of PyTorch's casts, by which a norm may begin, and something
 * else.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include "tests/fake_gpu/library/cublas.h"
#include "tests/fake_gpu/library/lt.h"
#include "tests/fake_gpu/programs/one_kernel.h"
#include "tests/fake_gpu/programs/torch_kernels.h"

typedef CUresult launch_function(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
				 unsigned int, unsigned int, unsigned int, CUstream, void **,
				 void **);
typedef CUresult graph_function(CUgraphExec, CUstream);
typedef CUresult lookup_function(const char *, void **, int, cuuint64_t,
				 CUdriverProcAddressQueryResult *);

/* An entry point by the door; `linked` is the one that the loader has resolved. */
static void *find(const char *door, const char *name, void *linked)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	lookup_function *lookup;
	void *found = NULL;

	if (strcmp(door, "link") == 0)
		return linked;
	if (strcmp(door, "dlsym") == 0) {
		found = dlsym(library, name);
	} else if (strcmp(door, "address") == 0) {
		*(void **)&lookup = dlsym(library, "cuGetProcAddress_v2");
		check(lookup(name, &found, 12080, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL), name);
	}
	if (!found) {
		fprintf(stderr, "prog_calls: no %s by %s\n", name, door);
		exit(3);
	}
	return found;
}

static CUfunction load_empty(void)
{
	return load_kernel("empty", 100);
}

static CUgraphExec make_graph(CUfunction function)
{
	CUDA_KERNEL_NODE_PARAMS params = {.func = function,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1};
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;

	check(cuGraphCreate(&graph, 0), "cuGraphCreate");
	check(cuGraphAddKernelNode(&node, graph, NULL, 0, &params), "cuGraphAddKernelNode");
	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	return exec;
}

/* The linked entry points are called as such: by way of the program's own slots. */
static void launch_many(const char *door, CUfunction function, CUstream stream, long count)
{
	launch_function *launch;

	if (strcmp(door, "link") == 0) {
		for (long i = 0; i < count; i++)
			check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL),
			      "cuLaunchKernel");
		return;
	}
	*(void **)&launch = find(door, "cuLaunchKernel", NULL);
	for (long i = 0; i < count; i++)
		check(launch(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
}

static void launch_graphs(const char *door, CUgraphExec exec, CUstream stream, long count)
{
	graph_function *launch = cuGraphLaunch;

	*(void **)&launch = find(door, "cuGraphLaunch", *(void **)&launch);
	for (long i = 0; i < count; i++)
		check(launch(exec, stream), "cuGraphLaunch");
}

static void launch_known(CUstream stream, long count)
{
	struct kp_fake_kernel kernel = {.name = "_ZN2at6native29vectorized_elementwise_kernelILi4E",
					.duration_ns = 100,
					.registers = 8,
					.parameter_count = 3,
					.parameter_bytes = {4, 4, 8}};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	uint32_t elements = 4096, value = 0;
	uint64_t address = 0;
	void *parameters[] = {&elements, &value, &address};
	CUmodule module;
	CUfunction function;

	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	check(cuModuleGetFunction(&function, module, kernel.name), "cuModuleGetFunction");
	for (long i = 0; i < count; i++)
		check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL),
		      "cuLaunchKernel");
}

/* (out, in, bytes, salt), as in prog_sequence. */
static void break_off_many(CUstream stream, long count, bool by_calls)
{
	const struct kp_fake_kernel kernels[2] = {
		{.name = "seq_first", .parameter_count = 4, .parameter_bytes = {8, 8, 8, 4}},
		{.name = "seq_other", .parameter_count = 4, .parameter_bytes = {8, 8, 8, 4}},
	};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 2, kernels};
	uint64_t bytes = 64;
	uint32_t salt = 1;
	CUdeviceptr out, in;
	void *parameters[] = {&out, &in, &bytes, &salt};
	CUmodule module;
	CUfunction functions[2];

	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (int i = 0; i < 2; i++)
		check(cuModuleGetFunction(&functions[i], module, kernels[i].name), "function");
	check(cuMemAlloc(&out, bytes), "cuMemAlloc");
	check(cuMemAlloc(&in, bytes), "cuMemAlloc");
	for (long i = 0; i < count; i++)
		if (i % 2 && by_calls)
			cuStreamQuery(stream);
		else
			check(cuLaunchKernel(functions[i % 2], 1, 1, 1, 32, 1, 1, 0, stream,
					     parameters, NULL),
			      "cuLaunchKernel");
}

static void break_off_recognised(CUstream stream, long count)
{
	const struct kp_fake_kernel kernels[2] = {torch_kernels[TORCH_WIDEN],
						  torch_kernels[TORCH_SHIFT]};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 2, kernels};
	struct torch_work work = {.rows = 2, .columns = 8};
	struct torch_call calls[2];
	CUfunction functions[2];
	CUmodule module;

	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (int i = 0; i < 2; i++) {
		check(cuMemAlloc((CUdeviceptr *)&work.operands[i], 256), "cuMemAlloc");
		check(cuModuleGetFunction(&functions[i], module, kernels[i].name), "function");
	}
	for (int i = 0; i < 2; i++) {
		work.kernel = i ? TORCH_SHIFT : TORCH_WIDEN;
		torch_call_make(&work, &calls[i]);
	}
	for (long i = 0; i < count; i++)
		check(cuLaunchKernel(functions[i % 2], 1, 1, 1, 32, 1, 1, 0, stream,
				     calls[i % 2].parameters, NULL),
		      "cuLaunchKernel");
}

static void multiply_many(CUstream stream, long count)
{
	void *handle;

	check((CUresult)cublasCreate_v2(&handle), "cublasCreate_v2");
	check((CUresult)cublasSetStream_v2(handle, stream), "cublasSetStream_v2");
	for (long i = 0; i < count; i++)
		check((CUresult)cublasSgemm_v2(handle, 0, 0, 64, 32, 16, NULL, NULL, 64, NULL, 16,
					       NULL, NULL, 64),
		      "cublasSgemm_v2");
}

static void multiply_many_lt(CUstream stream, long count)
{
	struct layout *a, *d;
	struct matmul *matmul;

	check((CUresult)cublasLtMatrixLayoutCreate(&a, 2, 64, 16, 64), "layout");
	check((CUresult)cublasLtMatrixLayoutCreate(&d, 2, 64, 32, 64), "layout");
	check((CUresult)cublasLtMatmulDescCreate(&matmul, 68, 0), "matmul");
	for (long i = 0; i < count; i++)
		check((CUresult)cublasLtMatmul(NULL, matmul, NULL, NULL, a, NULL, a, NULL, NULL, d,
					       NULL, d, NULL, NULL, 0, stream),
		      "cublasLtMatmul");
}

int main(int argc, char **argv)
{
	CUstream stream, other;
	CUgraph captured;
	long count;

	if (argc != 4)
		return 2;
	count = atol(argv[3]);
	begin_cuda();
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (strcmp(argv[2], "range") == 0)
		nvtxRangePushA("range");
	if (strcmp(argv[2], "graph") == 0) {
		launch_graphs(argv[1], make_graph(load_empty()), stream, count);
	} else if (strcmp(argv[2], "capture") == 0) {
		check(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
		launch_many(argv[1], load_empty(), stream, count);
		check(cuStreamEndCapture(other, &captured), "end");
	} else if (strcmp(argv[2], "known") == 0) {
		launch_known(stream, count);
	} else if (strncmp(argv[2], "broken", 6) == 0) {
		break_off_many(stream, count, argv[2][6] != '\0');
	} else if (strcmp(argv[2], "recognised") == 0) {
		break_off_recognised(stream, count);
	} else if (strcmp(argv[2], "gemm") == 0) {
		multiply_many(stream, count);
	} else if (strcmp(argv[2], "matmul") == 0) {
		multiply_many_lt(stream, count);
	} else {
		launch_many(argv[1], load_empty(), stream, count);
	}
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
