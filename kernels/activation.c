/* Activations: checks, choice of the version, launch. See activation.h. */
#include "kernels/activation.h"

#include "kernels/launch.h"

#define BLOCKS_PER_SM 2U /* at least, or threads get one vector each */

/* Versions from the top: the first that the alignment and the amount of work allow. */
static const struct {
	enum kp_kernel_id kernel;
	uint32_t vectors, threads; /* vectors 0: single elements */
} versions[] = {
	{KP_KERNEL_activation_vector_2, 2, 128},
	{KP_KERNEL_activation_vector_1, 1, 128},
	{KP_KERNEL_activation_any, 0, 256},
};

static const char *trouble(const struct kp_activation_args *args)
{
	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if (args->activation < KP_ACTIVATION_SILU || args->activation > KP_ACTIVATION_GELU_ERF)
		return "there is no such activation";
	if (args->columns > KP_GRID_X_MOST)
		return "there are more than 2147483647 columns";
	if (args->rows && args->columns && (!args->x || !args->y))
		return "x or y is missing";
	return NULL;
}

static bool is_aligned(const struct kp_activation_args *args)
{
	return args->columns % KP_VECTOR_ELEMENTS == 0 &&
	       kp_is_aligned(args->x, KP_VECTOR_BYTES, 2, &args->x_row, 1) &&
	       kp_is_aligned(args->up, KP_VECTOR_BYTES, 2, &args->up_row, 1) &&
	       kp_is_aligned(args->y, KP_VECTOR_BYTES, 2, &args->y_row, 1);
}

bool kp_activation_supports(const struct kp_activation_args *args, const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_activation_workspace(const struct kp_activation_args *args)
{
	(void)args;
	return 0;
}

enum kp_status kp_activation_plan(const struct kp_activation_args *args,
				  const struct kp_kernel_device *device, struct kp_kernel_plan *out)
{
	bool aligned = is_aligned(args);
	uint64_t tiles;
	size_t i = 0;

	if (trouble(args))
		return KP_INVALID;
	for (;; i++) {
		uint32_t tile =
			versions[i].threads *
			(versions[i].vectors ? versions[i].vectors * KP_VECTOR_ELEMENTS : 1);

		tiles = kp_divide_up(args->columns, tile);
		if (versions[i].vectors == 0)
			break;
		if (aligned && (versions[i].vectors == 1 ||
				tiles * args->rows >= (uint64_t)BLOCKS_PER_SM * device->sm_count))
			break;
	}
	*out = (struct kp_kernel_plan){
		.kernel = versions[i].kernel,
		.dtype = args->dtype,
		.grid_x = (uint32_t)tiles,
		.grid_y = args->rows < KP_GRID_Y_MOST ? args->rows : KP_GRID_Y_MOST,
		.threads = versions[i].threads,
		.vectors = versions[i].vectors,
	};
	return KP_OK;
}

enum kp_status kp_activation(const struct kp_kernels *kernels,
			     const struct kp_activation_args *args)
{
	struct kp_kernel_plan plan;
	enum kp_status status = kp_activation_plan(args, kp_kernels_device(kernels), &plan);

	if (status != KP_OK)
		return status;
	return kp_kernels_launch(kernels, &plan, args, args->stream, args->dependent_launch);
}
