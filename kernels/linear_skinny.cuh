/*
 * The bodies of linear_skinny; see linear_skinny.h. W: the type that weights are stored in.
 *
 * A team of warps has some rows of the weight; its warps, and the blocks along y of the grid, take
 * turns along the inputs.
 */
#ifndef KP_KERNELS_LINEAR_SKINNY_CUH
#define KP_KERNELS_LINEAR_SKINNY_CUH

#include "kernels/linear_skinny.h"
#include "kernels/matrix.cuh"

#define GELU_SLOPE 0.7978845608028654f /* √(2/π) */
#define GELU_CUBE 0.044715f
#define HALF_ROOT 0.7071067811865476f
#define NO_VECTOR make_uint4(0, 0, 0, 0)

/* ---- the end: what is done to a sum ---- */

/* v · sigmoid(u) */
__device__ inline float linear_gate(float v, float u)
{
	return __fdividef(v, 1 + __expf(-u));
}

__device__ inline float linear_activate(enum kp_linear_activation activation, float v)
{
	switch (activation) {
	case KP_LINEAR_RELU:
		return v < 0 ? 0 : v;
	case KP_LINEAR_SILU:
		return linear_gate(v, v);
	case KP_LINEAR_GELU_TANH:
		return linear_gate(v, 2 * GELU_SLOPE * (v + GELU_CUBE * v * v * v));
	case KP_LINEAR_GELU_ERF:
		return 0.5f * v * (1 + erff(v * HALF_ROOT));
	default:
		return v;
	}
}

/* What the end needs of memory, so that it can be loaded before the sum is there. */
template <class T> struct linear_end {
	float scale, bias, residual;

	__device__ inline void load(const struct kp_linear_skinny_args &args, unsigned token,
				    unsigned output)
	{
		scale = args.weight_scale ? args.weight_scale[output] : 1;
		bias = args.bias ? to_float(((const T *)args.bias)[output]) : 0;
		residual = args.residual ? to_float(((const T *)args.residual +
						     token * args.residual_token)[output])
					 : 0;
	}
	__device__ inline void store(const struct kp_linear_skinny_args &args, unsigned token,
				     unsigned output, float sum) const
	{
		float value = linear_activate(args.activation, sum * scale + bias);

		from_float(value + residual, (T *)args.y + token * args.y_token + output);
	}
};

__device__ inline float *linear_partial(const struct kp_linear_skinny_args &args, unsigned split,
					unsigned token, unsigned output)
{
	return (float *)args.workspace + ((size_t)split * args.tokens + token) * args.outputs +
	       output;
}

/* The sum of a team: to y, or to the workspace where it is one split of several. */
template <class T>
__device__ inline void linear_put(const struct kp_linear_skinny_args &args, unsigned token,
				  unsigned output, float sum)
{
	linear_end<T> end;

	if (gridDim.y > 1) {
		*linear_partial(args, blockIdx.y, token, output) = sum;
		return;
	}
	end.load(args, token, output);
	end.store(args, token, output, sum);
}

/* A thread an output and token (y of the grid): the splits in order. */
template <class T> __device__ inline void linear_finish(const struct kp_linear_skinny_args &args)
{
	unsigned output = blockIdx.x * blockDim.x + threadIdx.x, token = blockIdx.y;
	linear_end<T> end;
	float total = 0;

	let_next_launch_begin();
	wait_for_launch_in_front();
	if (output >= args.outputs)
		return;
	end.load(args, token, output);
	for (unsigned split = 0; split < args.team; split++)
		total += *linear_partial(args, split, token, output);
	end.store(args, token, output, total);
}

/* ---- one token: rows ---- */

template <class W> struct weight_vector {
	static constexpr int COUNT = 16 / sizeof(W); /* elements */
	static constexpr int INPUTS = COUNT / WIDTH; /* vectors of x that they meet */
	static constexpr int WORDS = COUNT / 2;      /* in 16 bits */
};

