/*
 * attention_prefill as kprof bench runs it; see bench_decode.h. q, k, v and out are
 * [batch, heads, rows, head_dim], packed; a unit is a sequence.
 */
#include <math.h>

#include "kernels/attention_prefill.h"
#include "kernels/reference/number.h"
#include "profiler/bench_decode.h"

#define SAMPLED_HEADS 4U
#define SAMPLED_ROWS 16U /* of a head: the float64 of all of them would take minutes */

enum { PREFILL_Q, PREFILL_K, PREFILL_V, PREFILL_OUT };

const struct kp_bench_form kp_bench_prefill_form = {
	.words = "BATCHxHEADSxKV_HEADSxROWSxHEAD_DIM[,causal]",
	.sizes = {{"batch", offsetof(struct kp_bench_shape, batch)},
		  {"q_heads", offsetof(struct kp_bench_shape, q_heads)},
		  {"kv_heads", offsetof(struct kp_bench_shape, kv_heads)},
		  {"keys", offsetof(struct kp_bench_shape, keys)},
		  {"head_dim", offsetof(struct kp_bench_shape, head_dim)}},
	.unit = 0,
	.unit_word = "sequence",
	.samples = 1,
	.is_causal = true,
};

void kp_bench_prefill_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	static const enum kp_bench_role roles[] = {KP_BENCH_INPUT, KP_BENCH_INPUT, KP_BENCH_INPUT,
						   KP_BENCH_CHECKED};
	uint64_t head = (uint64_t)shape->keys * shape->head_dim;

	for (int i = PREFILL_Q; i <= PREFILL_OUT; i++) {
		bool is_key = i == PREFILL_K || i == PREFILL_V;

		out->buffers[out->count++] = (struct kp_bench_buffer){
			roles[i], head * (is_key ? shape->kv_heads : shape->q_heads), 2, 1, false};
	}
}

static struct kp_attention_prefill_args prefill_args(const struct kp_bench_call *call)
{
	const struct kp_bench_shape *shape = &call->shape;
	int64_t row = shape->head_dim, head = row * shape->keys;

	return (struct kp_attention_prefill_args){
		.q = call->buffers[PREFILL_Q],
		.k = call->buffers[PREFILL_K],
		.v = call->buffers[PREFILL_V],
		.out = call->buffers[PREFILL_OUT],
		.batch = shape->batch,
		.q_heads = shape->q_heads,
		.kv_heads = shape->kv_heads,
		.head_dim = shape->head_dim,
		.queries = shape->keys,
		.keys = shape->keys,
		.scale = 1 / sqrtf((float)shape->head_dim),
		.q_batch = shape->q_heads * head,
		.q_query = row,
		.q_head = head,
		.k_batch = shape->kv_heads * head,
		.k_key = row,
		.k_head = head,
		.v_batch = shape->kv_heads * head,
		.v_key = row,
		.v_head = head,
		.out_batch = shape->q_heads * head,
		.out_query = row,
		.out_head = head,
		.dtype = call->dtype,
		.causal = shape->causal,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

enum kp_status kp_bench_prefill_plan(const struct kp_bench_call *call,
				     const struct kp_kernel_device *device,
				     struct kp_kernel_plan *out)
{
	struct kp_attention_prefill_args args = prefill_args(call);

	return kp_attention_prefill_plan(&args, device, out);
}

static const void *element(const void *from, int64_t at)
{
	return (const char *)from + at * 2;
}

/* One row of a head of a sequence: a query alone, whose causal end is the row's. */
static void bound_row(const struct kp_attention_prefill_args *all, uint32_t sequence, uint32_t head,
		      uint32_t row, double *expected, double *slack)
{
	struct kp_attention_prefill_args one = *all;
	uint32_t kv_head = head / (all->q_heads / all->kv_heads);
	int64_t at = sequence * all->out_batch + head * all->out_head + row * all->out_query;
	double rounded = all->dtype == KP_DTYPE_BF16 ? 0x1p-8 : 0x1p-11, score = 0;

	one.batch = one.q_heads = one.kv_heads = one.queries = 1;
	one.offset = (int32_t)(row + 1) - (int32_t)all->keys;
	one.q = element(all->q, sequence * all->q_batch + head * all->q_head + row * all->q_query);
	one.k = element(all->k, sequence * all->k_batch + kv_head * all->k_head);
	one.v = element(all->v, sequence * all->v_batch + kv_head * all->v_head);
	kp_attention_prefill_reference(&one, expected + at, slack + at, NULL, &score);
	for (uint32_t i = 0; i < all->head_dim; i++)
		slack[at + i] *= rounded + 0x1p-20 * (1 + score);
}

/* The which-th of `samples` numbers below `all`, spread over them: the first and the last too. */
static uint32_t spread(uint32_t which, uint32_t samples, uint32_t all)
{
	return samples > 1 ? (uint32_t)((uint64_t)which * (all - 1) / (samples - 1)) : 0;
}

/* By kernels/attention_prefill.h: some rows of some heads; of the others nothing is known. */
void kp_bench_prefill_bounded(const struct kp_bench_call *call, double *expected, double *slack)
{
	struct kp_attention_prefill_args args = prefill_args(call);
	uint64_t count = (uint64_t)args.batch * (uint64_t)args.out_batch;
	uint32_t heads = args.q_heads < SAMPLED_HEADS ? args.q_heads : SAMPLED_HEADS;
	uint32_t rows = args.queries < SAMPLED_ROWS ? args.queries : SAMPLED_ROWS;

	for (uint64_t i = 0; i < count; i++) {
		expected[i] = 0;
		slack[i] = INFINITY;
	}
	for (uint32_t sequence = 0; sequence < args.batch; sequence++)
		for (uint32_t i = 0; i < heads; i++)
			for (uint32_t j = 0; j < rows; j++)
				bound_row(&args, sequence, spread(i, heads, args.q_heads),
					  spread(j, rows, args.queries), expected, slack);
}

KP_BENCH_DECODE_CALLS(prefill, attention_prefill, prefill_args)

double kp_bench_prefill_flops(const struct kp_bench_shape *shape)
{
	double pairs = (double)shape->keys * shape->keys * (shape->causal ? 0.5 : 1);

	return 4 * pairs * shape->batch * shape->q_heads * shape->head_dim;
}
