/* The versions of softmax; softmax.h says what they compute, softmax.c which one runs. */
#include "kernels/numbers.cuh"
#include "kernels/softmax.h"
#include "kernels/team.cuh"

#define LOG2_E 1.4426950408889634f

template <class T> struct softmax_row {
	const T *x, *mask;
	T *y;
	unsigned seen; /* columns that may be looked at: the first ones */
};

template <class T>
__device__ inline softmax_row<T> softmax_row_of(const struct kp_softmax_args &args, unsigned row)
{
	long long outer = row / args.queries, query = row % args.queries;
	long long seen = args.causal ? query + 1 + args.columns - args.queries : args.columns;
	softmax_row<T> out;

	out.x = (const T *)args.x + outer * args.x_outer + query * args.x_query;
	out.y = (T *)args.y + outer * args.y_outer + query * args.y_query;
	out.mask = nullptr;
	if (args.mask)
		out.mask = (const T *)args.mask + outer / args.mask_outer_group * args.mask_outer +
			   query * args.mask_query;
	out.seen = seen < 0 ? 0 : (unsigned)seen;
	return out;
}

/* exp(value - most); what is not seen has the value -infinity. */
__device__ inline float exponential(float value, float most)
{
	return exp2f((value - most) * LOG2_E);
}

/* The values v of WIDTH columns from `column` on. */
template <class T>
__device__ inline void softmax_values(const struct kp_softmax_args &args, const softmax_row<T> &row,
				      unsigned column, uint4 x, uint4 mask, float out[WIDTH])
{
	float more[WIDTH];

	unpack<T>(x, out);
	unpack<T>(mask, more);
#pragma unroll
	for (int j = 0; j < WIDTH; j++) {
		out[j] *= args.scale;
		if (row.mask)
			out[j] += more[j];
		if (column + j >= row.seen)
			out[j] = -INFINITY;
	}
}

template <bool BLOCK, class Op>
__device__ inline float softmax_reduce(float value, unsigned team, float *parts)
{
	return BLOCK ? reduce_block<Op>(value, parts) : reduce_lanes<Op>(value, team);
}

/* values becomes exp(v - largest); returns 1 / their sum. */
template <int VECTORS, bool BLOCK>
__device__ inline float softmax_scale(float values[VECTORS][WIDTH], unsigned team, float *parts)
{
	float most = -INFINITY, total = 0;

#pragma unroll
	for (int i = 0; i < VECTORS; i++)
#pragma unroll
		for (int j = 0; j < WIDTH; j++)
			most = fmaxf(most, values[i][j]);
	most = softmax_reduce<BLOCK, largest>(most, team, parts);
#pragma unroll
	for (int i = 0; i < VECTORS; i++)
#pragma unroll
		for (int j = 0; j < WIDTH; j++) {
			values[i][j] = exponential(values[i][j], most);
			total += values[i][j];
		}
	return 1 / softmax_reduce<BLOCK, sum>(total, team, parts + WARPS_MOST);
}

/* A team of threads holds a row. */
template <class T, int VECTORS, bool BLOCK>
__device__ inline void softmax_in_registers(const struct kp_softmax_args &args)
{
	__shared__ float parts[2 * WARPS_MOST];
	unsigned team = BLOCK ? blockDim.x : args.team;
	unsigned lane = BLOCK ? threadIdx.x : threadIdx.x & (team - 1);
	unsigned number = BLOCK ? blockIdx.x : (blockIdx.x * blockDim.x + threadIdx.x) / team;
	/* A team behind the last row goes through the motions: its warp has others. */
	bool is_row = number < args.outer * args.queries;
	const softmax_row<T> row = softmax_row_of<T>(args, is_row ? number : 0);
	unsigned vectors = is_row ? args.columns / WIDTH : 0;
	uint4 x[VECTORS] = {}, mask[VECTORS] = {};
	float values[VECTORS][WIDTH], scale;

	let_next_launch_begin();
	wait_for_launch_in_front();
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		unsigned column = (lane + i * team) * WIDTH;

		if (lane + i * team < vectors && column < row.seen) {
			x[i] = load_once(row.x + column);
			if (row.mask)
				mask[i] = *(const uint4 *)(row.mask + column);
		}
	}
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		unsigned column = (lane + i * team) * WIDTH;

		softmax_values(args, row, lane + i * team < vectors ? column : row.seen, x[i],
			       mask[i], values[i]);
	}
	scale = softmax_scale<VECTORS, BLOCK>(values, team, parts);
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
#pragma unroll
		for (int j = 0; j < WIDTH; j++)
			values[i][j] *= scale;
		if (lane + i * team < vectors)
			*(uint4 *)(row.y + (lane + i * team) * WIDTH) = pack<T>(values[i]);
	}
}

