/*
 * Two more bodies of attention_decode; see attention_decode.h: any alignment, head and page by
 * single elements, and the launch that puts splits together.
 */
#include "kernels/attention_range.cuh"

#define ANY_WARPS 4
#define ANY_PARTS (KP_ATTENTION_HEAD_MOST / WARP) /* elements of a head that a lane has */
#define FINISH_WARPS 8
#define FINISH_VECTORS (KP_ATTENTION_HEAD_MOST / 4 / WARP)

/* ---- a warp a key, a block a row ---- */

struct attention_any_parts {
	float most[ANY_WARPS], total[ANY_WARPS], out[ANY_WARPS][KP_ATTENTION_HEAD_MOST];
};

/* A row of a cache, by elements. */
template <class T>
__device__ inline float cache_element(const struct kp_attention_decode_args &args,
				      const void *cache, long long at)
{
	if (args.cache_dtype == KP_DTYPE_E4M3)
		return to_float(((const e4m3 *)cache)[at]);
	return to_float(((const T *)cache)[at]);
}

template <class T> struct attention_any_row {
	float q[ANY_PARTS], out[ANY_PARTS], most, total;
	unsigned lane;

	__device__ inline void find(const struct kp_attention_decode_args &args,
				    const attention_row &row)
	{
		const T *from = (const T *)args.q + row.sequence * args.q_batch +
				row.query * args.q_query + row.head * args.q_head;

		lane = threadIdx.x % WARP;
		most = -INFINITY;
		total = 0;
#pragma unroll
		for (int i = 0; i < ANY_PARTS; i++) {
			bool has = lane + i * WARP < args.head_dim;

			q[i] = has ? to_float(from[lane + i * WARP]) : 0;
			out[i] = 0;
		}
	}
	__device__ inline void take(const struct kp_attention_decode_args &args,
				    const attention_score &score, long long k, long long v)
	{
		float dot = 0, before = most, weight, scale;

#pragma unroll
		for (int i = 0; i < ANY_PARTS; i++)
			if (lane + i * WARP < args.head_dim)
				dot += q[i] * cache_element<T>(args, args.k, k + lane + i * WARP);
		dot = score.of(reduce_warp<sum>(dot));
		most = fmaxf(most, dot);
		scale = most == before ? 1 : power_of_two(before - most);
		weight = power_of_two(dot - (most == -INFINITY ? 0 : most));
		total = total * scale + weight;
#pragma unroll
		for (int i = 0; i < ANY_PARTS; i++)
			if (lane + i * WARP < args.head_dim)
				out[i] = out[i] * scale +
					 weight * cache_element<T>(args, args.v,
								   v + lane + i * WARP);
	}
	__device__ inline void run(const struct kp_attention_decode_args &args,
				   const attention_row &row)
	{
		attention_range range = attention_range_of(args, row.sequence);
		int last = attention_last(args, range.length, row.query);
		unsigned head = row.head / (args.q_heads / args.kv_heads);
		attention_score score;

		score.find(args);
		for (int key = attention_first(args, last) + (int)(threadIdx.x / WARP); key <= last;
		     key += ANY_WARPS) {
			long long page = row.sequence, place = key;

			if (args.pages) {
				page = args.pages[row.sequence * args.pages_batch +
						  (unsigned)key / args.page_tokens];
				place = (unsigned)key % args.page_tokens;
			}
			take(args, score,
			     page * args.k_page + place * args.k_token + head * args.k_head,
			     page * args.v_page + place * args.v_token + head * args.v_head);
		}
	}
};

/* The warps' results of one row, in order. */
template <class T>
__device__ inline void attention_any_store(const struct kp_attention_decode_args &args,
					   const attention_row &row,
					   const attention_any_parts &parts)
{
	float most = -INFINITY, total = 0, scales[ANY_WARPS];

#pragma unroll
	for (int warp = 0; warp < ANY_WARPS; warp++)
		most = fmaxf(most, parts.most[warp]);
#pragma unroll
	for (int warp = 0; warp < ANY_WARPS; warp++) {
		scales[warp] = parts.most[warp] == most ? 1 : power_of_two(parts.most[warp] - most);
		total += parts.total[warp] * scales[warp];
	}
	for (unsigned i = threadIdx.x; i < args.head_dim; i += ANY_WARPS * WARP) {
		float value = 0;

#pragma unroll
		for (int warp = 0; warp < ANY_WARPS; warp++)
			value += parts.out[warp][i] * scales[warp];
		if (total != 0)
			value *= attention_value_scale(args) / total;
		from_float(value, attention_out<T>(args, row) + i);
	}
	if (args.lse && threadIdx.x == 0)
		args.lse[row.number(args)] = total == 0 ? -INFINITY : (most + log2f(total)) * LN_2;
}

