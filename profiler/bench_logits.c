/* argmax and topk_topp_sample as kprof bench runs them; see bench_decode.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/argmax.h"
#include "kernels/topk_topp_sample.h"
#include "profiler/bench_decode.h"

/* What servers are asked for. */
#define TEMPERATURE 0.8F
#define TOP_K 50
#define TOP_P 0.9F

/* Of both: x, index, workspace; of the second also uniforms. A unit is a row. */
enum { LOGITS_X, LOGITS_INDEX, LOGITS_WORKSPACE, LOGITS_UNIFORMS };

#define LOGITS_FORM                                                                                \
	{                                                                                          \
		.words = "ROWSxCOLUMNS",                                                           \
		.sizes = {{"rows", offsetof(struct kp_bench_shape, rows)},                         \
			  {"columns", offsetof(struct kp_bench_shape, columns)}},                  \
		.unit_word = "row", .samples = 64, .reads = true,                                  \
	}
const struct kp_bench_form kp_bench_argmax_form = LOGITS_FORM;
const struct kp_bench_form kp_bench_sampling_form = LOGITS_FORM;

static void add(struct kp_bench_layout *out, enum kp_bench_role role, uint64_t elements,
		uint32_t element_bytes)
{
	out->buffers[out->count++] =
		(struct kp_bench_buffer){role, elements, element_bytes, 1, false};
}

void kp_bench_argmax_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	add(out, KP_BENCH_INPUT, shape->columns, 2);
	add(out, KP_BENCH_INDICES, 1, sizeof(int32_t));
	add(out, KP_BENCH_WORKSPACE, 0, 1);
}

void kp_bench_sampling_layout(const struct kp_bench_shape *shape, struct kp_bench_layout *out)
{
	kp_bench_argmax_layout(shape, out);
	add(out, KP_BENCH_UNIFORMS, 1, sizeof(float));
}

/* ---- argmax ---- */

static struct kp_argmax_args argmax_args(const struct kp_bench_call *call)
{
	return (struct kp_argmax_args){
		.x = call->buffers[LOGITS_X],
		.index = call->buffers[LOGITS_INDEX],
		.workspace = call->buffers[LOGITS_WORKSPACE],
		.workspace_bytes = SIZE_MAX,
		.rows = call->shape.rows,
		.columns = call->shape.columns,
		.x_row = call->shape.columns,
		.x_column = 1,
		.index_row = 1,
		.dtype = call->dtype,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

enum kp_status kp_bench_argmax_plan(const struct kp_bench_call *call,
				    const struct kp_kernel_device *device,
				    struct kp_kernel_plan *out)
{
	struct kp_argmax_args args = argmax_args(call);
	struct kp_kernel_plan plans[2] = {0};
	uint32_t chunk;
	enum kp_status status = kp_argmax_plan(&args, device, plans, &chunk);

	*out = plans[0];
	return status;
}

/* Exact. */
void kp_bench_argmax_bounded(const struct kp_bench_call *call, double *expected, double *slack)
{
	struct kp_argmax_args args = argmax_args(call);
	int64_t *index = calloc(args.rows, sizeof(*index));

	if (index)
		kp_argmax_reference(&args, index, NULL);
	for (uint32_t row = 0; row < args.rows; row++) {
		expected[row] = index ? (double)index[row] : NAN;
		slack[row] = 0;
	}
	free(index);
}

KP_BENCH_DECODE_CALLS(argmax, argmax, argmax_args)

/* ---- topk_topp_sample ---- */

static struct kp_topk_topp_sample_args sample_args(const struct kp_bench_call *call)
{
	return (struct kp_topk_topp_sample_args){
		.x = call->buffers[LOGITS_X],
		.uniforms = call->buffers[LOGITS_UNIFORMS],
		.index = call->buffers[LOGITS_INDEX],
		.workspace = call->buffers[LOGITS_WORKSPACE],
		.workspace_bytes = SIZE_MAX,
		.rows = call->shape.rows,
		.columns = call->shape.columns,
		.x_row = call->shape.columns,
		.x_column = 1,
		.index_row = 1,
		.temperature = TEMPERATURE,
		.top_p = TOP_P,
		.top_k = TOP_K,
		.dtype = call->dtype,
		.dependent_launch = call->dependent,
		.stream = call->stream,
	};
}

enum kp_status kp_bench_sampling_plan(const struct kp_bench_call *call,
				      const struct kp_kernel_device *device,
				      struct kp_kernel_plan *out)
{
	struct kp_topk_topp_sample_args args = sample_args(call);
	struct kp_kernel_plan plans[KP_SAMPLE_LAUNCHES] = {0};
	uint32_t chunk, levels;
	enum kp_status status = kp_topk_topp_sample_plan(&args, device, plans, &chunk, &levels);

	*out = plans[0];
	return status;
}

/* The token, unless others are as near as kernels/topk_topp_sample.h allows. */
void kp_bench_sampling_bounded(const struct kp_bench_call *call, double *expected, double *slack)
{
	struct kp_topk_topp_sample_args args = sample_args(call);
	struct kp_sampled *sampled = calloc(args.rows, sizeof(*sampled));
	double near = 0x1p-18 + 0x1p-32 * args.columns;
	bool done = sampled && kp_topk_topp_sample_reference(&args, sampled) == KP_OK;

	for (uint32_t row = 0; row < args.rows; row++) {
		expected[row] = done ? (double)sampled[row].index : NAN;
		slack[row] = done && sampled[row].margin <= near ? args.columns : 0;
	}
	free(sampled);
}

KP_BENCH_DECODE_CALLS(sampling, topk_topp_sample, sample_args)
