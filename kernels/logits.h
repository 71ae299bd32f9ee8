/*
 * How the rows of argmax and topk_topp_sample are shared out: rows are few and long, so that each
 * is split over blocks. Not installed.
 */
#ifndef KP_KERNELS_LOGITS_H
#define KP_KERNELS_LOGITS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_LOGITS_THREADS 256U
#define KP_LOGITS_SPLITS_MOST 512U

/* What the operators have in common, as the caller has it. */
struct kp_logits_shape {
	const void *x, *index;
	uint32_t rows, columns;
	int64_t x_column;
	enum kp_dtype dtype;
};

/* Why there is no plan for it; NULL: there is one. */
const char *kp_logits_trouble(const struct kp_logits_shape *shape);

/* No device makes more splits of a row. */
uint32_t kp_logits_splits_most(const struct kp_logits_shape *shape);

/*
 * Sets grid (rows × splits) and threads of a plan, its type and its vectors, and `chunk`: columns a
 * block, a multiple of what its threads read at once. All blocks are there at the same time where
 * rows are few enough.
 */
void kp_logits_share(const struct kp_logits_shape *shape, const struct kp_kernel_device *device,
		     struct kp_kernel_plan *plan, uint32_t *chunk);

#ifdef __cplusplus
}
#endif

#endif
