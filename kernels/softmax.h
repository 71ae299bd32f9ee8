/*
 * Softmax of rows.
 *
 *   v = scale * x + mask, and -infinity where causal forbids the column
 *   y = exp(v - max(v)) / sum(exp(v - max(v)))
 *
 * Rows are outer × queries: batch · heads × query positions. The mask is of the storage type and
 * broadcast by its strides: mask_outer_group rows of `outer` share one mask (heads, for a mask a
 * sequence; 1: each has its own); a stride of 0 repeats it. causal: query q sees the columns up to
 * q + columns - queries. A row that sees nothing, or holds a NaN, becomes NaN, as frameworks have
 * it.
 *
 * Bytes: 2 · rows · columns for each of x, y and the mask that is not repeated. FLOPs: some 6 an
 * element. Bound by memory.
 *
 * How: rows to 64k columns stay in registers and are read once: a team of lanes a row, or a block.
 * Longer ones run twice over the row, which lies in L2 the second time; largest value and sum come
 * out of one pass (Milakov and Gimelshein 2018).
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place of y, and
 * 2⁻²⁰ · (1 + |scale · x|) of y. Results below the storage type's range may be zero.
 */
#ifndef KP_KERNELS_SOFTMAX_H
#define KP_KERNELS_SOFTMAX_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kp_softmax_args {
	const void *x;
	const void *mask; /* added; may be NULL */
	void *y;
	uint32_t outer, queries, columns;
	uint32_t mask_outer_group;
	int64_t x_outer, x_query; /* strides */
	int64_t mask_outer, mask_query;
	int64_t y_outer, y_query;
	float scale;
	enum kp_dtype dtype;
	bool causal, dependent_launch;
	uint32_t team; /* set by the plan, not by the caller */
	void *stream;
};

bool kp_softmax_supports(const struct kp_softmax_args *args, const char **reason);
size_t kp_softmax_workspace(const struct kp_softmax_args *args);
/* Errors of the rest: KP_INVALID (see _supports), KP_IO (the launch fails). */
enum kp_status kp_softmax_plan(const struct kp_softmax_args *args,
			       const struct kp_kernel_device *device, struct kp_kernel_plan *out);
enum kp_status kp_softmax(const struct kp_kernels *kernels, const struct kp_softmax_args *args);

/* In float64 on the CPU, from host memory; y is of doubles, outer × queries × columns, not rounded.
 */
void kp_softmax_reference(const struct kp_softmax_args *args, double *y);

#ifdef __cplusplus
}
#endif

#endif
