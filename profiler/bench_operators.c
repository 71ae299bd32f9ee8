/* The table of operators; see bench_operators.h. */
#include "profiler/bench_operators.h"

#include <string.h>

#include "kernels/activation.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/softmax.h"
#include "profiler/bench_decode.h"

#define HEAD 128U
#define QUERY_HEADS_A_KEY 4U
#define EPS 1e-5F

static void add(struct kp_bench_layout *out, enum kp_bench_role role, uint64_t elements)
{
	uint32_t bytes = role == KP_BENCH_POSITIONS || role == KP_BENCH_SLOTS ? 8
			 : role == KP_BENCH_TABLE                             ? 4
									      : 2;

	out->buffers[out->count++] = (struct kp_bench_buffer){role, elements, bytes, 1, false};
}

/* ---- norms: x, weight, y, and residual and sum or bias ---- */

static void norm_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	add(out, KP_BENCH_INPUT, shape->columns);
	add(out, KP_BENCH_WEIGHT, shape->columns);
	add(out, KP_BENCH_CHECKED, shape->columns);
}

static struct kp_norm_args norm_args(const struct kp_bench_call *call)
{
	int64_t columns = call->shape.columns;

	return (struct kp_norm_args){
		.x = call->buffers[0],
		.weight = call->buffers[1],
		.y = call->buffers[2],
		.outer = call->shape.rows,
		.inner = 1,
		.columns = call->shape.columns,
		.x_outer = columns,
		.residual_outer = columns,
		.sum_outer = columns,
		.y_outer = columns,
		.eps = EPS,
		.dtype = call->dtype,
		.y_dtype = call->dtype,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

static enum kp_status rmsnorm_plan(const struct kp_bench_call *call,
				   const struct kp_kernel_device *device,
				   struct kp_kernel_plan *out)
{
	struct kp_norm_args args = norm_args(call);

	return kp_rmsnorm_plan(&args, device, out);
}

static enum kp_status rmsnorm(const struct kp_kernels *kernels, const struct kp_bench_call *call)
{
	struct kp_norm_args args = norm_args(call);

	return kp_rmsnorm(kernels, &args);
}

static void rmsnorm_reference(const struct kp_bench_call *call, double *expected)
{
	struct kp_norm_args args = norm_args(call);

	kp_rmsnorm_reference(&args, expected);
}

static void add_norm_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	norm_layout(shape, out);
	add(out, KP_BENCH_INPUT, shape->columns);
	add(out, KP_BENCH_OUTPUT, shape->columns);
}

static struct kp_norm_args add_norm_args(const struct kp_bench_call *call)
{
	struct kp_norm_args args = norm_args(call);

	args.residual = call->buffers[3];
	args.sum = call->buffers[4];
	return args;
}

static enum kp_status add_rmsnorm(const struct kp_kernels *kernels,
				  const struct kp_bench_call *call)
{
	struct kp_norm_args args = add_norm_args(call);

	return kp_rmsnorm(kernels, &args);
}

static void add_rmsnorm_reference(const struct kp_bench_call *call, double *expected)
{
	struct kp_norm_args args = add_norm_args(call);

	kp_rmsnorm_reference(&args, expected);
}

static void layernorm_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	norm_layout(shape, out);
	add(out, KP_BENCH_WEIGHT, shape->columns);
}

static struct kp_norm_args layernorm_args(const struct kp_bench_call *call)
{
	struct kp_norm_args args = norm_args(call);

	args.bias = call->buffers[3];
	return args;
}

static enum kp_status layernorm_plan(const struct kp_bench_call *call,
				     const struct kp_kernel_device *device,
				     struct kp_kernel_plan *out)
{
	struct kp_norm_args args = layernorm_args(call);

	return kp_layernorm_plan(&args, device, out);
}

static enum kp_status layernorm(const struct kp_kernels *kernels, const struct kp_bench_call *call)
{
	struct kp_norm_args args = layernorm_args(call);

	return kp_layernorm(kernels, &args);
}

static void layernorm_reference(const struct kp_bench_call *call, double *expected)
{
	struct kp_norm_args args = layernorm_args(call);

	kp_layernorm_reference(&args, expected);
}

/* ---- activations: x, y, and up ---- */

static void gelu_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	add(out, KP_BENCH_INPUT, shape->columns);
	add(out, KP_BENCH_CHECKED, shape->columns);
}

static void mul_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	gelu_layout(shape, out);
	add(out, KP_BENCH_INPUT, shape->columns);
}

static struct kp_activation_args activation_args(const struct kp_bench_call *call,
						 enum kp_activation activation, bool gated)
{
	int64_t columns = call->shape.columns;

