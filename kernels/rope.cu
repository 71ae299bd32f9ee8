/* The versions of the rotary embedding; rope.h says what they compute, rope.c which one runs. */
#include "kernels/numbers.cuh"
#include "kernels/rope.h"

#define TURNS_A_RADIAN 0.15915494309189535 /* 1 / 2π */

/* Cosines and sines of a token, one a pair. */
struct rope_angles {
	float cosines[KP_ROPE_ROTARY_MOST / 2], sines[KP_ROPE_ROTARY_MOST / 2];
};

template <class T>
__device__ inline float rope_table(const struct kp_rope_args &args, const void *table,
				   long long position, unsigned pair)
{
	long long at = position * args.table_position + pair;

	return args.table_dtype == KP_DTYPE_FP32 ? ((const float *)table)[at]
						 : to_float(((const T *)table)[at]);
}

template <class T>
__device__ inline void rope_fill(const struct kp_rope_args &args, long long position,
				 rope_angles &out)
{
	for (unsigned pair = threadIdx.x; pair < args.rotary / 2; pair += blockDim.x) {
		float cosine, sine;

		if (args.cosines) {
			cosine = rope_table<T>(args, args.cosines, position, pair);
			sine = rope_table<T>(args, args.sines, position, pair);
		} else {
			double turns = (double)position * args.frequencies[pair] * TURNS_A_RADIAN;

			sincospif(2 * (float)(turns - rint(turns)), &sine, &cosine);
		}
		out.cosines[pair] = args.round_like_eager ? rounded<T>(cosine) : cosine;
		out.sines[pair] = args.round_like_eager ? rounded<T>(sine) : sine;
	}
}

template <class T>
__device__ inline void rotate(const struct kp_rope_args &args, const rope_angles &angles,
			      unsigned pair, float *a, float *b)
{
	float cosine = angles.cosines[pair], sine = angles.sines[pair];
	float ac = *a * cosine, as = *a * sine, bc = *b * cosine, bs = *b * sine;

	if (args.round_like_eager) {
		*a = rounded<T>(ac) - rounded<T>(bs);
		*b = rounded<T>(bc) + rounded<T>(as);
	} else {
		*a = ac - bs;
		*b = bc + as;
	}
}

/* STEP elements at a time: WIDTH as a vector, or so many single ones. */
template <class T, int STEP> struct rope_part {
	float values[STEP];

	__device__ inline void load(const T *from)
	{
		if constexpr (STEP == WIDTH) {
			unpack<T>(load_once(from), values);
			return;
		}
		for (int i = 0; i < STEP; i++)
			values[i] = to_float(from[i]);
	}
	__device__ inline void store(T *to) const
	{
		if constexpr (STEP == WIDTH) {
			assume_global(to);
			*(uint4 *)to = pack<T>(values);
			return;
		}
		for (int i = 0; i < STEP; i++)
			from_float(values[i], &to[i]);
	}
};

/* One head of a token, and the places that its elements go to; NULL: there is none. */
template <class T> struct rope_head {
	const T *from;
	T *out, *cache;
};

template <class T>
__device__ inline T *cache_place(void *cache, long long slot, unsigned page_tokens, long long page,
				 long long token, long long head_offset)
{
	if (!cache || slot < 0)
		return nullptr;
	return (T *)cache + slot / page_tokens * page + slot % page_tokens * token + head_offset;
}

/* Heads are numbered: those of q, of k, of v. */
template <class T>
__device__ inline rope_head<T> rope_head_of(const struct kp_rope_args &args, unsigned token,
					    unsigned head, long long slot)
{
	unsigned k = head - args.q_heads, v = k - args.kv_heads;

	if (head < args.q_heads)
		return {(const T *)args.q + token * args.q_token + head * args.q_head,
			(T *)args.q_out + token * args.q_out_token + head * args.q_out_head,
			nullptr};
	if (k < args.kv_heads)
		return {(const T *)args.k + token * args.k_token + k * args.k_head,
			args.k_out
				? (T *)args.k_out + token * args.k_out_token + k * args.k_out_head
				: nullptr,
			cache_place<T>(args.k_cache, slot, args.page_tokens, args.k_cache_page,
				       args.k_cache_token, k * args.k_cache_head)};
	return {(const T *)args.v + token * args.v_token + v * args.v_head, nullptr,
		cache_place<T>(args.v_cache, slot, args.page_tokens, args.v_cache_page,
			       args.v_cache_token, v * args.v_cache_head)};
}

