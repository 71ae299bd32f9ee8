/*
 * How programs with one kernel begin, on the first GPU. They end with status 3 where CUDA gives an
 * error.
 */
#ifndef KP_FAKE_GPU_ONE_KERNEL_H
#define KP_FAKE_GPU_ONE_KERNEL_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "tests/fake_gpu/common/image.h"

static inline void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %s: error %d\n", program_invocation_short_name, what, (int)result);
	exit(3);
}

/* A module with the one kernel. */
static inline CUfunction load_kernel(const char *name, uint64_t duration_ns)
{
	struct kp_fake_kernel kernel = {.name = name, .duration_ns = duration_ns, .registers = 8};
	struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUmodule module;
	CUfunction function;

	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	check(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
	return function;
}

/* Makes the GPU's primary context current. */
static inline CUcontext begin_cuda(void)
{
	CUcontext context;

	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	return context;
}

#endif
