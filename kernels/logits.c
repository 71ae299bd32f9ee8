/* Rows of logits shared out over blocks; see logits.h. */
#include "kernels/logits.h"

#include "kernels/launch.h"

#define BLOCKS_PER_SM 4U /* so many stay at the registers that all versions have */

const char *kp_logits_trouble(const struct kp_logits_shape *shape)
{
	if ((unsigned)shape->dtype > KP_DTYPE_FP32)
		return "the logits are not bf16, fp16 or fp32";
	if (shape->rows > KP_GRID_X_MOST)
		return "there are more than 2147483647 rows";
	if (shape->columns > KP_GRID_X_MOST)
		return "there are more than 2147483647 columns";
	if (shape->rows == 0)
		return NULL;
	if (shape->columns == 0)
		return "there are no columns";
	if (!shape->x)
		return "x is missing";
	if ((uintptr_t)shape->x % kp_dtype_bytes(shape->dtype))
		return "x lies between elements";
	if (!shape->index)
		return "index is missing";
	return NULL;
}

/* Elements that a thread reads at once: those of 16 bytes where columns lie side by side. */
static uint32_t step_of(const struct kp_logits_shape *shape)
{
	if (shape->x_column != 1 && shape->columns > 1)
		return 1;
	return KP_VECTOR_BYTES / (uint32_t)kp_dtype_bytes(shape->dtype);
}

/* Turns of a block over a row: it may begin anywhere within a vector. */
static uint64_t turns(const struct kp_logits_shape *shape)
{
	uint64_t step = step_of(shape);

	return kp_divide_up(shape->columns + step - 1, step * KP_LOGITS_THREADS);
}

uint32_t kp_logits_splits_most(const struct kp_logits_shape *shape)
{
	uint64_t most = turns(shape);

	return most < KP_LOGITS_SPLITS_MOST ? (uint32_t)most : KP_LOGITS_SPLITS_MOST;
}

void kp_logits_share(const struct kp_logits_shape *shape, const struct kp_kernel_device *device,
		     struct kp_kernel_plan *plan, uint32_t *chunk)
{
	uint64_t all = turns(shape), most = kp_logits_splits_most(shape), splits, a_block;

	*chunk = 0;
	*plan = (struct kp_kernel_plan){
		.dtype = shape->dtype,
		.threads = KP_LOGITS_THREADS,
		.vectors = step_of(shape) > 1,
	};
	if (shape->rows == 0)
		return;
	splits = (uint64_t)BLOCKS_PER_SM * device->sm_count / shape->rows;
	splits = splits < 1 ? 1 : splits > most ? most : splits;
	a_block = kp_divide_up(all, splits);
	plan->grid_x = shape->rows;
	plan->grid_y = (uint32_t)kp_divide_up(all, a_block);
	*chunk = (uint32_t)(a_block * KP_LOGITS_THREADS * step_of(shape));
}
