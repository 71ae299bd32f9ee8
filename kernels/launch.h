/* What the operators of this library share: checks of alignment, and the launch. Not installed. */
#ifndef KP_KERNELS_LAUNCH_H
#define KP_KERNELS_LAUNCH_H

#include "kernels/kernels.h"

#define KP_VECTOR_BYTES 16U
#define KP_VECTOR_ELEMENTS 8U /* of the storage types */
#define KP_GRID_X_MOST 0x7fffffffU
#define KP_GRID_Y_MOST 65535U

/* Whether vectors may be loaded: the pointer and `count` strides in elements of `bytes` allow it.
 */
bool kp_is_aligned(const void *pointer, size_t vector_bytes, size_t bytes, const int64_t *strides,
		   size_t count);

static inline uint64_t kp_divide_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Whether a type is one that rows are stored in. */
static inline bool kp_is_storage(enum kp_dtype dtype)
{
	return dtype == KP_DTYPE_BF16 || dtype == KP_DTYPE_FP16;
}

/* Puts a reason where it is wanted; whether there is none. */
static inline bool kp_supports_if(const char *trouble, const char **reason)
{
	if (reason)
		*reason = trouble;
	return !trouble;
}

/* Whether the caller lends as much workspace as is needed, where vectors may lie. */
static inline bool kp_is_workspace(const void *workspace, size_t bytes, size_t needed)
{
	return needed == 0 ||
	       (workspace && (uintptr_t)workspace % KP_VECTOR_BYTES == 0 && bytes >= needed);
}

/* The driver's function; NULL where it has none. */
kp_encode_map kp_kernels_encode_map(const struct kp_kernels *kernels);

/* Enqueues a plan; a grid of no blocks is nothing to do. `args`: the kernel's only argument. */
enum kp_status kp_kernels_launch(const struct kp_kernels *kernels,
				 const struct kp_kernel_plan *plan, const void *args, void *stream,
				 bool dependent);

/* Two with the same arguments. The second may always begin early: it waits for the first. */
enum kp_status kp_kernels_launch_both(const struct kp_kernels *kernels,
				      const struct kp_kernel_plan plans[2], const void *args,
				      void *stream, bool dependent);

#endif
