/*
 * One stream and an exact count of what the program itself puts on it.
 * Every kernel of the samples is launched through LAUNCH, every copy and fill through launcher_copy
 * and launcher_clear: the counts are what a profiler must find. Not thread-safe: a launcher is used
 * by one thread.
 */
#ifndef SAMPLES_LAUNCH_H
#define SAMPLES_LAUNCH_H

#include "check.h"

#include <stdint.h>

struct tally {
	uint64_t own_kernels;   /* <<<>>> launches outside graphs */
	uint64_t library_calls; /* each may launch several kernels */
	uint64_t copies;        /* cudaMemcpyAsync */
	uint64_t clears;        /* cudaMemsetAsync */
	uint64_t graph_replays; /* cudaGraphLaunch */
	uint64_t graph_kernels; /* kernel nodes of the replayed graphs */
};

struct launcher {
	cudaStream_t stream;
	struct tally tally;
};

/* Launches kernel(...) on the launcher's stream with no dynamic shared memory, and counts it. */
#define LAUNCH(launcher, kernel, grid, block, ...)                                                 \
	do {                                                                                       \
		kernel<<<(grid), (block), 0, (launcher)->stream>>>(__VA_ARGS__);                   \
		CUDA_CHECK(cudaGetLastError());                                                    \
		(launcher)->tally.own_kernels++;                                                   \
	} while (0)

static inline void launcher_copy(struct launcher *launcher, void *to, const void *from,
				 size_t bytes)
{
	CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, launcher->stream));
	launcher->tally.copies++;
}

static inline void launcher_clear(struct launcher *launcher, void *at, size_t bytes)
{
	CUDA_CHECK(cudaMemsetAsync(at, 0, bytes, launcher->stream));
	launcher->tally.clears++;
}

#endif
