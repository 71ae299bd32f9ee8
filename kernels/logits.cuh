/*
 * Rows of logits on the device: bf16, fp16 or fp32, from any element on, a vector of 16 bytes a
 * thread and turn where columns lie side by side.
 *
 * Positions count from the multiple of 16 bytes at or before the row's first element, so that
 * vectors are aligned whatever the row's stride is (vocabularies of 50257); what lies outside of
 * the row reads as -infinity, and is not touched.
 */
#ifndef KP_KERNELS_LOGITS_CUH
#define KP_KERNELS_LOGITS_CUH

#include "kernels/logits.h"
#include "kernels/numbers.cuh"
#include "kernels/team.cuh"

#define LOGITS_AHEAD 4 /* vectors in flight a thread */
#define LOGITS_WARPS (KP_LOGITS_THREADS / WARP)

__device__ inline void from_float(float value, float *out)
{
	*out = value;
}

template <class T, bool VECTOR> struct logits_row {
	static constexpr unsigned STEP = VECTOR ? 16 / sizeof(T) : 1;
	const T *x; /* of position 0 */
	long long column;
	unsigned shift, end; /* positions of the row: shift … end - 1 */

	__device__ inline void find(const void *all, long long row, long long stride,
				    long long x_column, unsigned columns)
	{
		const T *first = (const T *)all + row * stride;

		shift = VECTOR ? (unsigned)((unsigned long long)first % 16 / sizeof(T)) : 0;
		x = first - shift;
		column = x_column;
		end = columns + shift;
	}
	/* Positions that one vector load takes. */
	__device__ inline bool is_full(unsigned at) const
	{
		return at >= shift && at + STEP <= end;
	}
	__device__ inline void unpack_all(uint4 vector, float out[STEP]) const
	{
		if constexpr (sizeof(T) == 4) {
			out[0] = __uint_as_float(vector.x);
			out[1] = __uint_as_float(vector.y);
			out[2] = __uint_as_float(vector.z);
			out[3] = __uint_as_float(vector.w);
		} else {
			unpack<T>(vector, out);
		}
	}
	__device__ inline void load(unsigned at, float out[STEP]) const
	{
		if constexpr (!VECTOR) {
			out[0] = at < end ? to_float(x[at * column]) : -INFINITY;
		} else if (is_full(at)) {
			unpack_all(*(const uint4 *)(x + at), out);
		} else {
#pragma unroll
			for (unsigned j = 0; j < STEP; j++)
				out[j] = at + j >= shift && at + j < end ? to_float(x[at + j])
									 : -INFINITY;
		}
	}
	/* LOGITS_AHEAD times that, `turn` positions apart. */
	__device__ inline void load_ahead(unsigned at, unsigned turn,
					  float out[LOGITS_AHEAD][STEP]) const
	{
		if (VECTOR && is_full(at) && is_full(at + (LOGITS_AHEAD - 1) * turn)) {
			uint4 vectors[LOGITS_AHEAD];

#pragma unroll
			for (int i = 0; i < LOGITS_AHEAD; i++)
				vectors[i] = *(const uint4 *)(x + at + i * turn);
#pragma unroll
			for (int i = 0; i < LOGITS_AHEAD; i++)
				unpack_all(vectors[i], out[i]);
			return;
		}
#pragma unroll
		for (int i = 0; i < LOGITS_AHEAD; i++)
			load(at + i * turn, out[i]);
	}
};

/* What a block has of a row: positions first … last - 1. */
struct logits_part {
	unsigned first, last;
};

__device__ inline logits_part logits_part_of(unsigned split, unsigned chunk, unsigned end)
{
	unsigned first = split * chunk;

	first = first < end ? first : end;
	return {first, end - first > chunk ? first + chunk : end};
}