template <class T, int STEP>
__device__ inline void rope_put(const rope_head<T> &head, unsigned at,
				const rope_part<T, STEP> &part)
{
	if (head.out)
		part.store(head.out + at);
	if (head.cache)
		part.store(head.cache + at);
}

/*
 * A thread's share: of a head that is rotated in neox order STEP pairs, whose two sides are `half`
 * apart; otherwise STEP elements in a row (`second` is not used).
 */
template <class T, int STEP> struct rope_unit {
	rope_head<T> head;
	rope_part<T, STEP> first, second;
	unsigned at, half; /* half 0: elements in a row */
	bool turns;

	__device__ inline void find(const struct kp_rope_args &args, unsigned token, unsigned unit,
				    long long slot)
	{
		unsigned turning = args.q_heads + args.kv_heads;
		unsigned pairs = args.interleaved ? 0 : args.rotary / 2 / STEP;
		unsigned a_head = args.head_dim / STEP - pairs, number = unit / a_head;

		if (number >= turning) {
			a_head = args.head_dim / STEP;
			unit -= turning * (a_head - pairs);
			number = unit / a_head;
			at = unit % a_head * STEP;
			half = 0;
			turns = false;
			head = rope_head_of<T>(args, token, turning + number, slot);
			return;
		}
		unit %= a_head;
		half = unit < pairs ? args.rotary / 2 : 0;
		at = (unit < pairs ? unit : unit + pairs) * STEP;
		turns = at < args.rotary;
		head = rope_head_of<T>(args, token, number, slot);
	}
	__device__ inline void load()
	{
		first.load(head.from + at);
		if (half)
			second.load(head.from + at + half);
	}
	__device__ inline void turn(const struct kp_rope_args &args, const rope_angles &angles)
	{
		if (half) {
#pragma unroll
			for (int i = 0; i < STEP; i++)
				rotate<T>(args, angles, at + i, &first.values[i],
					  &second.values[i]);
			return;
		}
#pragma unroll
		for (int i = 0; i + 1 < STEP; i += 2)
			rotate<T>(args, angles, (at + i) / 2, &first.values[i],
				  &first.values[i + 1]);
	}
	__device__ inline void store() const
	{
		rope_put(head, at, first);
		if (half)
			rope_put(head, at + half, second);
	}
};

__device__ inline unsigned rope_units(const struct kp_rope_args &args, unsigned step)
{
	unsigned pairs = args.interleaved ? 0 : args.rotary / 2 / step;
	unsigned whole = args.head_dim / step, copied = args.v ? args.kv_heads : 0;

	return (args.q_heads + args.kv_heads) * (whole - pairs) + copied * whole;
}

template <class T, int STEP> __device__ inline void rope(const struct kp_rope_args &args)
{
	__shared__ rope_angles angles;
	unsigned token = blockIdx.x, units = rope_units(args, STEP);
	unsigned unit = blockIdx.y * blockDim.x + threadIdx.x;
	rope_unit<T, STEP> work;
	long long slot;

	let_next_launch_begin();
	wait_for_launch_in_front();
	slot = args.slots ? args.slots[token] : -1;
	if (unit < units) {
		work.find(args, token, unit, slot);
		work.load();
	}
	rope_fill<T>(args, args.positions[token], angles);
	__syncthreads();
	while (unit < units) {
		if (work.turns)
			work.turn(args, angles);
		work.store();
		unit += gridDim.y * blockDim.x;
		if (unit < units) {
			work.find(args, token, unit, slot);
			work.load();
		}
	}
}

/* By single elements the order decides how many belong together. */
template <class T> __device__ inline void rope_elements(const struct kp_rope_args &args)
{
	if (args.interleaved)
		rope<T, 2>(args);
	else
		rope<T, 1>(args);
}

#define KERNEL(name, ...)                                                                          \
	extern "C" __global__ void __launch_bounds__(256)                                          \
		kp_##name##_bf16(const __grid_constant__ struct kp_rope_args args)                 \
	{                                                                                          \
		using T = __nv_bfloat16;                                                           \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	extern "C" __global__ void __launch_bounds__(256)                                          \
		kp_##name##_fp16(const __grid_constant__ struct kp_rope_args args)                 \
	{                                                                                          \
		using T = __half;                                                                  \
		__VA_ARGS__;                                                                       \
	}

KERNEL(rope_vector, rope<T, WIDTH>(args))
KERNEL(rope_any, rope_elements<T>(args))

#undef KERNEL
