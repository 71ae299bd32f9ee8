/*
 * Low occupancy: a kernel that keeps one load a thread in flight, and so needs many threads to hide
 * the latency of memory, but whose blocks of two warps each claim all shared memory of an SM.
 *
 * The remedy claims what is used. Nothing else changes.
 *
 * walk_kernel: sums[block] = sum of y, z and w over the block's part of table; the next place
 * depends on the x just read, which is 0 everywhere. 16 * count bytes. Exact, modulo 2^32.
 */
#include "timing.h"

enum { THREADS = 64, BLOCKS_PER_SM = 32, STEPS_LEAST = 64 };

struct work {
	int blocks, steps;   /* loads of a thread */
	size_t shared_bytes; /* that a block claims */
	uint4 *table;        /* [blocks][steps][THREADS] */
	uint32_t *sums;      /* [blocks] */
};

static __host__ __device__ uint32_t value_of(size_t i)
{
	return timing_hash((uint32_t)i);
}

static __global__ void fill_table(uint4 *table)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	table[i] = make_uint4(0, value_of(i), value_of(i) >> 8, 1);
}

static __global__ void walk_kernel(const uint4 *table, uint32_t *sums, int steps)
{
	extern __shared__ uint32_t parts[]; /* [THREADS] are used */
	const uint4 *at = table + (size_t)blockIdx.x * steps * THREADS + threadIdx.x;
	uint32_t sum = 0;

#pragma unroll 1
	for (int step = 0; step < steps; step++) {
		const uint4 value = *at;

		sum += value.y + value.z + value.w;
		at += THREADS + value.x;
	}
	parts[threadIdx.x] = sum;
	for (int half = THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			parts[threadIdx.x] += parts[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		sums[blockIdx.x] = parts[0];
}

static void iterate(void *context)
{
	const struct work *work = (const struct work *)context;

	walk_kernel<<<work->blocks, THREADS, work->shared_bytes>>>(work->table, work->sums,
								   work->steps);
	CUDA_CHECK(cudaGetLastError());
}

/* A table of five times the cache or more. */
static void set_up(struct work *work, bool remedy)
{
	size_t cache_bytes = timing_attribute(cudaDevAttrL2CacheSize);
	size_t step_bytes, count;

	work->blocks = timing_attribute(cudaDevAttrMultiProcessorCount) * BLOCKS_PER_SM;
	step_bytes = (size_t)work->blocks * THREADS * sizeof(uint4);
	work->steps = (int)(5 * cache_bytes / step_bytes);
	if (work->steps < STEPS_LEAST)
		work->steps = STEPS_LEAST;
	work->shared_bytes = THREADS * sizeof(uint32_t);
	if (!remedy)
		work->shared_bytes = timing_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
	CUDA_CHECK(cudaFuncSetAttribute(walk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
					(int)work->shared_bytes));
	count = (size_t)work->blocks * work->steps * THREADS;
	work->table = timing_allocate<uint4>(count);
	work->sums = timing_allocate<uint32_t>(work->blocks);
	fill_table<<<(unsigned)(count / THREADS), THREADS>>>(work->table);
	CUDA_CHECK(cudaGetLastError());
}

static bool is_right(const struct work *work)
{
	size_t part = (size_t)work->steps * THREADS;
	uint32_t *sums = (uint32_t *)malloc(work->blocks * sizeof(uint32_t));
	bool right = true;

	if (!sums)
		check_fail("out of memory", "malloc", __FILE__, __LINE__);
	CUDA_CHECK(cudaMemcpy(sums, work->sums, work->blocks * sizeof(uint32_t),
			      cudaMemcpyDeviceToHost));
	for (int block = 0; block < work->blocks; block++) {
		uint32_t sum = 0;

		for (size_t i = block * part; i < (block + 1) * part; i++)
			sum += value_of(i) + (value_of(i) >> 8) + 1;
		right &= sums[block] == sum;
	}
	free(sums);
	return right;
}

int main(int argc, char **argv)
{
	struct timing timing;
	struct work work = {};

	timing_parse(&timing, argc, argv, "low_occupancy",
		     "Blocks that claim so much shared memory that few run at once.",
		     "claim only the shared memory that is used");
	set_up(&work, timing.remedy);
	timing_run(&timing, iterate, &work);
	return timing_verdict(is_right(&work));
}