	return (struct kp_activation_args){
		.x = call->buffers[0],
		.y = call->buffers[1],
		.up = gated ? call->buffers[2] : NULL,
		.rows = call->shape.rows,
		.columns = call->shape.columns,
		.x_row = columns,
		.up_row = columns,
		.y_row = columns,
		.activation = activation,
		.dtype = call->dtype,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

#define ACTIVATION(name, activation, gated)                                                        \
	static enum kp_status name##_plan(const struct kp_bench_call *call,                        \
					  const struct kp_kernel_device *device,                   \
					  struct kp_kernel_plan *out)                              \
	{                                                                                          \
		struct kp_activation_args args = activation_args(call, activation, gated);         \
                                                                                                   \
		return kp_activation_plan(&args, device, out);                                     \
	}                                                                                          \
	static enum kp_status name(const struct kp_kernels *kernels,                               \
				   const struct kp_bench_call *call)                               \
	{                                                                                          \
		struct kp_activation_args args = activation_args(call, activation, gated);         \
                                                                                                   \
		return kp_activation(kernels, &args);                                              \
	}                                                                                          \
	static void name##_reference(const struct kp_bench_call *call, double *expected)           \
	{                                                                                          \
		struct kp_activation_args args = activation_args(call, activation, gated);         \
                                                                                                   \
		kp_activation_reference(&args, expected);                                          \
	}
ACTIVATION(silu_mul, KP_ACTIVATION_SILU, true)
ACTIVATION(gelu_mul, KP_ACTIVATION_GELU_TANH, true)
ACTIVATION(gelu, KP_ACTIVATION_GELU_ERF, false)

/* ---- rope: q, k, v, positions, slots, cosines, sines, q_out, caches ---- */

static void rope_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	uint64_t queries = (uint64_t)shape->columns * HEAD, keys = queries / QUERY_HEADS_A_KEY;

	add(out, KP_BENCH_INPUT, queries);
	add(out, KP_BENCH_INPUT, keys);
	add(out, KP_BENCH_INPUT, keys);
	add(out, KP_BENCH_POSITIONS, 1);
	add(out, KP_BENCH_SLOTS, 1);
	add(out, KP_BENCH_TABLE, (uint64_t)KP_BENCH_TABLE_POSITIONS * HEAD / 2);
	add(out, KP_BENCH_TABLE, (uint64_t)KP_BENCH_TABLE_POSITIONS * HEAD / 2);
	add(out, KP_BENCH_CHECKED, queries);
	add(out, KP_BENCH_OUTPUT, keys);
	add(out, KP_BENCH_OUTPUT, keys);
}

static struct kp_rope_args rope_args(const struct kp_bench_call *call)
{
	uint32_t q_heads = call->shape.columns, kv_heads = q_heads / QUERY_HEADS_A_KEY;
	int64_t q = (int64_t)q_heads * HEAD, k = (int64_t)kv_heads * HEAD;
	void *const *buffers = call->buffers;

