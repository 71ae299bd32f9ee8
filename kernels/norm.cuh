/*
 * The bodies of rmsnorm and layernorm; see norm.h. LAYER: the mean is taken off.
 *
 * norm_in_registers: a team of threads holds a row, VECTORS of 16 bytes each; needs 16-byte
 * alignment and columns a multiple of 8. norm_any: a block a row, by single elements, which reads
 * the row (from L2) once more for each sum.
 */
#include "kernels/norm.h"
#include "kernels/numbers.cuh"
#include "kernels/team.cuh"

#define E4M3_MOST 448.0f
#define E4M3_LEAST_ROW 7.7037197775489434e-34f /* 2⁻¹¹⁰: rows below count as zeros */

/* Where a row's elements are. */
template <class T> struct norm_row {
	const T *x, *residual;
	T *sum, *y;
	unsigned char *y_e4m3;
};

template <class T>
__device__ inline norm_row<T> norm_row_of(const struct kp_norm_args &args, unsigned row)
{
	long long outer = row / args.inner, inner = row % args.inner;
	long long y = outer * args.y_outer + inner * args.y_inner;

	return {(const T *)args.x + outer * args.x_outer + inner * args.x_inner,
		args.residual ? (const T *)args.residual + outer * args.residual_outer +
					inner * args.residual_inner
			      : nullptr,
		args.sum ? (T *)args.sum + outer * args.sum_outer + inner * args.sum_inner
			 : nullptr,
		(T *)args.y + y, (unsigned char *)args.y + y};
}

/* The last part of the formula, for one element. */
template <class T>
__device__ inline float norm_scale(const struct kp_norm_args &args, float value, float weight,
				   float bias)
{
	if (args.round_like_eager)
		value = rounded<T>(value);
	if (args.weight)
		value *= weight + args.weight_offset;
	if (args.bias)
		value = (args.round_like_eager ? rounded<T>(value) : value) + bias;
	return value;
}

__device__ inline float e4m3_scale(float most)
{
	return most < E4M3_LEAST_ROW ? 1 : most / E4M3_MOST;
}

__device__ inline float e4m3_inverse(float most)
{
	return most < E4M3_LEAST_ROW ? 0 : E4M3_MOST / most;
}

template <bool BLOCK> struct norm_team {
	unsigned size, lane, row;
	float *parts;
	unsigned uses;

	template <class Op> __device__ inline float reduce(float value)
	{
		return BLOCK ? reduce_block<Op>(value, parts + uses++ % 2 * WARPS_MOST)
			     : reduce_lanes<Op>(value, size);
	}
};

template <bool BLOCK> __device__ inline norm_team<BLOCK> norm_team_of(unsigned size, float *parts)
{
	if (BLOCK)
		return {blockDim.x, threadIdx.x, blockIdx.x, parts, 0};
	return {size, threadIdx.x & (size - 1), (blockIdx.x * blockDim.x + threadIdx.x) / size,
		nullptr, 0};
}

/* The vectors of h, rounded as they are stored; and out to sum. */
template <class T, int VECTORS>
__device__ inline void norm_load(const norm_row<T> &row, unsigned lane, unsigned size,
				 unsigned vectors, uint4 h[VECTORS])
{
	uint4 residual[VECTORS] = {};

#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		h[i] = make_uint4(0, 0, 0, 0);
		if (lane + i * size < vectors) {
			h[i] = load_once(row.x + (lane + i * size) * WIDTH);
			if (row.residual)
				residual[i] = load_once(row.residual + (lane + i * size) * WIDTH);
		}
	}
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		if (row.residual)
			h[i] = add<T>(h[i], residual[i]);
		if (row.sum && lane + i * size < vectors)
			*(uint4 *)(row.sum + (lane + i * size) * WIDTH) = h[i];
	}
}

/* Mean and 1 / deviation of what a team holds. */
template <class T, bool LAYER, int VECTORS, bool BLOCK>
__device__ inline float2 norm_moments(norm_team<BLOCK> &team, const struct kp_norm_args &args,
				      unsigned vectors, const uint4 h[VECTORS])
{
	float mean = 0, squares = 0, values[WIDTH];

	if (LAYER) {
		float total = 0;

#pragma unroll
		for (int i = 0; i < VECTORS; i++) {
			unpack<T>(h[i], values);
#pragma unroll
			for (int j = 0; j < WIDTH; j++)
				total += values[j];
		}
		mean = team.template reduce<sum>(total) / args.columns;
	}
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		if (LAYER && team.lane + i * team.size >= vectors)
			continue;
		unpack<T>(h[i], values);
#pragma unroll
		for (int j = 0; j < WIDTH; j++)
			squares += (values[j] - mean) * (values[j] - mean);
	}
	squares = team.template reduce<sum>(squares);
	return make_float2(mean, rsqrtf(squares / args.columns + args.eps));
}