/* The sum of products of the elements of a vector. */
template <class W> __device__ inline float dot(uint4 weight, const float *x, float sum)
{
	const unsigned words[4] = {weight.x, weight.y, weight.z, weight.w};

#pragma unroll
	for (int i = 0; i < weight_vector<W>::WORDS; i++) {
		float2 pair;

		if constexpr (sizeof(W) == 2)
			pair = unpack_pair(words[i], W());
		else
			pair = byte_pair(words[i / 2], i % 2, W());
		sum += x[2 * i] * pair.x;
		sum += x[2 * i + 1] * pair.y;
	}
	return sum;
}

/* Where a warp is: which of its team, which team of the grid. */
struct linear_place {
	unsigned lane, member, members, team;

	__device__ inline void find(const struct kp_linear_skinny_args &args)
	{
		unsigned warps = args.team / WARP, warp = threadIdx.x / WARP;

		lane = threadIdx.x % WARP;
		members = gridDim.y * warps;
		member = blockIdx.y * warps + warp % warps;
		team = blockIdx.x * (blockDim.x / args.team) + warp / warps;
	}
};

template <class T, class W, int ROWS, int STEPS> struct linear_rows {
	static constexpr int COUNT = weight_vector<W>::COUNT, INPUTS = weight_vector<W>::INPUTS;
	const W *rows[ROWS];
	const T *x;
	unsigned vectors, at, stride;
	uint4 weights[STEPS][ROWS];
	float sums[ROWS];

	__device__ inline void find(const struct kp_linear_skinny_args &args,
				    const linear_place &place)
	{
#pragma unroll
		for (int i = 0; i < ROWS; i++) {
			unsigned row = place.team * ROWS + i;

			/* Behind the last row, that one once more. */
			row = row < args.outputs ? row : args.outputs - 1;
			rows[i] = (const W *)args.weight + row * args.weight_row;
			sums[i] = 0;
		}
		x = (const T *)args.x;
		vectors = args.inputs / COUNT;
		at = place.member * WARP + place.lane;
		stride = place.members * WARP;
	}
	/* The weights of step `step` from `from` on. */
	__device__ inline void load(int step, unsigned from)
	{
		unsigned vector = from + step * stride;

#pragma unroll
		for (int i = 0; i < ROWS; i++)
			weights[step][i] = vector < vectors
						   ? load_streamed(rows[i] + (size_t)vector * COUNT)
						   : NO_VECTOR;
	}
	__device__ inline void load_x(uint4 out[STEPS][INPUTS]) const
	{
#pragma unroll
		for (int step = 0; step < STEPS; step++)
#pragma unroll
			for (int i = 0; i < INPUTS; i++) {
				unsigned vector = at + step * stride;

				out[step][i] = vector < vectors
						       ? ((const uint4 *)x)[vector * INPUTS + i]
						       : NO_VECTOR;
			}
	}
	__device__ inline void run()
	{
		for (; at < vectors; at += STEPS * stride) {
			uint4 inputs[STEPS][INPUTS];

			load_x(inputs);
#pragma unroll
			for (int step = 0; step < STEPS; step++) {
				float values[COUNT];

#pragma unroll
				for (int i = 0; i < INPUTS; i++)
					unpack<T>(inputs[step][i], values + i * WIDTH);
#pragma unroll
				for (int i = 0; i < ROWS; i++)
					sums[i] = dot<W>(weights[step][i], values, sums[i]);
				load(step, at + STEPS * stride);
			}
		}
	}
};

template <class T, class W, int ROWS, int STEPS>
__device__ inline void linear_row(const struct kp_linear_skinny_args &args)
{
	__shared__ float parts[WARPS_MOST][ROWS];
	unsigned warps = args.team / WARP, warp = threadIdx.x / WARP;
	linear_rows<T, W, ROWS, STEPS> work;
	linear_place place;
	unsigned output;
	float total = 0;

	place.find(args);
	work.find(args, place);
	let_next_launch_begin();
#pragma unroll
	for (int step = 0; step < STEPS; step++)
		work.load(step, work.at);
	wait_for_launch_in_front();
	work.run();
#pragma unroll
	for (int i = 0; i < ROWS; i++) {
		float sum_of_row = reduce_warp<sum>(work.sums[i]);

		if (place.lane == 0)
			parts[warp][i] = sum_of_row;
	}
	__syncthreads();
	output = place.team * ROWS + place.lane;
	if (warp % warps || place.lane >= ROWS || output >= args.outputs)
		return;
	for (unsigned i = 0; i < warps; i++)
		total += parts[warp + i][place.lane];
	linear_put<T>(args, 0, output, total);
}

