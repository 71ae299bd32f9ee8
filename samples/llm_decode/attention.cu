/*
 * Attention over a cache of keys and values, causal: by matrix products, or fused and naive.
 */
#include "attention.h"

#include "options.h"
#include "reduce.h"

enum {
	WARP = 32,
	WARPS = 4, /* of one query: each takes every fourth key */
	PER_LANE = MAX_HEAD_DIM / WARP,
};

/* What one warp has seen so far of one query: softmax(scores) * values = acc / sum. */
struct partial {
	float max, sum;
	float acc[PER_LANE]; /* element lane + 32 * i of the head */
};

/*
 * In place over scores[rows][keys], one block a row. Scales, masks the keys behind the query, and
 * normalises. Reads the row three times and writes it once: 8 bytes a score.
 */
static __global__ void softmax_kernel(bf16 *scores, const int *position, int seq, int keys,
				      float scale)
{
	__shared__ float shared[THREADS];
	bf16 *row = scores + (size_t)blockIdx.x * keys;
	int visible = *position + (int)(blockIdx.x % seq) + 1;
	float max = -INFINITY, sum = 0;

	for (int i = threadIdx.x; i < visible; i += THREADS)
		max = fmaxf(max, __bfloat162float(row[i]) * scale);
	max = reduce_max(max, shared);
	for (int i = threadIdx.x; i < visible; i += THREADS)
		sum += expf(__bfloat162float(row[i]) * scale - max);
	sum = reduce_sum(sum, shared);
	for (int i = threadIdx.x; i < keys; i += THREADS) {
		float weight = 0;

		if (i < visible)
			weight = expf(__bfloat162float(row[i]) * scale - max) / sum;
		row[i] = __float2bfloat16(weight);
	}
}

void attention_math(const struct matmul_engine *engine, struct launcher *launcher,
		    const struct attention *attention)
{
	const struct layout *l = &attention->layout;
	int keys = attention->keys, matrices = l->batch * l->heads;
	int64_t query_stride = (int64_t)l->seq * l->head_dim;
	int64_t cache_stride = (int64_t)l->capacity * l->head_dim;
	int64_t score_stride = (int64_t)l->seq * keys;
	struct matmul scores = {}, out = {};

	scores.m = l->seq;
	scores.n = keys;
	scores.k = l->head_dim;
	scores.count = matrices;
	scores.b_transposed = true;
	scores.a = attention->queries;
	scores.b = attention->key_cache;
	scores.c = attention->scores;
	scores.a_stride = query_stride;
	scores.b_stride = cache_stride;
	scores.c_stride = score_stride;
	out.m = l->seq;
	out.n = l->head_dim;
	out.k = keys;
	out.count = matrices;
	out.a = attention->scores;
	out.b = attention->value_cache;
	out.c = attention->out;
	out.a_stride = score_stride;
	out.b_stride = cache_stride;
	out.c_stride = query_stride;
	matmul_run(engine, launcher, &scores);
	LAUNCH(launcher, softmax_kernel, matrices * l->seq, THREADS, attention->scores,
	       attention->position, l->seq, keys, 1 / sqrtf((float)l->head_dim));
	matmul_run(engine, launcher, &out);
}

static __device__ float warp_sum(float value)
{
	for (int distance = WARP / 2; distance > 0; distance /= 2)
		value += __shfl_xor_sync(0xffffffffu, value, distance);
	return value;
}

/* Online softmax: takes key number `key` into what the warp has seen. */
static __device__ void see_key(struct partial *seen, const float *query, const bf16 *key,
			       const bf16 *value, int head_dim, float scale)
{
	int lane = threadIdx.x % WARP;
	float dot = 0;

	for (int i = 0; i < PER_LANE && lane + WARP * i < head_dim; i++)
		dot += query[i] * __bfloat162float(key[lane + WARP * i]);

	float score = warp_sum(dot) * scale;
	float max = fmaxf(seen->max, score);
	float keep = expf(seen->max - max);
	float weight = expf(score - max);

	for (int i = 0; i < PER_LANE && lane + WARP * i < head_dim; i++)
		seen->acc[i] =
			seen->acc[i] * keep + weight * __bfloat162float(value[lane + WARP * i]);
	seen->sum = seen->sum * keep + weight;
	seen->max = max;
}

/* Joins the warps' parts and writes the query's output; called by every thread of the block. */
static __device__ void join(bf16 *out, const struct partial *seen, int head_dim)
{
	__shared__ float maxes[WARPS], sums[WARPS], accs[WARPS][MAX_HEAD_DIM];
	int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
	float max = -INFINITY;

	for (int i = 0; i < PER_LANE; i++)
		accs[warp][lane + WARP * i] = seen->acc[i];
	if (lane == 0) {
		maxes[warp] = seen->max;
		sums[warp] = seen->sum;
	}
	__syncthreads();
	for (int w = 0; w < WARPS; w++)
		max = fmaxf(max, maxes[w]);
	for (int d = threadIdx.x; d < head_dim; d += WARPS * WARP) {
		float sum = 0, acc = 0;

		for (int w = 0; w < WARPS; w++) {
			float weight = expf(maxes[w] - max);

			sum += sums[w] * weight;
			acc += accs[w][d] * weight;
		}
		out[d] = __float2bfloat16(acc / sum);
	}
}

/* grid (seq, batch * heads), WARPS warps a query. Each query reads all its keys and values. */
static __global__ void naive_flash_kernel(struct attention a, float scale)
{
	int head_dim = a.layout.head_dim;
	size_t query_at = ((size_t)blockIdx.y * a.layout.seq + blockIdx.x) * head_dim;
	size_t cache_at = (size_t)blockIdx.y * a.layout.capacity * head_dim;
	int visible = *a.position + (int)blockIdx.x + 1;
	int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
	float query[PER_LANE];
	struct partial seen = {-INFINITY, 0, {0}};

	for (int i = 0; i < PER_LANE; i++) {
		int d = lane + WARP * i;

		query[i] = d < head_dim ? __bfloat162float(a.queries[query_at + d]) : 0;
	}
	for (int key = warp; key < visible; key += WARPS) {
		size_t at = cache_at + (size_t)key * head_dim;

		see_key(&seen, query, a.key_cache + at, a.value_cache + at, head_dim, scale);
	}
	join(a.out + query_at, &seen, head_dim);
}

void attention_naive_flash(struct launcher *launcher, const struct attention *attention)
{
	const struct layout *l = &attention->layout;
	dim3 grid(l->seq, l->batch * l->heads);

	LAUNCH(launcher, naive_flash_kernel, grid, WARPS * WARP, *attention,
	       1 / sqrtf((float)l->head_dim));
}
