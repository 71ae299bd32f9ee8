/* argmax: checks, choice of the version and of the split, launches. See argmax.h. */
#include "kernels/argmax.h"

#include "kernels/launch.h"
#include "kernels/logits.h"

#define PARTIAL_BYTES 8U
#define FINISH_THREADS 128U
#define FINISH_ROWS 4U /* a warp each */

static struct kp_logits_shape shape_of(const struct kp_argmax_args *args)
{
	return (struct kp_logits_shape){args->x,       args->index,    args->rows,
					args->columns, args->x_column, args->dtype};
}

bool kp_argmax_supports(const struct kp_argmax_args *args, const char **reason)
{
	const struct kp_logits_shape shape = shape_of(args);

	return kp_supports_if(kp_logits_trouble(&shape), reason);
}

size_t kp_argmax_workspace(const struct kp_argmax_args *args)
{
	const struct kp_logits_shape shape = shape_of(args);
	size_t splits;

	if (kp_logits_trouble(&shape) || args->rows == 0)
		return 0;
	splits = kp_logits_splits_most(&shape);
	return splits > 1 ? args->rows * splits * PARTIAL_BYTES : 0;
}

enum kp_status kp_argmax_plan(const struct kp_argmax_args *args,
			      const struct kp_kernel_device *device, struct kp_kernel_plan out[2],
			      uint32_t *chunk)
{
	const struct kp_logits_shape shape = shape_of(args);
	size_t needed = kp_argmax_workspace(args);

	if (kp_logits_trouble(&shape) ||
	    !kp_is_workspace(args->workspace, args->workspace_bytes, needed))
		return KP_INVALID;
	kp_logits_share(&shape, device, &out[0], chunk);
	out[0].kernel = out[0].vectors ? KP_KERNEL_argmax_vector : KP_KERNEL_argmax_any;
	out[1] = (struct kp_kernel_plan){.kernel = KP_KERNEL_argmax_finish,
					 .dtype = args->dtype,
					 .grid_y = 1,
					 .threads = FINISH_THREADS};
	if (out[0].grid_y > 1)
		out[1].grid_x = (uint32_t)kp_divide_up(args->rows, FINISH_ROWS);
	return KP_OK;
}

enum kp_status kp_argmax(const struct kp_kernels *kernels, const struct kp_argmax_args *args)
{
	struct kp_argmax_args passed = *args;
	struct kp_kernel_plan plans[2];
	enum kp_status status =
		kp_argmax_plan(args, kp_kernels_device(kernels), plans, &passed.chunk);

	if (status != KP_OK)
		return status;
	passed.splits = plans[0].grid_y;
	return kp_kernels_launch_both(kernels, plans, &passed, args->stream,
				      args->dependent_launch);
}
