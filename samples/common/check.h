/*
 * CUDA_CHECK(call): a CUDA runtime call that must succeed. Otherwise the call, its place and CUDA's
 * message go to stderr, and the program ends with status 1.
 */
#ifndef SAMPLES_CHECK_H
#define SAMPLES_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_CHECK(call) cuda_check((call), #call, __FILE__, __LINE__)

/* Says what failed where, and exits with status 1. */
static inline void check_fail(const char *message, const char *call, const char *file, int line)
{
	const char *slash = strrchr(file, '/');

	fprintf(stderr, "%s:%d: %s: %s\n", slash ? slash + 1 : file, line, call, message);
	exit(1);
}

static inline void cuda_check(cudaError_t error, const char *call, const char *file, int line)
{
	if (error != cudaSuccess)
		check_fail(cudaGetErrorString(error), call, file, line);
}

#endif
