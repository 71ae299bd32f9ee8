/* linear_skinny and attention_decode as kprof bench runs them; see bench_decode.h. */
#include "profiler/bench_decode.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/attention_decode.h"
#include "kernels/linear_skinny.h"

#define ROUNDING 0x1p-23 /* of fp32, relative */

static struct kp_bench_buffer *add(struct kp_bench_layout *out, enum kp_bench_role role,
				   uint64_t elements, size_t element_bytes)
{
	struct kp_bench_buffer *buffer = &out->buffers[out->count++];

	*buffer = (struct kp_bench_buffer){role, elements, (uint32_t)element_bytes, 1, false};
	return buffer;
}

/* ---- linear_skinny: x, weight, y, scales, workspace; a unit is an output ---- */

enum { LINEAR_X, LINEAR_WEIGHT, LINEAR_Y, LINEAR_SCALES, LINEAR_WORKSPACE };

const struct kp_bench_form kp_bench_linear_form = {
	.words = "TOKENSxOUTPUTSxINPUTS[,e4m3|,int8]",
	.sizes = {{"tokens", offsetof(struct kp_bench_shape, tokens)},
		  {"outputs", offsetof(struct kp_bench_shape, outputs)},
		  {"inputs", offsetof(struct kp_bench_shape, inputs)}},
	.unit = 1,
	.unit_word = "output",
	.samples = 64,
	.is_narrow = true,
	.takes_int8 = true,
	.reads = true,
};

void kp_bench_linear_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	add(out, KP_BENCH_WEIGHT, (uint64_t)shape->tokens * shape->inputs, 2);
	add(out, KP_BENCH_NARROW, shape->inputs, kp_dtype_bytes(shape->narrow));
	add(out, KP_BENCH_CHECKED, 1, 2)->planes = shape->tokens;
	add(out, KP_BENCH_SCALES, shape->narrow == KP_DTYPE_BF16 ? 0 : 1, sizeof(float));
	add(out, KP_BENCH_WORKSPACE, 0, 1);
}

static struct kp_linear_skinny_args linear_args(const struct kp_bench_call *call)
{
	const struct kp_bench_shape *shape = &call->shape;

	return (struct kp_linear_skinny_args){
		.x = call->buffers[LINEAR_X],
		.weight = call->buffers[LINEAR_WEIGHT],
		.y = call->buffers[LINEAR_Y],
		.weight_scale =
			shape->narrow == KP_DTYPE_BF16 ? NULL : call->buffers[LINEAR_SCALES],
		.workspace = call->buffers[LINEAR_WORKSPACE],
		.workspace_bytes = SIZE_MAX,
		.tokens = shape->tokens,
		.outputs = shape->outputs,
		.inputs = shape->inputs,
		.x_token = shape->inputs,
		.weight_row = shape->inputs,
		.y_token = shape->outputs,
		.dtype = call->dtype,
		.weight_dtype = shape->narrow == KP_DTYPE_BF16 ? call->dtype : shape->narrow,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

enum kp_status kp_bench_linear_plan(const struct kp_bench_call *call,
				    const struct kp_kernel_device *device,
				    struct kp_kernel_plan *out)
{
	struct kp_linear_skinny_args args = linear_args(call);
	struct kp_kernel_plan plans[2] = {0};
	enum kp_status status = kp_linear_skinny_plan(&args, device, plans);

	*out = plans[0];
	return status;
}

/* By kernels/linear_skinny.h; for tensor cores as a rule, as if there were no team. */
void kp_bench_linear_bounded(const struct kp_bench_call *call, double *expected, double *slack)
{
	struct kp_linear_skinny_args args = linear_args(call);
	double terms = 12 + log2(args.inputs) + 2 * sqrt(args.inputs / 16.0);

	kp_linear_skinny_reference(&args, expected, slack);
	for (uint64_t i = 0; i < (uint64_t)args.tokens * args.outputs; i++)
		slack[i] *= ROUNDING * terms;
}

KP_BENCH_DECODE_CALLS(linear, linear_skinny, linear_args, device)

/* ---- attention_decode: q, k, v, out, lengths, pages, workspace; a unit is a sequence ---- */

enum {
	ATTENTION_Q,
	ATTENTION_K,
	ATTENTION_V,
	ATTENTION_OUT,
	ATTENTION_LENGTHS,
	ATTENTION_PAGES,
	ATTENTION_WORKSPACE
};

const struct kp_bench_form kp_bench_attention_form = {
	.words = "BATCHxHEADSxKV_HEADSxKEYSxHEAD_DIM[,page=TOKENS][,varied][,e4m3]",
	.sizes = {{"batch", offsetof(struct kp_bench_shape, batch)},
		  {"q_heads", offsetof(struct kp_bench_shape, q_heads)},
		  {"kv_heads", offsetof(struct kp_bench_shape, kv_heads)},
		  {"keys", offsetof(struct kp_bench_shape, keys)},
		  {"head_dim", offsetof(struct kp_bench_shape, head_dim)}},
	.unit = 0,
	.unit_word = "sequence",
	.samples = 3,
	.is_paged = true,
	.is_narrow = true,
	.reads = true,
};

/* Keys of a page; a contiguous cache is one a sequence. */
static uint32_t page_tokens(const struct kp_bench_shape *shape)
{
	return shape->page_tokens ? shape->page_tokens : shape->keys;
}

/* A plane of a cache is one page of each sequence. */
static void add_cache(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	uint64_t page = (uint64_t)page_tokens(shape) * shape->kv_heads * shape->head_dim;
	struct kp_bench_buffer *cache =
		add(out, KP_BENCH_NARROW, page, kp_dtype_bytes(shape->narrow));

	cache->planes = shape->keys / page_tokens(shape);
	cache->by_length = true;
}

void kp_bench_attention_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	uint64_t query = (uint64_t)shape->q_heads * shape->head_dim;

	add(out, KP_BENCH_INPUT, query, 2);
	add_cache(shape, out);
	add_cache(shape, out);
	add(out, KP_BENCH_CHECKED, query, 2);
	add(out, KP_BENCH_LENGTHS, 1, sizeof(int32_t));
	add(out, KP_BENCH_PAGES, shape->page_tokens ? shape->keys / shape->page_tokens : 0,
	    sizeof(int32_t));
	add(out, KP_BENCH_WORKSPACE, 0, 1);
}

static struct kp_attention_decode_args attention_args(const struct kp_bench_call *call)
{
	const struct kp_bench_shape *shape = &call->shape;
	int64_t head = shape->head_dim, query = shape->q_heads * head;
	int64_t token = shape->kv_heads * head, page = page_tokens(shape) * token;

