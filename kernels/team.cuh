/*
 * Sums and maxima over a team: `size` threads that work on one row. A power of two within a warp,
 * or the whole block in full warps. Every thread of the block calls; every thread gets the result,
 * the same bits in each.
 */
#ifndef KP_KERNELS_TEAM_CUH
#define KP_KERNELS_TEAM_CUH

#define WARP 32
#define ALL_LANES 0xffffffffu
#define WARPS_MOST 32

struct sum {
	static __device__ inline float identity()
	{
		return 0;
	}
	static __device__ inline float of(float a, float b)
	{
		return a + b;
	}
};

struct largest {
	static __device__ inline float identity()
	{
		return -INFINITY;
	}
	static __device__ inline float of(float a, float b)
	{
		return fmaxf(a, b);
	}
};

template <class Op> __device__ inline float reduce_lanes(float value, unsigned lanes)
{
	for (unsigned step = lanes / 2; step > 0; step /= 2)
		value = Op::of(value, __shfl_xor_sync(ALL_LANES, value, (int)step));
	return value;
}

/* The same over a full warp: the loop is unrolled. */
template <class Op> __device__ inline float reduce_warp(float value)
{
#pragma unroll
	for (unsigned step = WARP / 2; step > 0; step /= 2)
		value = Op::of(value, __shfl_xor_sync(ALL_LANES, value, (int)step));
	return value;
}

/*
 * Over a block. `parts` is shared memory of WARPS_MOST floats that nobody else reads or writes
 * until the block's next barrier but one: alternate between two where reductions follow each other.
 */
template <class Op> __device__ inline float reduce_block(float value, float *parts)
{
	unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;

	value = reduce_warp<Op>(value);
	if (warps == 1)
		return value;
	if (lane == 0)
		parts[threadIdx.x / WARP] = value;
	__syncthreads();
	return reduce_warp<Op>(lane < warps ? parts[lane] : Op::identity());
}

#endif