/* ---- rows that do not fit, or are not aligned: STEP columns at once, WIDTH or one ---- */

template <class T, int STEP>
__device__ inline void softmax_load(const struct kp_softmax_args &args, const softmax_row<T> &row,
				    unsigned column, float out[STEP])
{
	if constexpr (STEP == 1) {
		out[0] = to_float(row.x[column]) * args.scale;
		if (row.mask)
			out[0] += to_float(row.mask[column]);
	} else {
		uint4 mask = make_uint4(0, 0, 0, 0);

		if (row.mask)
			mask = *(const uint4 *)(row.mask + column);
		softmax_values(args, row, column, *(const uint4 *)(row.x + column), mask, out);
	}
}

/* The largest value so far and the sum of exp(v - largest): one more value. */
__device__ inline void softmax_take(float value, float *most, float *total)
{
	float larger = fmaxf(*most, value);

	if (larger > *most) {
		*total *= exponential(*most, larger);
		*most = larger;
	}
	/* Nothing but -infinity so far: it adds nothing. A NaN does. */
	if (!(value == -INFINITY && *most == -INFINITY))
		*total += exponential(value, *most);
}

template <class T, int STEP>
__device__ inline void softmax_store(const softmax_row<T> &row, unsigned column, float most,
				     float scale, float values[STEP])
{
#pragma unroll
	for (int j = 0; j < STEP; j++)
		values[j] = exponential(values[j], most) * scale;
	if constexpr (STEP == 1)
		from_float(values[0], &row.y[column]);
	else
		*(uint4 *)(row.y + column) = pack<T>(values);
}

template <class T, int STEP>
__device__ inline void softmax_twice(const struct kp_softmax_args &args)
{
	__shared__ float parts[2 * WARPS_MOST];
	const softmax_row<T> row = softmax_row_of<T>(args, blockIdx.x);
	float most = -INFINITY, total = 0, all, values[STEP];

	let_next_launch_begin();
	wait_for_launch_in_front();
	for (unsigned at = threadIdx.x * STEP; at < row.seen; at += blockDim.x * STEP) {
		softmax_load<T, STEP>(args, row, at, values);
#pragma unroll
		for (int j = 0; j < STEP; j++)
			softmax_take(values[j], &most, &total);
	}
	all = reduce_block<largest>(most, parts);
	/* A thread with nothing but -infinity has a sum of 0, or of NaN. */
	if (most > -INFINITY)
		total *= exponential(most, all);
	total = 1 / reduce_block<sum>(total, parts + WARPS_MOST);
	for (unsigned at = threadIdx.x * STEP; at < args.columns; at += blockDim.x * STEP) {
		if (at < row.seen)
			softmax_load<T, STEP>(args, row, at, values);
		else
#pragma unroll
			for (int j = 0; j < STEP; j++)
				values[j] = -INFINITY;
		softmax_store<T, STEP>(row, at, all, total, values);
	}
}

#define KERNEL(name, threads, ...)                                                                 \
	extern "C" __global__ void __launch_bounds__(threads)                                      \
		kp_##name##_bf16(const __grid_constant__ struct kp_softmax_args args)              \
	{                                                                                          \
		using T = __nv_bfloat16;                                                           \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	extern "C" __global__ void __launch_bounds__(threads)                                      \
		kp_##name##_fp16(const __grid_constant__ struct kp_softmax_args args)              \
	{                                                                                          \
		using T = __half;                                                                  \
		__VA_ARGS__;                                                                       \
	}

KERNEL(softmax_team_1, 128, softmax_in_registers<T, 1, false>(args))
KERNEL(softmax_team_2, 128, softmax_in_registers<T, 2, false>(args))
KERNEL(softmax_team_4, 128, softmax_in_registers<T, 4, false>(args))
KERNEL(softmax_block_1, 1024, softmax_in_registers<T, 1, true>(args))
KERNEL(softmax_block_2, 1024, softmax_in_registers<T, 2, true>(args))
KERNEL(softmax_block_4, 512, softmax_in_registers<T, 4, true>(args))
KERNEL(softmax_block_8, 512, softmax_in_registers<T, 8, true>(args))
KERNEL(softmax_long, 1024, softmax_twice<T, WIDTH>(args))
KERNEL(softmax_any, 512, softmax_twice<T, 1>(args))

#undef KERNEL
