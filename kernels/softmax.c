/* Softmax: checks, choice of the version, launch. See softmax.h. */
#include "kernels/softmax.h"

#include "kernels/launch.h"
#include "kernels/rows.h"

/* Many threads with few vectors while rows are few; else more bytes in flight a thread. */
static const struct kp_row_version versions[] = {
	{KP_KERNEL_softmax_team_1, KP_ROW_TEAM, 1, 128, 0},
	{KP_KERNEL_softmax_block_1, KP_ROW_BLOCK, 1, 1024, 4},
	{KP_KERNEL_softmax_block_2, KP_ROW_BLOCK, 2, 1024, 4},
	{KP_KERNEL_softmax_team_2, KP_ROW_TEAM, 2, 128, 0},
	{KP_KERNEL_softmax_team_4, KP_ROW_TEAM, 4, 128, 0},
	{KP_KERNEL_softmax_block_4, KP_ROW_BLOCK, 4, 512, 0},
	{KP_KERNEL_softmax_block_8, KP_ROW_BLOCK, 8, 512, 0},
	{KP_KERNEL_softmax_long, KP_ROW_LOOP, 1, 1024, 0},
	{KP_KERNEL_softmax_any, KP_ROW_LOOP, 0, 512, 0},
};

static const char *trouble(const struct kp_softmax_args *args)
{
	if (!kp_is_storage(args->dtype))
		return "the storage type is not bf16 or fp16";
	if ((uint64_t)args->outer * args->queries > KP_GRID_X_MOST)
		return "there are more than 2147483647 rows";
	if (args->columns > KP_GRID_X_MOST)
		return "there are more than 2147483647 columns";
	if ((uint64_t)args->outer * args->queries * args->columns == 0)
		return NULL;
	if (!args->x || !args->y)
		return "x or y is missing";
	if (args->mask && args->mask_outer_group == 0)
		return "mask_outer_group is 0";
	return NULL;
}

static bool is_aligned(const struct kp_softmax_args *args)
{
	const int64_t x[] = {args->x_outer, args->x_query}, y[] = {args->y_outer, args->y_query};
	const int64_t mask[] = {args->mask_outer, args->mask_query};

	return kp_is_aligned(args->x, KP_VECTOR_BYTES, 2, x, 2) &&
	       kp_is_aligned(args->mask, KP_VECTOR_BYTES, 2, mask, 2) &&
	       kp_is_aligned(args->y, KP_VECTOR_BYTES, 2, y, 2);
}

bool kp_softmax_supports(const struct kp_softmax_args *args, const char **reason)
{
	return kp_supports_if(trouble(args), reason);
}

size_t kp_softmax_workspace(const struct kp_softmax_args *args)
{
	(void)args;
	return 0;
}

enum kp_status kp_softmax_plan(const struct kp_softmax_args *args,
			       const struct kp_kernel_device *device, struct kp_kernel_plan *out)
{
	if (trouble(args))
		return KP_INVALID;
	kp_rows_plan(versions, sizeof(versions) / sizeof(versions[0]),
		     (uint64_t)args->outer * args->queries, args->columns, is_aligned(args), device,
		     out);
	out->dtype = args->dtype;
	return KP_OK;
}

enum kp_status kp_softmax(const struct kp_kernels *kernels, const struct kp_softmax_args *args)
{
	struct kp_softmax_args passed = *args;
	struct kp_kernel_plan plan;
	enum kp_status status = kp_softmax_plan(args, kp_kernels_device(kernels), &plan);

	if (status != KP_OK)
		return status;
	passed.team = plan.team;
	return kp_kernels_launch(kernels, &plan, &passed, args->stream, args->dependent_launch);
}
