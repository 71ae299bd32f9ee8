/*
 * What topk_topp_sample knows of a row: its rule, its weights, the state of the search, and how
 * blocks of a row meet. See topk_topp_sample.h.
 */
#ifndef KP_KERNELS_SAMPLE_STATE_CUH
#define KP_KERNELS_SAMPLE_STATE_CUH

#include "kernels/logits.cuh"
#include "kernels/sample_work.h"

#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f
#define SAMPLE_REACH 33.0f /* log2 of where no weight is left, and a margin */
#define SAMPLE_THREADS KP_LOGITS_THREADS
#define SAMPLE_WARPS LOGITS_WARPS

typedef unsigned long long sample_sum;

template <class T> struct sample_type;
template <> struct sample_type<__nv_bfloat16> {
	static constexpr unsigned DROPPED = 32 - KP_SAMPLE_KEY_BITS(KP_DTYPE_BF16);
};
template <> struct sample_type<__half> {
	static constexpr unsigned DROPPED = 32 - KP_SAMPLE_KEY_BITS(KP_DTYPE_FP16);
};
template <> struct sample_type<float> {
	static constexpr unsigned DROPPED = 32 - KP_SAMPLE_KEY_BITS(KP_DTYPE_FP32);
};

/* A number of the same order as the elements of T: the larger, the larger; equal where they are. */
template <class T> __device__ inline unsigned sample_key(float value)
{
	unsigned bits = __float_as_uint(value + 0.0f); /* -0 becomes 0 */

	return (bits >> 31 ? ~bits : bits | 0x80000000u) >> sample_type<T>::DROPPED;
}

/* ---- what is asked of a row ---- */

struct sample_rule {
	float inverse; /* log2 e / temperature */
	float top_p, min_p;
	unsigned top_k; /* 0: off */
	bool greedy;

	__device__ inline void find(const struct kp_topk_topp_sample_args &args, unsigned row)
	{
		float temperature = args.temperatures ? args.temperatures[row] : args.temperature;
		int k = args.top_ks ? args.top_ks[row] : args.top_k;

		greedy = !(temperature > 0);
		inverse = greedy ? INFINITY : LOG2_E / temperature;
		top_p = args.top_ps ? args.top_ps[row] : args.top_p;
		min_p = args.min_ps ? args.min_ps[row] : args.min_p;
		top_k = k > 0 && (unsigned)k < args.columns ? (unsigned)k : 0;
	}
	__device__ inline bool only_largest() const
	{
		return greedy || top_k == 1 || top_p <= 0;
	}
	/* log2 of most over e: 0 or more, infinite for no chance at all. */
	__device__ inline float distance(float value, float most) const
	{
		float out = (most - value) * inverse;

		if (value == most)
			return 0;
		if (value == -INFINITY || most == INFINITY)
			return INFINITY;
		return out >= 0 ? out : 0; /* infinity by 0 */
	}
	/* The weight, where min-p lets it pass. */
	__device__ inline unsigned weight(float value, float most) const
	{
		float e = exp2f(-distance(value, most));

		if (e < min_p && value != most)
			return 0;
		return (unsigned)(e * (float)(1u << KP_SAMPLE_WEIGHT_LOG2) + 0.5f);
	}
};

/* ---- the workspace ---- */

struct sample_space {
	sample_sum *histogram, *masses;
	struct kp_sample_state *state;
	float *largest;

	__device__ inline void find(const struct kp_topk_topp_sample_args &args, unsigned row)
	{
		char *begin = (char *)args.workspace + row * KP_SAMPLE_ROW_BYTES(args.splits);

		histogram = (sample_sum *)begin;
		state = (struct kp_sample_state *)(histogram + KP_SAMPLE_BUCKETS);
		masses = (sample_sum *)(state + 1);
		largest = (float *)(masses + args.splits);
	}
};

/* Whether all other blocks of the row have come here in this launch; what they wrote is then seen.
 * All threads of the block call. */