	return (struct kp_rope_args){
		.q = buffers[0],
		.k = buffers[1],
		.v = buffers[2],
		.positions = buffers[3],
		.slots = buffers[4],
		.cosines = buffers[5],
		.sines = buffers[6],
		.q_out = buffers[7],
		.k_cache = buffers[8],
		.v_cache = buffers[9],
		.tokens = call->shape.rows,
		.q_heads = q_heads,
		.kv_heads = kv_heads,
		.head_dim = HEAD,
		.rotary = HEAD,
		.page_tokens = 16,
		.q_token = q,
		.q_head = HEAD,
		.k_token = k,
		.k_head = HEAD,
		.v_token = k,
		.v_head = HEAD,
		.q_out_token = q,
		.q_out_head = HEAD,
		.k_cache_page = 16 * k,
		.k_cache_token = k,
		.k_cache_head = HEAD,
		.v_cache_page = 16 * k,
		.v_cache_token = k,
		.v_cache_head = HEAD,
		.table_position = HEAD / 2,
		.dtype = call->dtype,
		.table_dtype = KP_DTYPE_FP32,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

static enum kp_status rope_plan(const struct kp_bench_call *call,
				const struct kp_kernel_device *device, struct kp_kernel_plan *out)
{
	struct kp_rope_args args = rope_args(call);

	return kp_rope_plan(&args, device, out);
}

static enum kp_status rope(const struct kp_kernels *kernels, const struct kp_bench_call *call)
{
	struct kp_rope_args args = rope_args(call);

	return kp_rope(kernels, &args);
}

static void rope_reference(const struct kp_bench_call *call, double *expected)
{
	struct kp_rope_args args = rope_args(call);

	kp_rope_reference(&args, expected, NULL);
}

/* ---- softmax: x, y ---- */

static struct kp_softmax_args softmax_args(const struct kp_bench_call *call)
{
	int64_t columns = call->shape.columns;

	return (struct kp_softmax_args){
		.x = call->buffers[0],
		.y = call->buffers[1],
		.outer = call->shape.rows,
		.queries = 1,
		.columns = call->shape.columns,
		.x_outer = columns,
		.y_outer = columns,
		.scale = 1,
		.dtype = call->dtype,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

static enum kp_status softmax_plan(const struct kp_bench_call *call,
				   const struct kp_kernel_device *device,
				   struct kp_kernel_plan *out)
{
	struct kp_softmax_args args = softmax_args(call);

	return kp_softmax_plan(&args, device, out);
}

static enum kp_status softmax(const struct kp_kernels *kernels, const struct kp_bench_call *call)
{
	struct kp_softmax_args args = softmax_args(call);

	return kp_softmax(kernels, &args);
}

static void softmax_reference(const struct kp_bench_call *call, double *expected)
{
	struct kp_softmax_args args = softmax_args(call);

	kp_softmax_reference(&args, expected);
}

// clang-format off
#define NORM_SHAPES .shapes = "8x4096 64x8192 1024x2048 1024x8192 4096x4096 16384x4096 " \
	"16384x8192 4096x16384 65536x128"
#define GATE_SHAPES .shapes = "8x14336 64x8192 1024x8192 1024x28672 4096x14336 16384x14336"
/* Outputs × inputs of a weight, for the numbers of tokens that decoding has. */
#define LINEAR_SHAPES(weight) \
	"1x" weight " 2x" weight " 4x" weight " 8x" weight " 16x" weight " "

#define LOGITS_SHAPES "1x32000 1x128256 8x128256 64x128256 256x128256 64x262144"

const struct kp_bench_operator kp_bench_operators[] = {
	{"rmsnorm", "RMS norm with weight",
	 norm_layout, rmsnorm_plan, rmsnorm, rmsnorm_reference, NORM_SHAPES},
	{"add_rmsnorm", "residual add, written back, and RMS norm",
	 add_norm_layout, rmsnorm_plan, add_rmsnorm, add_rmsnorm_reference, NORM_SHAPES},
	{"layernorm", "layer norm with weight and bias",
	 layernorm_layout, layernorm_plan, layernorm, layernorm_reference, NORM_SHAPES},
	{"silu_mul", "silu(gate) * up",
	 mul_layout, silu_mul_plan, silu_mul, silu_mul_reference, GATE_SHAPES},
	{"gelu_mul", "gelu(gate) * up, by tanh",
	 mul_layout, gelu_mul_plan, gelu_mul, gelu_mul_reference, GATE_SHAPES},
	{"gelu", "gelu, by erf",
	 gelu_layout, gelu_plan, gelu, gelu_reference, GATE_SHAPES},
	{"rope", "rotary embedding of tokens × query heads, keys and values into a paged cache",
	 rope_layout, rope_plan, rope, rope_reference,
	 .shapes = "1x32 8x32 64x32 1024x32 16384x32"},
	{"softmax", "softmax of rows",
	 gelu_layout, softmax_plan, softmax, softmax_reference,
	 .shapes = "32x4096 65536x1024 16384x4096 8192x8192 4096x32768 64x131072"},
	{"linear_skinny", "linear layer for 1 to 16 tokens", KP_BENCH_DECODE_ROW(linear),
	 .shapes = LINEAR_SHAPES("4096x4096") LINEAR_SHAPES("14336x4096")
		   LINEAR_SHAPES("4096x14336") LINEAR_SHAPES("28672x8192")
		   LINEAR_SHAPES("128256x4096")
		   "1x14336x4096,e4m3 16x14336x4096,e4m3 1x14336x4096,int8 16x14336x4096,int8 "
		   "1x1024x4096 8x1024x4096 1x64x65536"},
	{"attention_decode", "attention of one new token a sequence to its cache",
	 KP_BENCH_DECODE_ROW(attention),
	 .shapes = "32x32x8x4096x128 64x32x32x2048x128 1x32x8x32768x128 128x64x8x8192x128 "
		   "32x32x8x4096x128,page=16 64x32x8x8192x128,page=16,varied "
		   "32x32x8x4096x128,e4m3 1x32x8x4096x64 32x16x16x4096x256 1x64x4x32768x128"},
	{"attention_prefill", "attention of whole sequences",
	 KP_BENCH_DECODE_ROW(prefill), .flops = kp_bench_prefill_flops,
	 .shapes = "32x32x32x2048x128 32x32x32x2048x128,causal 4x32x32x8192x128,causal "
		   "2x32x32x16384x128 16x16x16x2048x64 16x16x16x2048x64,causal "
		   "8x32x32x512x128 8x32x32x512x128,causal 4x32x8x4096x128,causal "
		   "4x16x16x2048x96,causal 2x16x16x2048x256,causal"},
	{"argmax", "the column of the largest logit of a row", KP_BENCH_DECODE_ROW(argmax),
	 .shapes = LOGITS_SHAPES},
	{"topk_topp_sample", "a token by temperature, top-k and top-p, for given random numbers",
	 KP_BENCH_DECODE_ROW(sampling), .shapes = LOGITS_SHAPES},
};
// clang-format on
const size_t kp_bench_operator_count = sizeof(kp_bench_operators) / sizeof(kp_bench_operators[0]);

const struct kp_bench_operator *kp_bench_find(const char *name)
{
	for (size_t i = 0; i < kp_bench_operator_count; i++)
		if (strcmp(kp_bench_operators[i].name, name) == 0)
			return &kp_bench_operators[i];
	return NULL;
}

const struct kp_bench_form *kp_bench_form_of(const struct kp_bench_operator *operator)
{
	return operator->form ? operator->form : & kp_bench_rows;
}