/* ---- 2 to 16 tokens: tiles of 16 rows by 8 tokens ---- */

/* The words of a fragment that a vector of weights becomes. */
template <class T, class W>
__device__ inline void fragment(uint4 vector, unsigned out[weight_vector<W>::WORDS])
{
	const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};

#pragma unroll
	for (int i = 0; i < 4; i++) {
		if constexpr (sizeof(W) == 2) {
			out[i] = words[i];
		} else {
			uint2 wide = widen<T, W>(words[i]);

			out[2 * i] = wide.x;
			out[2 * i + 1] = wide.y;
		}
	}
}

/* TILES of rows, SIDES of eight tokens. A step is 64 bytes of each row, two of them a line. */
template <class T, class W, int TILES, int SIDES, int STEPS> struct linear_tiles {
	static constexpr int COUNT = weight_vector<W>::COUNT, INPUTS = weight_vector<W>::INPUTS;
	static constexpr int WORDS = weight_vector<W>::WORDS;
	const W *rows[2 * TILES];
	const T *tokens[SIDES];
	bool has_token[SIDES];
	unsigned vectors, chunk, members, lane;
	uint4 weights[STEPS][2 * TILES];
	float sums[TILES][SIDES][4];

	__device__ inline void find(const struct kp_linear_skinny_args &args,
				    const linear_place &place)
	{
		unsigned g = place.lane / 4;

#pragma unroll
		for (int i = 0; i < 2 * TILES; i++) {
			unsigned row = (place.team * TILES * 2 + i) * 8 + g;

			row = row < args.outputs ? row : args.outputs - 1;
			rows[i] = (const W *)args.weight + row * args.weight_row;
		}
#pragma unroll
		for (int i = 0; i < SIDES; i++) {
			has_token[i] = i * 8 + g < args.tokens;
			tokens[i] =
				(const T *)args.x + (has_token[i] ? (i * 8 + g) * args.x_token : 0);
		}
#pragma unroll
		for (int i = 0; i < TILES * SIDES * 4; i++)
			sums[i / 4 / SIDES][i / 4 % SIDES][i % 4] = 0;
		vectors = args.inputs / COUNT;
		chunk = place.member;
		members = place.members;
		lane = place.lane;
	}
	/* The lane's vector of a row at a step from chunk `from` on. */
	__device__ inline unsigned vector_at(int step, unsigned from) const
	{
		return (from + step / 2 * members) * 8 + step % 2 * 4 + lane % 4;
	}
	__device__ inline void load(int step, unsigned from)
	{
		unsigned vector = vector_at(step, from);

#pragma unroll
		for (int i = 0; i < 2 * TILES; i++)
			weights[step][i] = vector < vectors
						   ? load_streamed(rows[i] + (size_t)vector * COUNT)
						   : NO_VECTOR;
	}
	__device__ inline void load_x(uint4 out[STEPS][SIDES][INPUTS]) const
	{
#pragma unroll
		for (int i = 0; i < STEPS * SIDES * INPUTS; i++) {
			int step = i / INPUTS / SIDES, side = i / INPUTS % SIDES;
			unsigned vector = vector_at(step, chunk);

			out[step][side][i % INPUTS] =
				has_token[side] && vector < vectors
					? ((const uint4 *)
						   tokens[side])[vector * INPUTS + i % INPUTS]
					: NO_VECTOR;
		}
	}
	__device__ inline void multiply(int step, const uint4 inputs[SIDES][INPUTS])
	{
#pragma unroll
		for (int tile = 0; tile < TILES; tile++) {
			unsigned upper[WORDS], lower[WORDS];

			fragment<T, W>(weights[step][2 * tile], upper);
			fragment<T, W>(weights[step][2 * tile + 1], lower);
#pragma unroll
			for (int i = 0; i < SIDES * WORDS / 2; i++) {
				int side = i / (WORDS / 2), k = i % (WORDS / 2) * 2;
				const uint4 x = inputs[side][k / 4];
				const unsigned a[4] = {upper[k], lower[k], upper[k + 1],
						       lower[k + 1]};
				const unsigned b[2] = {k % 4 ? x.z : x.x, k % 4 ? x.w : x.y};

				multiply_add<T>(sums[tile][side], a, b);
			}
		}
	}
	__device__ inline void run()
	{
		/* All lanes of a warp go round equally often. */
		for (; chunk * 8 < vectors; chunk += STEPS / 2 * members) {
			uint4 inputs[STEPS][SIDES][INPUTS];

			load_x(inputs);
#pragma unroll
			for (int step = 0; step < STEPS; step++) {
				multiply(step, inputs[step]);
				load(step, chunk + STEPS / 2 * members);
			}
		}
	}
};

