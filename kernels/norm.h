/*
 * RMS norm and layer norm of rows, with what stands around them in a transformer.
 *
 *   h = x + residual, rounded to the storage type      (without residual: h = x)
 *   rmsnorm    n = h / sqrt(mean(h²) + eps)
 *   layernorm  n = (h - mean(h)) / sqrt(mean((h - mean(h))²) + eps)
 *   y = n * (weight + weight_offset) + bias            (each part where it is given)
 *
 * weight_offset is 0, or 1 for weights that are stored as a difference from one (Gemma).
 * round_like_eager: n is rounded to the storage type before the weight, the product before the
 * bias, as frameworks do that run one operator at a time.
 *
 * Rows are outer × inner, each of `columns` elements that lie side by side: tokens × 1 for a hidden
 * state, tokens × heads for the norm of queries and keys. The weight is the same for all rows.
 *
 * y is of the storage type, or e4m3 with one scale a row: scale = max(|y|) / 448, and 1 for a row
 * of zeros; what is stored is y / scale, rounded.
 *
 * Bytes: 2 · rows · columns for each of x, residual, sum, y (1 for e4m3), and 2 · columns for
 * weight and bias. FLOPs: some 5 (rmsnorm) or 8 a element. Bound by memory.
 *
 * How: a row stays in registers between the sum and the result, so that it is read once. Short rows
 * take a team of lanes within a warp, several rows a block; others a block each, more threads with
 * fewer vectors where there are too few rows to fill the GPU. Sources: Zhang and Sennrich 2019
 * (RMS), Ba et al. 2016 (layer).
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place of the
 * storage type for each rounding that the formula has, and 2⁻²⁰ relative to max(|n|, 1) · |weight|
 * + |bias|.
 */
#ifndef KP_KERNELS_NORM_H
#define KP_KERNELS_NORM_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kp_norm_args {
	const void *x;
	const void *residual; /* may be NULL */
	void *sum;            /* h, of the storage type; may be x or residual; NULL: not wanted */
	const void *weight, *bias; /* of `columns`; may be NULL */
	void *y;
	float *y_scale;     /* a row; for e4m3 alone */
	float *mean, *rstd; /* a row each; NULL: not wanted. rmsnorm has no mean */
	uint32_t outer, inner, columns;
	int64_t x_outer, x_inner; /* strides */
	int64_t residual_outer, residual_inner;
	int64_t sum_outer, sum_inner;
	int64_t y_outer, y_inner;
	float eps, weight_offset;
	enum kp_dtype dtype, y_dtype; /* y_dtype: dtype or KP_DTYPE_E4M3 */
	bool round_like_eager, dependent_launch;
	uint32_t team; /* set by the plan, not by the caller */
	void *stream;
};

bool kp_rmsnorm_supports(const struct kp_norm_args *args, const char **reason);
bool kp_layernorm_supports(const struct kp_norm_args *args, const char **reason);
size_t kp_rmsnorm_workspace(const struct kp_norm_args *args);
size_t kp_layernorm_workspace(const struct kp_norm_args *args);
/* Errors of the rest: KP_INVALID (see _supports), KP_IO (the launch fails). */
enum kp_status kp_rmsnorm_plan(const struct kp_norm_args *args,
			       const struct kp_kernel_device *device, struct kp_kernel_plan *out);
enum kp_status kp_layernorm_plan(const struct kp_norm_args *args,
				 const struct kp_kernel_device *device, struct kp_kernel_plan *out);
enum kp_status kp_rmsnorm(const struct kp_kernels *kernels, const struct kp_norm_args *args);
enum kp_status kp_layernorm(const struct kp_kernels *kernels, const struct kp_norm_args *args);

/* The same in float64 on the CPU, from and to host memory; rounded once, at the end. `y` is of
 * doubles, outer × inner × columns, not rounded; sum, y_scale, mean and rstd of args as above. */
void kp_rmsnorm_reference(const struct kp_norm_args *args, double *y);
void kp_layernorm_reference(const struct kp_norm_args *args, double *y);

#ifdef __cplusplus
}
#endif

#endif
