/*
 * A program that links no CUDA library: it loads libcuda.so.1 when it runs and asks for every entry
 * point by cuGetProcAddress, some before cuInit, as the CUDA runtime does.
 *
 * It launches by each kind of pointer that it was given and says how often. «prog_dlopen again» has
 * loaded libcuda.so.1 before, to see whether it is there, and given it back; the second time it
 * lies elsewhere.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cuda.h>

#include "tests/fake_gpu/common/image.h"

#define ROUNDS 7

typedef CUresult lookup_function(const char *, void **, int, cuuint64_t,
				 CUdriverProcAddressQueryResult *);
typedef CUresult launch_function(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
				 unsigned int, unsigned int, unsigned int, CUstream, void **,
				 void **);

static lookup_function *lookup;

/* An entry point by base name; a missing one ends the program. */
static void *find(const char *name, cuuint64_t flags)
{
	void *address = NULL;

	if (lookup(name, &address, 12080, flags, NULL) != CUDA_SUCCESS || !address) {
		fprintf(stderr, "prog_dlopen: no %s\n", name);
		exit(3);
	}
	return address;
}

static void require(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "prog_dlopen: %s: error %d\n", what, (int)result);
	exit(3);
}

/* Unknown names come back empty with a status, and never as somebody's hook. */
static void check_unknown(const char *name)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *address = (void *)1;

	lookup(name, &address, 12080, 0, &status);
	if (address || status != CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) {
		fprintf(stderr, "prog_dlopen: «%s» was found\n", name);
		exit(3);
	}
}

/* CUfunction and CUkernel of the one kernel. */
static CUfunction load_kernel(void)
{
	struct kp_fake_kernel kernel = {.name = "looked_up", .duration_ns = 2500, .registers = 8};
	struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUresult (*load)(CUlibrary *, const void *, void *, void *, unsigned int, void *, void *,
			 unsigned int);
	CUresult (*get)(CUkernel *, CUlibrary, const char *);
	CUlibrary library;
	CUkernel handle;

	*(void **)&load = find("cuLibraryLoadData", 0);
	*(void **)&get = find("cuLibraryGetKernel", 0);
	require(load(&library, &image, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData");
	require(get(&handle, library, kernel.name), "cuLibraryGetKernel");
	return (CUfunction)handle; /* as the CUDA runtime passes it */
}

/* Something else comes to be where it was. */
static void look_whether_it_is_there(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	uintptr_t at = library ? (uintptr_t)dlsym(library, "cuDriverGetVersion") : 0;

	if (!at || !dlsym(library, "cuGetProcAddress_v2") || dlclose(library) != 0)
		exit(3);
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (library) {
		fprintf(stderr, "prog_dlopen: it is still there\n");
		exit(3);
	}
	for (uintptr_t page = (at & ~(uintptr_t)4095) - (64 << 12), i = 0; i < 192; i++)
		(void)mmap((void *)(page + (i << 12)), 4096, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(int argc, char **argv)
{
	CUresult (*init)(unsigned int), (*retain)(CUcontext *, CUdevice), (*use)(CUcontext);
	CUresult (*synchronize)(void);
	CUresult (*launch_ex)(const CUlaunchConfig *, CUfunction, void **, void **);
	launch_function *launch, *launch_thread;
	CUlaunchConfig config = {.gridDimX = 1,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1};
	CUcontext context;
	CUfunction kernel;
	void *library;

	if (argc > 1 && strcmp(argv[1], "again") == 0)
		look_whether_it_is_there();
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 3;
	*(void **)&lookup = dlsym(library, "cuGetProcAddress_v2");
	*(void **)&launch = find("cuLaunchKernel", CU_GET_PROC_ADDRESS_LEGACY_STREAM);
	*(void **)&launch_thread =
		find("cuLaunchKernel", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	*(void **)&launch_ex = find("cuLaunchKernelEx", 0);
	*(void **)&init = find("cuInit", 0);
	*(void **)&retain = find("cuDevicePrimaryCtxRetain", 0);
	*(void **)&use = find("cuCtxSetCurrent", 0);
	*(void **)&synchronize = find("cuCtxSynchronize", 0);
	check_unknown("");
	check_unknown("cuLaunch");
	require(init(0), "cuInit");
	require(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	require(use(context), "cuCtxSetCurrent");
	kernel = load_kernel();
	for (int i = 0; i < ROUNDS; i++) {
		require(launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "launch");
		require(launch_thread(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "ptsz");
		require(launch_ex(&config, kernel, NULL, NULL), "ex");
	}
	require(synchronize(), "cuCtxSynchronize");
	printf("launched %d kernels by looked-up functions\n", 3 * ROUNDS);
	return 0;
}
