/*
 * Moves a known number of bytes through the GPU's memory: known_traffic [MIB [COPIES]]
 *
 * Copies between two buffers that are larger than any L2 cache: each byte is read once and written
 * once. Needs the driver only. Prints «copied_bytes N».
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define X_FUNCTIONS(X)                                                                             \
	X(cuInit, (unsigned))                                                                      \
	X(cuDeviceGet, (int *, int))                                                               \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                                \
	X(cuCtxSetCurrent, (void *))                                                               \
	X(cuMemAlloc_v2, (unsigned long long *, size_t))                                           \
	X(cuMemcpyDtoDAsync_v2, (unsigned long long, unsigned long long, size_t, void *))          \
	X(cuCtxSynchronize, (void))

static struct {
#define MEMBER(name, parameters) int(*name) parameters;
	X_FUNCTIONS(MEMBER)
} driver;

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "known_traffic: %s: error %d\n", what, result);
	exit(3);
}

static void bind_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		exit(77);
#define BIND(name, parameters)                                                                     \
	*(void **)&driver.name = dlsym(library, #name);                                            \
	if (!driver.name)                                                                          \
		exit(77);
	X_FUNCTIONS(BIND)
}

int main(int argc, char **argv)
{
	size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 1024) << 20;
	int copies = argc > 2 ? atoi(argv[2]) : 200, device;
	unsigned long long from, to;
	void *context;

	bind_driver();
	check(driver.cuInit(0), "cuInit");
	check(driver.cuDeviceGet(&device, 0), "cuDeviceGet");
	check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(driver.cuMemAlloc_v2(&from, bytes), "cuMemAlloc");
	check(driver.cuMemAlloc_v2(&to, bytes), "cuMemAlloc");
	for (int i = 0; i < copies; i++)
		check(driver.cuMemcpyDtoDAsync_v2(to, from, bytes, NULL), "cuMemcpyDtoDAsync");
	check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
	usleep(50000); /* what lies in L2 may still be written */
	printf("copied_bytes %" PRIu64 "\n", (uint64_t)bytes * (uint64_t)copies);
	return 0;
}
