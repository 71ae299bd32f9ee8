/* rmsnorm and layernorm: checks, choice of the version, launch. See norm.h. */
#include "kernels/norm.h"

#include "kernels/launch.h"
#include "kernels/rows.h"

#define VERSIONS(name)                                                                             \
	{                                                                                          \
		{KP_KERNEL_##name##_team_1, KP_ROW_TEAM, 1, 128, 0},                               \
			{KP_KERNEL_##name##_block_1, KP_ROW_BLOCK, 1, 1024, 4},                    \
			{KP_KERNEL_##name##_block_2, KP_ROW_BLOCK, 2, 1024, 4},                    \
			{KP_KERNEL_##name##_team_2, KP_ROW_TEAM, 2, 128, 0},                       \
			{KP_KERNEL_##name##_team_4, KP_ROW_TEAM, 4, 128, 0},                       \
			{KP_KERNEL_##name##_block_4, KP_ROW_BLOCK, 4, 512, 0},                     \
			{KP_KERNEL_##name##_block_8, KP_ROW_BLOCK, 8, 512, 0},                     \
			{KP_KERNEL_##name##_any, KP_ROW_LOOP, 0, 256, 0},                          \
	}

/* Many threads with few vectors while rows are few; else more bytes in flight a thread. */
static const struct kp_row_version rmsnorm_versions[] = VERSIONS(rmsnorm);
static const struct kp_row_version layernorm_versions[] = VERSIONS(layernorm);

static const char *trouble(const struct kp_norm_args *args)
{
	bool is_e4m3 = args->y_dtype == KP_DTYPE_E4M3;

	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if (!is_e4m3 && args->y_dtype != args->dtype)
		return "the type of y is neither that of x nor e4m3";
	if ((uint64_t)args->outer * args->inner > KP_GRID_X_MOST)
		return "there are more than 2147483647 rows";
	if ((uint64_t)args->outer * args->inner * args->columns == 0)
		return NULL;
	if (!args->x || !args->y)
		return "x or y is missing";
	if (is_e4m3 && !args->y_scale)
		return "e4m3 needs y_scale";
	if (!(args->eps >= 0))
		return "eps is negative or not a number";
	return NULL;
}

static bool is_aligned(const struct kp_norm_args *args)
{
	const int64_t x[] = {args->x_outer, args->x_inner}, y[] = {args->y_outer, args->y_inner};
	const int64_t residual[] = {args->residual_outer, args->residual_inner};
	const int64_t sum[] = {args->sum_outer, args->sum_inner};
	size_t y_bytes = kp_dtype_bytes(args->y_dtype);

	return kp_is_aligned(args->x, KP_VECTOR_BYTES, 2, x, 2) &&
	       kp_is_aligned(args->residual, KP_VECTOR_BYTES, 2, residual, 2) &&
	       kp_is_aligned(args->sum, KP_VECTOR_BYTES, 2, sum, 2) &&
	       kp_is_aligned(args->weight, KP_VECTOR_BYTES, 2, NULL, 0) &&
	       kp_is_aligned(args->bias, KP_VECTOR_BYTES, 2, NULL, 0) &&
	       kp_is_aligned(args->y, y_bytes * KP_VECTOR_ELEMENTS, y_bytes, y, 2);
}

static enum kp_status plan(const struct kp_row_version *versions, size_t count,
			   const struct kp_norm_args *args, const struct kp_kernel_device *device,
			   struct kp_kernel_plan *out)
{
	if (trouble(args))
		return KP_INVALID;
	kp_rows_plan(versions, count, (uint64_t)args->outer * args->inner, args->columns,
		     is_aligned(args), device, out);
	out->dtype = args->dtype;
	return KP_OK;
}

static enum kp_status launch(const struct kp_kernels *kernels, const struct kp_kernel_plan *plan,
			     const struct kp_norm_args *args)
{
	struct kp_norm_args passed = *args;

	passed.team = plan->team;
	return kp_kernels_launch(kernels, plan, &passed, args->stream, args->dependent_launch);
}

bool kp_rmsnorm_supports(const struct kp_norm_args *args, const char **reason)
{
	const char *found = trouble(args);

	if (!found && args->mean)
		found = "rmsnorm has no mean";
	return kp_supports_if(found, reason);
}

bool kp_layernorm_supports(const struct kp_norm_args *args, const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_rmsnorm_workspace(const struct kp_norm_args *args)
{
	(void)args;
	return 0;
}

size_t kp_layernorm_workspace(const struct kp_norm_args *args)
{
	(void)args;
	return 0;
}

enum kp_status kp_rmsnorm_plan(const struct kp_norm_args *args,
			       const struct kp_kernel_device *device, struct kp_kernel_plan *out)
{
	if (!kp_rmsnorm_supports(args, NULL))
		return KP_INVALID;
	return plan(rmsnorm_versions, sizeof(rmsnorm_versions) / sizeof(rmsnorm_versions[0]), args,
		    device, out);
}

enum kp_status kp_layernorm_plan(const struct kp_norm_args *args,
				 const struct kp_kernel_device *device, struct kp_kernel_plan *out)
{
	return plan(layernorm_versions, sizeof(layernorm_versions) / sizeof(layernorm_versions[0]),
		    args, device, out);
}

enum kp_status kp_rmsnorm(const struct kp_kernels *kernels, const struct kp_norm_args *args)
{
	struct kp_kernel_plan chosen;
	enum kp_status status = kp_rmsnorm_plan(args, kp_kernels_device(kernels), &chosen);

	return status == KP_OK ? launch(kernels, &chosen, args) : status;
}

enum kp_status kp_layernorm(const struct kp_kernels *kernels, const struct kp_norm_args *args)
{
	struct kp_kernel_plan chosen;
	enum kp_status status = kp_layernorm_plan(args, kp_kernels_device(kernels), &chosen);

	return status == KP_OK ? launch(kernels, &chosen, args) : status;
}
