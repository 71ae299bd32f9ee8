/* Which keys a sequence has, what a split takes of them, and where results go; for all versions. */
#ifndef KP_KERNELS_ATTENTION_RANGE_CUH
#define KP_KERNELS_ATTENTION_RANGE_CUH

#include "kernels/attention_decode.h"
#include "kernels/matrix.cuh"

#define ATTENTION_TILE 16 /* keys */
#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f

/* The last key that a query sees, -1 or less where it sees none; and the first. */
__device__ inline int attention_last(const struct kp_attention_decode_args &args, int length,
				     unsigned query)
{
	return length - (int)args.queries + (int)query;
}

__device__ inline int attention_first(const struct kp_attention_decode_args &args, int last)
{
	long long first = args.window ? (long long)last + 1 - args.window : 0;

	return first > 0 ? (int)first : 0;
}

/* Keys first … end - 1, from a multiple of a tile on. */
struct attention_range {
	int first, end, length;
};

__device__ inline attention_range attention_range_of(const struct kp_attention_decode_args &args,
						     unsigned sequence)
{
	int length = args.lengths[sequence], most = (int)args.length_most, first = 0;

	length = length < 0 ? 0 : length > most ? most : length;
	/* The first query's window begins before those of the others. */
	if (args.window)
		first = attention_first(args, attention_last(args, length, 0));
	return {first - first % ATTENTION_TILE, length, length};
}

__device__ inline unsigned attention_splits(const struct kp_attention_decode_args &args,
					    const attention_range &range)
{
	unsigned keys = (unsigned)(range.end - range.first);

	return keys / args.chunk + (keys % args.chunk != 0);
}

/* Scores in powers of two: exp(s) = 2^(s · log2 e). */
struct attention_score {
	float scale, cap, inverse_cap;

	__device__ inline void find(const struct kp_attention_decode_args &args)
	{
		float factor = args.cache_dtype == KP_DTYPE_E4M3 ? args.k_scale : 1;

		cap = args.softcap * LOG2_E;
		inverse_cap = cap != 0 ? 2 * args.scale * factor * LOG2_E / args.softcap : 0;
		scale = args.scale * factor * LOG2_E;
	}
	/* tanh(x) = 1 - 2 / (1 + exp(2x)) */
	__device__ inline float capped(float dot) const
	{
		return cap - cap * __fdividef(2, 1 + power_of_two(dot * inverse_cap));
	}
	__device__ inline float of(float dot) const
	{
		return cap == 0 ? dot * scale : capped(dot);
	}
};

__device__ inline float attention_value_scale(const struct kp_attention_decode_args &args)
{
	return args.cache_dtype == KP_DTYPE_E4M3 ? args.v_scale : 1;
}

/* A row of results: a head of a query of a sequence. */
struct attention_row {
	unsigned sequence, query, head;

	__device__ inline size_t number(const struct kp_attention_decode_args &args) const
	{
		return ((size_t)sequence * args.queries + query) * args.q_heads + head;
	}
};

template <class T>
__device__ inline T *attention_out(const struct kp_attention_decode_args &args,
				   const attention_row &row)
{
	return (T *)args.out + row.sequence * args.out_batch + row.query * args.out_query +
	       row.head * args.out_head;
}

/* The results of a split: head_dim floats a row; behind all of them the logarithms of the sums. */
__device__ inline float *attention_partial(const struct kp_attention_decode_args &args,
					   const attention_row &row, unsigned splits,
					   unsigned split)
{
	return (float *)args.workspace + (row.number(args) * splits + split) * args.head_dim;
}

__device__ inline float *attention_partial_log(const struct kp_attention_decode_args &args,
					       const attention_row &row, unsigned splits,
					       unsigned split)
{
	size_t rows = (size_t)args.batch * args.queries * args.q_heads;

	return (float *)args.workspace + rows * splits * args.head_dim + row.number(args) * splits +
	       split;
}

#endif
