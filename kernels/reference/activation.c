/* Activations in float64; see kernels/activation.h. */
#include <math.h>

#include "kernels/activation.h"
#include "kernels/reference/number.h"

static double activate(enum kp_activation activation, double v)
{
	if (activation == KP_ACTIVATION_SILU)
		return v / (1 + exp(-v));
	if (activation == KP_ACTIVATION_GELU_TANH)
		return v / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (v + 0.044715 * v * v * v)));
	return v / 2 * (1 + erf(v / sqrt(2)));
}

void kp_activation_reference(const struct kp_activation_args *args, double *y)
{
	for (uint64_t i = 0; i < (uint64_t)args->rows * args->columns; i++) {
		int64_t row = (int64_t)(i / args->columns), column = (int64_t)(i % args->columns);
		double value =
			activate(args->activation,
				 kp_number_load(args->x, args->dtype, row * args->x_row + column));

		if (args->up && args->round_like_eager)
			value = kp_number_rounded(args->dtype, value);
		if (args->up)
			value *= kp_number_load(args->up, args->dtype, row * args->up_row + column);
		y[i] = value;
	}
}
