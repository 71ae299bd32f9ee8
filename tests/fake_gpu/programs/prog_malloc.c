/*
 * A program with a malloc of its own, which looks up the C library's in its first call, as jemalloc
 * does. Whoever allocates meanwhile gets it into its own start-up: status 9.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/fake_gpu/programs/one_kernel.h"

#define LAUNCHES 50

typedef void *(*malloc_function)(size_t);
typedef void *(*calloc_function)(size_t, size_t);
typedef void *(*realloc_function)(void *, size_t);

static malloc_function real_malloc;
static calloc_function real_calloc;
static realloc_function real_realloc;
static __thread bool starting;

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	/* An unknown name leaves a message, whose memory is the C library's own business. */
	if (!found)
		_exit(8);
	return found;
}

/* The versioned lookup is another hook. */
static void start(void)
{
	if (starting)
		_exit(9);
	starting = true;
	*(void **)&real_calloc = next("calloc");
	*(void **)&real_realloc = next("realloc");
	if (!dlvsym(RTLD_NEXT, "free", "GLIBC_2.2.5"))
		_exit(8);
	*(void **)&real_malloc = next("malloc");
	starting = false;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	if (!real_malloc)
		start();
	return real_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	if (!real_malloc)
		start();
	return real_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
	if (!real_malloc)
		start();
	return real_realloc(block, size);
}

int main(void)
{
	CUfunction function;

	begin_cuda();
	function = load_kernel("work", 2000);
	for (int i = 0; i < LAUNCHES; i++)
		check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "launch");
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	puts("done");
	return 0;
}
