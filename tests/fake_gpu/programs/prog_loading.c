/*
 * A program that loads a module and launches from it, again and again, while other threads look up
 * symbols: prog_loading MODULE TIMES
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "tests/fake_gpu/programs/one_kernel.h"

#define THREADS 3
#define LAUNCHES 20

static _Atomic bool stop;

static void *look_up(void *handle)
{
	while (!atomic_load(&stop))
		if (!dlsym(handle, "puts"))
			exit(4);
	return NULL;
}

static void load_and_launch(const char *path, CUfunction function)
{
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*launch)(CUfunction, CUstream, unsigned);

	if (!module) {
		fprintf(stderr, "prog_loading: %s\n", dlerror());
		exit(5);
	}
	*(void **)&launch = dlsym(module, "hoard_launch");
	check((CUresult)launch(function, NULL, LAUNCHES), "hoard_launch");
	dlclose(module);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	CUfunction function;

	if (argc != 3)
		return 2;
	begin_cuda();
	function = load_kernel("work", 2000);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, look_up, dlopen(NULL, RTLD_NOW)) != 0)
			return 3;
	for (int i = atoi(argv[2]); i > 0; i--)
		load_and_launch(argv[1], function);
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
