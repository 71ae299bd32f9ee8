/*
 * Activations of feed-forward layers, alone or as gates.
 *
 *   silu_mul        y = silu(x) * up           silu(v) = v / (1 + exp(-v))
 *   gelu_mul        y = gelu(x) * up           tanh:  gelu(v) = v / 2 * (1 + tanh(√(2/π) (v +
 * 0.044715 v³))) gelu            y = gelu(x)                erf:   gelu(v) = v / 2 * (1 + erf(v /
 * √2))
 *
 * round_like_eager: the activation is rounded to the storage type before the product.
 *
 * x, up and y are rows × columns with strides between rows. A packed gate|up of 2 · columns is x
 * and up = x + columns elements, both with a stride of 2 · columns; up|gate the other way round.
 *
 * Bytes: 2 · rows · columns for each of x, up, y. FLOPs: some 8 an element, two or three of them in
 * the special function units. Bound by memory; gelu by erf may be bound by arithmetic where memory
 * is fast.
 *
 * How: tiles of a row, two vectors of 16 bytes a thread and input, all loads before the first use;
 * one vector where there is too little work to fill the GPU. The tanh is computed as 2/(1 +
 * exp(-2u)) - 1, which makes v · sigmoid(2u) of the gelu. Sources: Shazeer 2020 (GLU), Hendrycks
 * and Gimpel 2016.
 *
 * Tolerance, against float64 of the same stored inputs: half a unit in the last place for each
 * rounding that the formula has, and 2⁻¹⁹ · |x · up|. -Infinity gives NaN for silu and gelu by
 * tanh, as their formulas do in floating point.
 */
#ifndef KP_KERNELS_ACTIVATION_H
#define KP_KERNELS_ACTIVATION_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kp_activation { KP_ACTIVATION_SILU, KP_ACTIVATION_GELU_TANH, KP_ACTIVATION_GELU_ERF };

struct kp_activation_args {
	const void *x;
	const void *up; /* NULL: no product */
	void *y;
	uint32_t rows, columns;
	int64_t x_row, up_row, y_row; /* strides */
	enum kp_activation activation;
	enum kp_dtype dtype;
	bool round_like_eager, dependent_launch;
	void *stream;
};

bool kp_activation_supports(const struct kp_activation_args *args, const char **reason);
size_t kp_activation_workspace(const struct kp_activation_args *args);
/* Errors of the rest: KP_INVALID (see _supports), KP_IO (the launch fails). */
enum kp_status kp_activation_plan(const struct kp_activation_args *args,
				  const struct kp_kernel_device *device,
				  struct kp_kernel_plan *out);
enum kp_status kp_activation(const struct kp_kernels *kernels,
			     const struct kp_activation_args *args);

/* In float64 on the CPU, from host memory; y is of doubles, rows × columns, not rounded. */
void kp_activation_reference(const struct kp_activation_args *args, double *y);

#ifdef __cplusplus
}
#endif

#endif