__device__ inline bool sample_is_last(const sample_space &space)
{
	__shared__ bool is_last;

	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		is_last = atomicAdd(&space.state->arrived, 1u) == gridDim.y - 1;
	__syncthreads();
	if (is_last)
		__threadfence();
	return is_last;
}

/* ---- sums over a block ---- */

struct sample_scan {
	sample_sum before, total; /* of the threads in front; of all */
};

/* `parts` is shared memory that nobody reads until the block's next barrier. */
__device__ inline sample_scan sample_scan_block(sample_sum mine, sample_sum parts[SAMPLE_WARPS])
{
	unsigned lane = threadIdx.x % WARP;
	sample_sum up_to = mine;
	sample_scan out = {0, 0};

#pragma unroll
	for (unsigned step = 1; step < WARP; step *= 2) {
		sample_sum other = __shfl_up_sync(ALL_LANES, up_to, step);

		if (lane >= step)
			up_to += other;
	}
	if (lane == WARP - 1)
		parts[threadIdx.x / WARP] = up_to;
	__syncthreads();
	for (unsigned i = 0; i < SAMPLE_WARPS; i++) {
		if (i < threadIdx.x / WARP)
			out.before += parts[i];
		out.total += parts[i];
	}
	out.before += up_to - mine;
	return out;
}

/* ---- the state ---- */

/* The largest element of the row, from what the parts found; for all threads. A NaN is larger. */
__device__ inline float sample_largest(const struct kp_topk_topp_sample_args &args,
				       const sample_space &space)
{
	__shared__ logits_best parts[LOGITS_WARPS];
	__shared__ float most;
	logits_best best = {-INFINITY, 0};

	for (unsigned i = threadIdx.x; i < args.splits; i += SAMPLE_THREADS)
		best.take(space.largest[i], 0);
	best = logits_best_of_block(best, parts);
	if (threadIdx.x == 0)
		most = best.value;
	__syncthreads();
	return most;
}

/* No element with a weight has a smaller key; none is that of -infinity. */
template <class T> __device__ inline unsigned sample_low(const sample_rule &rule, float most)
{
	unsigned least = sample_key<T>(-INFINITY) + 1;
	float reach = most - SAMPLE_REACH / rule.inverse;
	unsigned low = reach > -INFINITY ? sample_key<T>(reach) - 1 : least;

	return low > least ? low : least;
}

/* Where the next search begins: among the keys from the threshold to that of the largest. */
template <class T> __device__ inline void sample_restart(struct kp_sample_state *state)
{
	state->high = sample_key<T>(state->most);
	state->span = state->high - state->threshold;
}

template <class T>
__device__ inline struct kp_sample_state sample_first_state(const sample_rule &rule, float most)
{
	struct kp_sample_state state = {};

	state.most = most;
	state.stage = KP_SAMPLE_NOTHING;
	if (!(most > -INFINITY)) /* or NaN */
		return state;
	state.stage = KP_SAMPLE_FOUND;
	state.threshold = rule.only_largest() ? sample_key<T>(most) : sample_low<T>(rule, most);
	if (rule.only_largest())
		return state;
	sample_restart<T>(&state);
	if (rule.top_k) {
		state.stage = KP_SAMPLE_TOP_K;
		state.target = rule.top_k;
	} else if (rule.top_p < 1) {
		state.stage = KP_SAMPLE_TOP_P_BEGIN;
	}
	return state;
}

/* That of the row: the first launch that needs it makes it, each block for itself. */
template <class T>
__device__ inline struct kp_sample_state sample_state_of(
	const struct kp_topk_topp_sample_args &args, const sample_rule &rule,
	const sample_space &space, bool is_first)
{
	if (is_first)
		return sample_first_state<T>(rule, sample_largest(args, space));
	return *space.state;
}

/* p · total, rounded up; one at least. */
__device__ inline sample_sum sample_part_of(float top_p, sample_sum total)
{
	sample_sum p = (sample_sum)(top_p * 0x1p64f);
	sample_sum part = __umul64hi(p, total) + (p * total != 0);

	return part ? part : 1;
}

#endif