__device__ inline uint4 norm_load_weight(const void *from, unsigned at, unsigned vectors)
{
	return from && at < vectors ? __ldg((const uint4 *)from + at) : make_uint4(0, 0, 0, 0);
}

/*
 * Weight and bias of a thread's vectors. They need not wait for the launch in front: where there
 * are registers for it they are loaded before that.
 */
template <int VECTORS> struct norm_weights {
	static constexpr bool EARLY = VECTORS <= 2;
	uint4 weight[EARLY ? VECTORS : 1], bias[EARLY ? VECTORS : 1];

	__device__ inline void load(const struct kp_norm_args &args, int i, unsigned at,
				    unsigned vectors)
	{
		weight[EARLY ? i : 0] = norm_load_weight(args.weight, at, vectors);
		bias[EARLY ? i : 0] = norm_load_weight(args.bias, at, vectors);
	}
	__device__ inline void load_early(const struct kp_norm_args &args, unsigned lane,
					  unsigned size, unsigned vectors)
	{
#pragma unroll
		for (int i = 0; EARLY && i < VECTORS; i++)
			load(args, i, lane + i * size, vectors);
	}
};

/* The results of one vector, not yet rounded. */
template <class T, bool LAYER, int VECTORS>
__device__ inline void norm_results(const struct kp_norm_args &args, float2 moments,
				    const norm_weights<VECTORS> &weights, int i, uint4 h,
				    float out[WIDTH])
{
	float weight[WIDTH], bias[WIDTH];

	unpack<T>(h, out);
	unpack<T>(weights.weight[weights.EARLY ? i : 0], weight);
	unpack<T>(weights.bias[weights.EARLY ? i : 0], bias);
#pragma unroll
	for (int j = 0; j < WIDTH; j++) {
		float off = LAYER ? out[j] - moments.x : out[j];

		out[j] = norm_scale<T>(args, off * moments.y, weight[j], bias[j]);
	}
}

template <class T, bool LAYER, int VECTORS, bool BLOCK>
__device__ inline void norm_store(norm_team<BLOCK> &team, const struct kp_norm_args &args,
				  const norm_row<T> &row, unsigned vectors, float2 moments,
				  norm_weights<VECTORS> &weights, const uint4 h[VECTORS])
{
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		unsigned at = team.lane + i * team.size;
		float values[WIDTH];

		if (at >= vectors)
			continue;
		if (!weights.EARLY)
			weights.load(args, i, at, vectors);
		norm_results<T, LAYER, VECTORS>(args, moments, weights, i, h[i], values);
		*(uint4 *)(row.y + at * WIDTH) = pack<T>(values);
	}
}

/* The same as e4m3: once through for the largest, once more for the results. */
template <class T, bool LAYER, int VECTORS, bool BLOCK>
__device__ inline void norm_store_e4m3(norm_team<BLOCK> &team, const struct kp_norm_args &args,
				       const norm_row<T> &row, unsigned vectors, float2 moments,
				       norm_weights<VECTORS> &weights, const uint4 h[VECTORS])
{
	float most = 0, values[WIDTH], inverse;

#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		unsigned at = team.lane + i * team.size;

		if (at >= vectors)
			continue;
		if (!weights.EARLY)
			weights.load(args, i, at, vectors);
		norm_results<T, LAYER, VECTORS>(args, moments, weights, i, h[i], values);
#pragma unroll
		for (int j = 0; j < WIDTH; j++)
			most = fmaxf(most, fabsf(values[j]));
	}
	most = team.template reduce<largest>(most);
	inverse = e4m3_inverse(most);
	if (vectors && team.lane == 0)
		args.y_scale[team.row] = e4m3_scale(most);
#pragma unroll
	for (int i = 0; i < VECTORS; i++) {
		unsigned at = team.lane + i * team.size;

		if (at >= vectors)
			continue;
		if (!weights.EARLY)
			weights.load(args, i, at, vectors);
		norm_results<T, LAYER, VECTORS>(args, moments, weights, i, h[i], values);
#pragma unroll
		for (int j = 0; j < WIDTH; j++)
			values[j] *= inverse;
		*(uint2 *)(row.y_e4m3 + at * WIDTH) = pack_e4m3(values);
	}
}