template <class T> __device__ inline void attention_any(const struct kp_attention_decode_args &args)
{
	__shared__ attention_any_parts parts;
	attention_row row = {blockIdx.x / args.q_heads / args.queries,
			     blockIdx.x / args.q_heads % args.queries, blockIdx.x % args.q_heads};
	unsigned warp = threadIdx.x / WARP;
	attention_any_row<T> work;

	let_next_launch_begin();
	wait_for_launch_in_front();
	work.find(args, row);
	work.run(args, row);
	parts.most[warp] = work.most;
	parts.total[warp] = work.total;
#pragma unroll
	for (int i = 0; i < ANY_PARTS; i++)
		parts.out[warp][work.lane + i * WARP] = work.out[i];
	__syncthreads();
	attention_any_store<T>(args, row, parts);
}

/* ---- splits put together: a block a row, a warp a split ---- */

struct attention_finish_parts {
	float most[WARPS_MOST], total[FINISH_WARPS];
	float4 out[FINISH_WARPS][KP_ATTENTION_HEAD_MOST / 4];
};

struct attention_finish_row {
	float4 out[FINISH_VECTORS];
	float total;

	__device__ inline void add(const float4 *from, float weight, unsigned vectors)
	{
		unsigned lane = threadIdx.x % WARP;

		total += weight;
#pragma unroll
		for (int i = 0; i < FINISH_VECTORS; i++) {
			if (lane + i * WARP >= vectors)
				continue;
			float4 part = from[lane + i * WARP];

			out[i].x += weight * part.x;
			out[i].y += weight * part.y;
			out[i].z += weight * part.z;
			out[i].w += weight * part.w;
		}
	}
	/* Every FINISH_WARPS-th split, from the warp's own on. */
	__device__ inline void run(const struct kp_attention_decode_args &args,
				   const attention_row &row, unsigned splits, float most)
	{
		const float *logs = attention_partial_log(args, row, args.splits, 0);

		total = 0;
#pragma unroll
		for (int i = 0; i < FINISH_VECTORS; i++)
			out[i] = make_float4(0, 0, 0, 0);
#pragma unroll 4
		for (unsigned split = threadIdx.x / WARP; split < splits; split += FINISH_WARPS) {
			float log = logs[split];

			/* Without a key it has no result; NaN goes on. */
			if (log == -INFINITY)
				continue;
			add((const float4 *)attention_partial(args, row, args.splits, split),
			    log == most ? 1 : power_of_two(log - most), args.head_dim / 4);
		}
	}
};

template <class T>
__device__ inline void attention_finish_store(const struct kp_attention_decode_args &args,
					      const attention_row &row, float most,
					      const attention_finish_parts &parts)
{
	float total = 0;

#pragma unroll
	for (int warp = 0; warp < FINISH_WARPS; warp++)
		total += parts.total[warp];
	for (unsigned i = threadIdx.x; i < args.head_dim; i += blockDim.x) {
		float value = 0;

#pragma unroll
		for (int warp = 0; warp < FINISH_WARPS; warp++)
			value += ((const float *)parts.out[warp])[i];
		from_float(total == 0 ? 0 : value / total, attention_out<T>(args, row) + i);
	}
	if (args.lse && threadIdx.x == 0)
		args.lse[row.number(args)] = total == 0 ? -INFINITY : (most + log2f(total)) * LN_2;
}

template <class T>
__device__ inline void attention_finish(const struct kp_attention_decode_args &args)
{
	__shared__ attention_finish_parts parts;
	attention_row row = {blockIdx.x / args.q_heads / args.queries,
			     blockIdx.x / args.q_heads % args.queries, blockIdx.x % args.q_heads};
	unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, splits;
	attention_finish_row work;
	float most = -INFINITY;

	let_next_launch_begin();
	wait_for_launch_in_front();
	splits = attention_splits(args, attention_range_of(args, row.sequence));
	splits = splits ? splits : 1;
	for (unsigned i = threadIdx.x; i < splits; i += blockDim.x)
		most = fmaxf(most, *attention_partial_log(args, row, args.splits, i));
	most = reduce_block<largest>(most, parts.most);
	work.run(args, row, splits, most);
#pragma unroll
	for (int i = 0; i < FINISH_VECTORS; i++)
		parts.out[warp][lane + i * WARP] = work.out[i];
	if (lane == 0)
		parts.total[warp] = work.total;
	__syncthreads();
	attention_finish_store<T>(args, row, most, parts);
}