/* take(value, position) for the vectors at first, first + turn, … before part.last, in order. */
template <class T, bool VECTOR, class Take>
__device__ inline void logits_each(const logits_row<T, VECTOR> &row, logits_part part,
				   unsigned turn, Take take)
{
	constexpr unsigned STEP = logits_row<T, VECTOR>::STEP;
	float values[LOGITS_AHEAD][STEP];
	unsigned at = part.first;

	for (; at < part.last && part.last - at > (LOGITS_AHEAD - 1) * turn;
	     at += LOGITS_AHEAD * turn) {
		row.load_ahead(at, turn, values);
#pragma unroll
		for (int i = 0; i < LOGITS_AHEAD; i++)
#pragma unroll
			for (unsigned j = 0; j < STEP; j++)
				take(values[i][j], at + i * turn + j);
	}
	for (; at < part.last; at += turn) {
		row.load(at, values[0]);
#pragma unroll
		for (unsigned j = 0; j < STEP; j++)
			take(values[0][j], at + j);
	}
}

/* The same for a thread's share of a block's part: vectors in turn. */
template <class T, bool VECTOR, class Take>
__device__ inline void logits_each_of_block(const logits_row<T, VECTOR> &row, logits_part part,
					    Take take)
{
	constexpr unsigned STEP = logits_row<T, VECTOR>::STEP;

	part.first += threadIdx.x * STEP;
	logits_each(row, part, KP_LOGITS_THREADS * STEP, take);
}

/* ---- the largest ---- */

/*
 * The largest value and where it was first. A NaN is larger than all. To begin with: -infinity in
 * column 0, which is right where there is nothing else.
 */
struct logits_best {
	float value;
	unsigned index;

	/* One more, of a higher index than all before. */
	__device__ inline void take(float other, unsigned at)
	{
		if (!(other <= value) && value == value) {
			value = other;
			index = at;
		}
	}
	__device__ inline void merge(logits_best other)
	{
		bool nan = value != value, other_nan = other.value != other.value;
		bool larger = other_nan ? !nan : other.value > value;
		bool equal = other_nan ? nan : other.value == value;

		if (larger || (equal && other.index < index))
			*this = other;
	}
	__device__ inline void merge_warp()
	{
#pragma unroll
		for (int step = WARP / 2; step > 0; step /= 2)
			merge({__shfl_xor_sync(ALL_LANES, value, step),
			       __shfl_xor_sync(ALL_LANES, index, step)});
	}
};

/* Over a block, for its first warp. `parts` is shared memory. */
__device__ inline logits_best logits_best_of_block(logits_best best,
						   logits_best parts[LOGITS_WARPS])
{
	best.merge_warp();
	if (threadIdx.x % WARP == 0)
		parts[threadIdx.x / WARP] = best;
	__syncthreads();
	if (threadIdx.x < WARP) {
		best = parts[threadIdx.x % LOGITS_WARPS];
		best.merge_warp();
	}
	return best;
}

/* Of a thread's share of a part; indices are those of columns. */
template <class T, bool VECTOR>
__device__ inline logits_best logits_best_of(const logits_row<T, VECTOR> &row, logits_part part)
{
	logits_best best = {-INFINITY, 0};

	logits_each_of_block(row, part,
			     [&](float value, unsigned at) { best.take(value, at - row.shift); });
	return best;
}

/* ---- what operators on logits have in common ---- */

template <class Args>
__device__ inline void logits_store_index(const Args &args, unsigned row, long long index)
{
	if (args.index_is_64)
		((long long *)args.index)[row * args.index_row] = index;
	else
		((int *)args.index)[row * args.index_row] = (int)index;
}

/* A version, for all types T of logits: what it does with its `args`, that is kp_OPERATOR_args. */
#define LOGITS_KERNEL_OF(name, type, operator, threads, blocks, ...)                               \
	extern "C" __global__ void __launch_bounds__(threads, blocks)                              \
		name(const __grid_constant__ struct kp_##operator##_args args)                     \
	{                                                                                          \
		using T = type;                                                                    \
		__VA_ARGS__;                                                                       \
	}
#define LOGITS_KERNEL(name, operator, threads, blocks, ...)                                        \
	LOGITS_KERNEL_OF(kp_##name##_bf16, __nv_bfloat16, operator, threads, blocks, __VA_ARGS__)  \
	LOGITS_KERNEL_OF(kp_##name##_fp16, __half, operator, threads, blocks, __VA_ARGS__)         \
	LOGITS_KERNEL_OF(kp_##name##_fp32, float, operator, threads, blocks, __VA_ARGS__)

#endif