template <class T, bool LAYER, int VECTORS, bool BLOCK>
__device__ inline void norm_in_registers(const struct kp_norm_args &args)
{
	__shared__ float parts[2 * WARPS_MOST];
	norm_team<BLOCK> team = norm_team_of<BLOCK>(args.team, parts);
	/* A team behind the last row goes through the motions: its warp has others. */
	bool is_row = team.row < args.outer * args.inner;
	unsigned vectors = is_row ? args.columns / WIDTH : 0;
	const norm_row<T> row = norm_row_of<T>(args, is_row ? team.row : 0);
	norm_weights<VECTORS> weights;
	uint4 h[VECTORS];
	float2 moments;

	let_next_launch_begin();
	weights.load_early(args, team.lane, team.size, vectors);
	wait_for_launch_in_front();
	norm_load<T, VECTORS>(row, team.lane, team.size, vectors, h);
	moments = norm_moments<T, LAYER, VECTORS, BLOCK>(team, args, vectors, h);
	if (args.y_dtype == KP_DTYPE_E4M3)
		norm_store_e4m3<T, LAYER, VECTORS, BLOCK>(team, args, row, vectors, moments,
							  weights, h);
	else
		norm_store<T, LAYER, VECTORS, BLOCK>(team, args, row, vectors, moments, weights, h);
	if (is_row && team.lane == 0) {
		if (LAYER && args.mean)
			args.mean[team.row] = moments.x;
		if (args.rstd)
			args.rstd[team.row] = moments.y;
	}
}

/* ---- any alignment, any length ---- */

/* h of an element; `again`: not the first time, so that it may lie in sum and no more in x. */
template <class T>
__device__ inline float norm_element(const norm_row<T> &row, unsigned column, bool again)
{
	float value;

	if (again && row.sum)
		return to_float(row.sum[column]);
	value = to_float(row.x[column]);
	if (row.residual)
		value = rounded<T>(value + to_float(row.residual[column]));
	if (!again && row.sum)
		from_float(value, &row.sum[column]);
	return value;
}

/* The result of an element, not yet rounded. */
template <class T>
__device__ inline float norm_result(const struct kp_norm_args &args, const norm_row<T> &row,
				    unsigned column, float2 moments)
{
	float weight = args.weight ? to_float(((const T *)args.weight)[column]) : 0;
	float bias = args.bias ? to_float(((const T *)args.bias)[column]) : 0;

	return norm_scale<T>(args, (norm_element(row, column, true) - moments.x) * moments.y,
			     weight, bias);
}

template <class T, bool LAYER>
__device__ inline float2 norm_any_moments(norm_team<true> &team, const struct kp_norm_args &args,
					  const norm_row<T> &row)
{
	float mean = 0, total = 0, squares = 0;

	for (unsigned i = team.lane; i < args.columns; i += team.size) {
		float h = norm_element(row, i, false);

		total += LAYER ? h : h * h;
	}
	total = team.template reduce<sum>(total);
	if (!LAYER)
		return make_float2(0, rsqrtf(total / args.columns + args.eps));
	mean = total / args.columns;
	for (unsigned i = team.lane; i < args.columns; i += team.size) {
		float off = norm_element(row, i, true) - mean;

		squares += off * off;
	}
	squares = team.template reduce<sum>(squares);
	return make_float2(mean, rsqrtf(squares / args.columns + args.eps));
}

template <class T, bool LAYER> __device__ inline void norm_any(const struct kp_norm_args &args)
{
	__shared__ float parts[2 * WARPS_MOST];
	norm_team<true> team = norm_team_of<true>(0, parts);
	const norm_row<T> row = norm_row_of<T>(args, team.row);
	float most = 0, inverse;
	float2 moments;

	let_next_launch_begin();
	wait_for_launch_in_front();
	moments = norm_any_moments<T, LAYER>(team, args, row);
	if (args.y_dtype == KP_DTYPE_E4M3) {
		for (unsigned i = team.lane; i < args.columns; i += team.size)
			most = fmaxf(most, fabsf(norm_result(args, row, i, moments)));
		most = team.template reduce<largest>(most);
		if (team.lane == 0)
			args.y_scale[team.row] = e4m3_scale(most);
	}
	inverse = e4m3_inverse(most);
	for (unsigned i = team.lane; i < args.columns; i += team.size) {
		float value = norm_result(args, row, i, moments);

		if (args.y_dtype == KP_DTYPE_E4M3)
			row.y_e4m3[i] =
				__nv_cvt_float_to_fp8(value * inverse, __NV_SATFINITE, __NV_E4M3);
		else
			from_float(value, &row.y[i]);
	}
	if (team.lane == 0) {
		if (LAYER && args.mean)
			args.mean[team.row] = moments.x;
		if (args.rstd)
			args.rstd[team.row] = moments.y;
	}
}