	return (struct kp_attention_decode_args){
		.q = call->buffers[ATTENTION_Q],
		.k = call->buffers[ATTENTION_K],
		.v = call->buffers[ATTENTION_V],
		.out = call->buffers[ATTENTION_OUT],
		.lengths = call->buffers[ATTENTION_LENGTHS],
		.pages = shape->page_tokens ? call->buffers[ATTENTION_PAGES] : NULL,
		.workspace = call->buffers[ATTENTION_WORKSPACE],
		.workspace_bytes = SIZE_MAX,
		.batch = shape->batch,
		.queries = 1,
		.q_heads = shape->q_heads,
		.kv_heads = shape->kv_heads,
		.head_dim = shape->head_dim,
		.page_tokens = page_tokens(shape),
		.length_most = shape->keys,
		.scale = 1 / sqrtf((float)shape->head_dim),
		.k_scale = 1,
		.v_scale = 1,
		.q_batch = query,
		.q_query = query,
		.q_head = head,
		.out_batch = query,
		.out_query = query,
		.out_head = head,
		.k_page = page,
		.k_token = token,
		.k_head = head,
		.v_page = page,
		.v_token = token,
		.v_head = head,
		.pages_batch = shape->keys / page_tokens(shape),
		.dtype = call->dtype,
		.cache_dtype = shape->narrow == KP_DTYPE_BF16 ? call->dtype : shape->narrow,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

enum kp_status kp_bench_attention_plan(const struct kp_bench_call *call,
				       const struct kp_kernel_device *device,
				       struct kp_kernel_plan *out)
{
	struct kp_attention_decode_args args = attention_args(call);
	struct kp_kernel_plan plans[2] = {0};
	uint32_t chunk;
	enum kp_status status = kp_attention_decode_plan(&args, device, plans, &chunk);

	*out = plans[0];
	return status;
}

/* By kernels/attention_decode.h. */
void kp_bench_attention_bounded(const struct kp_bench_call *call, double *expected, double *slack)
{
	struct kp_attention_decode_args args = attention_args(call);
	uint64_t rows = (uint64_t)args.batch * args.q_heads;
	double *scores = malloc(rows * sizeof(*scores));
	double rounded = args.dtype == KP_DTYPE_BF16 ? 0x1p-8 : 0x1p-11;

	if (!scores) {
		for (uint64_t i = 0; i < rows * args.head_dim; i++)
			expected[i] = slack[i] = NAN;
		return;
	}
	kp_attention_decode_reference(&args, expected, slack, NULL, scores);
	for (uint64_t i = 0; i < rows * args.head_dim; i++)
		slack[i] *= rounded + 0x1p-20 * (1 + scores[i / args.head_dim]);
	free(scores);
}

KP_BENCH_DECODE_CALLS(attention, attention_decode, attention_args, device)
