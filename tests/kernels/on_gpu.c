/*
 * Kernels on the first GPU, on memory of the host that it can reach; see launch.h. Exits with 77
 * where there is no GPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/launch.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/launched.h"

#define PORTABLE_AND_MAPPED 3U

static struct {
	struct kp_kernels *kernels;
	int (*host_alloc)(void **memory, size_t bytes, unsigned flags);
	int (*host_free)(void *memory);
	int (*synchronize)(void);
} gpu;

static void end(int status, const char *what, int error)
{
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(status);
}

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		end(77, name, 0);
	return function;
}

static void start(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
	int (*init)(unsigned flags), (*retain)(void **primary, int device), (*set)(void *current);
	int error;

	if (!library)
		end(77, "there is no libcuda.so.1", 0);
	*(void **)&init = find(library, "cuInit");
	*(void **)&retain = find(library, "cuDevicePrimaryCtxRetain");
	*(void **)&set = find(library, "cuCtxSetCurrent");
	*(void **)&gpu.host_alloc = find(library, "cuMemHostAlloc");
	*(void **)&gpu.host_free = find(library, "cuMemFreeHost");
	*(void **)&gpu.synchronize = find(library, "cuCtxSynchronize");
	if (init(0) || retain(&context, 0) || set(context))
		end(77, "there is no GPU", 0);
	if (kp_kernels_create(NULL, &gpu.kernels, &error) != KP_OK)
		end(1, "the kernels cannot be loaded", error);
}

void *kp_test_alloc(size_t bytes)
{
	void *memory = NULL;
	int error;

	if (!gpu.kernels)
		start();
	error = gpu.host_alloc(&memory, bytes ? bytes : 1, PORTABLE_AND_MAPPED);
	if (error)
		end(1, "cuMemHostAlloc", error);
	return memory;
}

void kp_test_free(void *memory)
{
	int error = memory ? gpu.host_free(memory) : 0;

	if (error)
		end(1, "cuMemFreeHost", error);
}

/* Versions for one kind of GPU are left out: with CUDA_FORCE_PTX_JIT=1 the code for all others
 * runs. */
static bool is_general(void)
{
	return getenv("KP_TEST_GENERAL") != NULL;
}

uint32_t kp_test_compute_capability(void)
{
	if (!gpu.kernels)
		start();
	return is_general() ? 80 : kp_kernels_device(gpu.kernels)->compute_capability;
}

kp_encode_map kp_test_encode_map(void)
{
	if (!gpu.kernels)
		start();
	return is_general() ? NULL : kp_kernels_encode_map(gpu.kernels);
}

void kp_test_launch(const struct kp_kernel_plan *plan, const void *args, enum kp_fiber_order order)
{
	int error;

	(void)order;
	if (!gpu.kernels)
		start();
	kp_test_count(plan->kernel);
	if (kp_kernels_launch(gpu.kernels, plan, args, NULL, false) != KP_OK)
		end(1, "a launch fails", 0);
	error = gpu.synchronize();
	if (error)
		end(1, "a kernel fails", error);
}
