/*
 * Reductions over the THREADS threads of a block, in a fixed order, so that results repeat.
 * Device code only. `shared` is THREADS floats of shared memory, free again on return.
 */
#ifndef LLM_DECODE_REDUCE_H
#define LLM_DECODE_REDUCE_H

#define THREADS 256

static __device__ float reduce_sum(float value, float *shared)
{
	shared[threadIdx.x] = value;
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		if ((int)threadIdx.x < half)
			shared[threadIdx.x] += shared[threadIdx.x + half];
		__syncthreads();
	}
	value = shared[0];
	__syncthreads();
	return value;
}

static __device__ float reduce_max(float value, float *shared)
{
	shared[threadIdx.x] = value;
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		if ((int)threadIdx.x < half)
			shared[threadIdx.x] =
				fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
		__syncthreads();
	}
	value = shared[0];
	__syncthreads();
	return value;
}

#endif
