/* topk_topp_sample: checks, number of levels, launches. See topk_topp_sample.h. */
#include "kernels/topk_topp_sample.h"

#include "kernels/launch.h"
#include "kernels/logits.h"
#include "kernels/sample_work.h"

static struct kp_logits_shape shape_of(const struct kp_topk_topp_sample_args *args)
{
	return (struct kp_logits_shape){args->x,       args->index,    args->rows,
					args->columns, args->x_column, args->dtype};
}

bool kp_topk_topp_sample_supports(const struct kp_topk_topp_sample_args *args, const char **reason)
{
	const struct kp_logits_shape shape = shape_of(args);

	return kp_supports_if(kp_logits_trouble(&shape), reason);
}

size_t kp_topk_topp_sample_workspace(const struct kp_topk_topp_sample_args *args)
{
	const struct kp_logits_shape shape = shape_of(args);

	if (kp_logits_trouble(&shape) || args->rows == 0)
		return 0;
	return KP_SAMPLE_ROW_BYTES(kp_logits_splits_most(&shape)) * args->rows;
}

/* Levels that one threshold may take: the bits that the order of the type's numbers has. */
static uint32_t levels_of(enum kp_dtype dtype)
{
	uint32_t bits = KP_SAMPLE_KEY_BITS(dtype);

	return (bits + KP_SAMPLE_BUCKETS_LOG2 - 1) / KP_SAMPLE_BUCKETS_LOG2;
}

/* Those that no row needs are not launched; what is known on the device alone may need all. */
static uint32_t all_levels(const struct kp_topk_topp_sample_args *args)
{
	bool has_k = args->top_ks || (args->top_k > 1 && (uint32_t)args->top_k < args->columns);
	bool has_p = args->top_ps || (args->top_p > 0 && args->top_p < 1);

	if (!args->temperatures && !(args->temperature > 0))
		return 0;
	if ((!args->top_ks && args->top_k == 1) || (!args->top_ps && args->top_p <= 0))
		return 0; /* only the largest */
	return levels_of(args->dtype) * ((uint32_t)has_k + (uint32_t)has_p);
}

enum kp_status kp_topk_topp_sample_plan(const struct kp_topk_topp_sample_args *args,
					const struct kp_kernel_device *device,
					struct kp_kernel_plan out[KP_SAMPLE_LAUNCHES],
					uint32_t *chunk, uint32_t *levels)
{
	static const enum kp_kernel_id ids[][2] = {
		{KP_KERNEL_sample_begin_any, KP_KERNEL_sample_begin_vector},
		{KP_KERNEL_sample_level_any, KP_KERNEL_sample_level_vector},
		{KP_KERNEL_sample_draw_any, KP_KERNEL_sample_draw_vector},
	};
	const struct kp_logits_shape shape = shape_of(args);
	size_t needed = kp_topk_topp_sample_workspace(args);
	struct kp_kernel_plan plan;

	if (kp_logits_trouble(&shape) ||
	    !kp_is_workspace(args->workspace, args->workspace_bytes, needed))
		return KP_INVALID;
	kp_logits_share(&shape, device, &plan, chunk);
	*levels = all_levels(args);
	for (uint32_t i = 0; i < KP_SAMPLE_LAUNCHES; i++) {
		uint32_t step = i == 0 ? 0 : i < KP_SAMPLE_LAUNCHES - 1 ? 1 : 2;

		out[i] = plan;
		out[i].kernel = ids[step][plan.vectors];
		out[i].team = step == 1 ? i - 1 : 0;
		if (step == 1 && i > *levels)
			out[i].grid_x = 0;
	}
	return KP_OK;
}

enum kp_status kp_topk_topp_sample(const struct kp_kernels *kernels,
				   const struct kp_topk_topp_sample_args *args)
{
	struct kp_topk_topp_sample_args passed = *args;
	struct kp_kernel_plan plans[KP_SAMPLE_LAUNCHES];
	enum kp_status status = kp_topk_topp_sample_plan(args, kp_kernels_device(kernels), plans,
							 &passed.chunk, &passed.levels);

	if (status != KP_OK)
		return status;
	passed.splits = plans[0].grid_y;
	for (uint32_t i = 0; status == KP_OK && i < KP_SAMPLE_LAUNCHES; i++) {
		passed.level = plans[i].team;
		/* All but the first may always begin early: they wait for the one in front. */
		status = kp_kernels_launch(kernels, &plans[i], &passed, args->stream,
					   i > 0 || args->dependent_launch);
	}
	return status;
}
