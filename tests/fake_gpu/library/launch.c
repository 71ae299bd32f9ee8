/* Kernels by name; see launch.h. */
#include "tests/fake_gpu/library/launch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/common/image.h"

#define KERNELS_MOST 256
#define SPLIT_K 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[128];
	CUfunction function;
} kernels[KERNELS_MOST];
static size_t kernel_count;

CUresult kp_fake_load(CUmodule *out, const void *image)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult result = cuThreadExchangeStreamCaptureMode(&mode);

	if (result != CUDA_SUCCESS)
		return result;
	result = cuModuleLoadData(out, image);
	cuThreadExchangeStreamCaptureMode(&mode);
	return result;
}

static CUfunction load(const char *name)
{
	const struct kp_fake_kernel kernel = {.name = name, .duration_ns = 3000, .registers = 64};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUfunction function;
	CUmodule module;

	if (kp_fake_load(&module, &image) != CUDA_SUCCESS ||
	    cuModuleGetFunction(&function, module, name) != CUDA_SUCCESS)
		return NULL;
	return function;
}

static CUfunction find(const char *name)
{
	CUfunction found = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < kernel_count && !found; i++)
		if (strcmp(kernels[i].name, name) == 0)
			found = kernels[i].function;
	if (!found && kernel_count < KERNELS_MOST) {
		found = kernels[kernel_count].function = load(name);
		snprintf(kernels[kernel_count++].name, sizeof(kernels[0].name), "%s", name);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* By kind of kernel where KP_FAKE_GRIDS is set; else one for all. */
static unsigned grid_of(const char *name)
{
	bool is_private = strstr(name, "_k20_") != NULL;

	return getenv("KP_FAKE_GRIDS") ? (unsigned char)name[0] + (unsigned)is_private : 8;
}

int kp_fake_kernel(CUstream stream, const char *name)
{
	CUfunction function = find(name);

	if (!function || cuLaunchKernel(function, grid_of(name), 1, 1, 128, 1, 1, 0, stream, NULL,
					NULL) != CUDA_SUCCESS)
		return FAKE_EXECUTION_FAILED;
	return FAKE_SUCCESS;
}

int kp_fake_gemm(CUstream stream, int64_t m, int64_t n, int64_t k, int64_t batch)
{
	char name[128];
	int result = FAKE_SUCCESS;

	if (m <= 0 || n <= 0 || k <= 0 || batch <= 0)
		return FAKE_INVALID_VALUE;
	for (int part = 0; part < (k >= SPLIT_K ? 2 : 1) && result == FAKE_SUCCESS; part++) {
		snprintf(name, sizeof(name),
			 "gemm_m%" PRId64 "_n%" PRId64 "_k%" PRId64 "_b%" PRId64 "_p%d", m, n, k,
			 batch, part);
		result = kp_fake_kernel(stream, name);
	}
	return result;
}