/* What the warps have, by warp, token and row. */
template <int TILES, int SIDES> struct linear_parts {
	float of[8][SIDES * 8][TILES * 16];
};

template <class T, int TILES, int SIDES>
__device__ inline void linear_add_up(const struct kp_linear_skinny_args &args,
				     const linear_parts<TILES, SIDES> &parts)
{
	constexpr unsigned ROWS = TILES * 16;
	unsigned warps = args.team / WARP, teams = blockDim.x / args.team;

	for (unsigned i = threadIdx.x; i < teams * ROWS * args.tokens; i += blockDim.x) {
		unsigned row = i % ROWS, team = i / ROWS % teams, token = i / ROWS / teams;
		unsigned output = (blockIdx.x * teams + team) * ROWS + row;
		float total = 0;

		for (unsigned warp = 0; warp < warps; warp++)
			total += parts.of[team * warps + warp][token][row];
		if (output < args.outputs)
			linear_put<T>(args, token, output, total);
	}
}

template <class T, class W, int TILES, int SIDES, int STEPS>
__device__ inline void linear_tile(const struct kp_linear_skinny_args &args)
{
	__shared__ linear_parts<TILES, SIDES> parts;
	linear_tiles<T, W, TILES, SIDES, STEPS> work;
	linear_place place;

	place.find(args);
	work.find(args, place);
	let_next_launch_begin();
#pragma unroll
	for (int step = 0; step < STEPS; step++)
		work.load(step, work.chunk);
	wait_for_launch_in_front();
	work.run();
#pragma unroll
	for (int i = 0; i < TILES * SIDES * 4; i++) {
		int tile = i / 4 / SIDES, side = i / 4 % SIDES, part = i % 4;

		parts.of[threadIdx.x / WARP][side * 8 + place.lane % 4 * 2 + part % 2]
			[tile * 16 + part / 2 * 8 + place.lane / 4] = work.sums[tile][side][part];
	}
	__syncthreads();
	linear_add_up<T, TILES, SIDES>(args, parts);
}

/* ---- any alignment, any number of inputs ---- */

template <class T>
__device__ inline float linear_weight(const struct kp_linear_skinny_args &args, long long at)
{
	if (args.weight_dtype == KP_DTYPE_E4M3)
		return to_float(((const e4m3 *)args.weight)[at]);
	if (args.weight_dtype == KP_DTYPE_INT8)
		return to_float(((const int8 *)args.weight)[at]);
	return to_float(((const T *)args.weight)[at]);
}

template <class T> __device__ inline void linear_any(const struct kp_linear_skinny_args &args)
{
	float sums[KP_LINEAR_SKINNY_TOKENS_MOST] = {};
	linear_place place;

	place.find(args);
	let_next_launch_begin();
	wait_for_launch_in_front();
	if (place.team >= args.outputs)
		return;
	for (unsigned i = place.member * WARP + place.lane; i < args.inputs;
	     i += place.members * WARP) {
		float weight = linear_weight<T>(args, place.team * args.weight_row + i);

#pragma unroll
		for (unsigned token = 0; token < KP_LINEAR_SKINNY_TOKENS_MOST; token++)
			if (token < args.tokens)
				sums[token] +=
					weight *
					to_float(((const T *)args.x + token * args.x_token)[i]);
	}
#pragma unroll
	for (unsigned token = 0; token < KP_LINEAR_SKINNY_TOKENS_MOST; token++) {
		float total = reduce_warp<sum>(sums[token]);

		if (token < args.tokens && place.lane == 0)
			linear_put<T>(args, token, place.team, total);
	}
}

#endif
