/* A linear layer in float64; see kernels/linear_skinny.h. */
#include <math.h>

#include "kernels/linear_skinny.h"
#include "kernels/reference/number.h"

static double activate(enum kp_linear_activation activation, double v)
{
	static const double slope = 0.79788456080286536; /* √(2/π) */

	switch (activation) {
	case KP_LINEAR_RELU:
		return v < 0 ? 0 : v;
	case KP_LINEAR_SILU:
		return v / (1 + exp(-v));
	case KP_LINEAR_GELU_TANH:
		return v / (1 + exp(-2 * slope * (v + 0.044715 * v * v * v)));
	case KP_LINEAR_GELU_ERF:
		return v / 2 * (1 + erf(v / sqrt(2)));
	default:
		return v;
	}
}

/* The sum of an output, and of the sizes of its terms. */
static double dot(const struct kp_linear_skinny_args *args, uint32_t token, uint32_t output,
		  double *magnitude)
{
	double total = 0;

	*magnitude = 0;
	for (uint32_t i = 0; i < args->inputs; i++) {
		double product = kp_number_load(args->x, args->dtype, token * args->x_token + i) *
				 kp_number_load(args->weight, args->weight_dtype,
						output * args->weight_row + i);

		total += product;
		*magnitude += fabs(product);
	}
	return total;
}

void kp_linear_skinny_reference(const struct kp_linear_skinny_args *args, double *y,
				double *magnitudes)
{
	for (uint32_t token = 0; token < args->tokens; token++)
		for (uint32_t output = 0; output < args->outputs; output++) {
			double scale = args->weight_scale ? args->weight_scale[output] : 1, size;
			double value = scale * dot(args, token, output, &size);

			if (args->bias)
				value += kp_number_load(args->bias, args->dtype, output);
			value = activate(args->activation, value);
			if (args->residual)
				value += kp_number_load(args->residual, args->dtype,
							token * args->residual_token + output);
			if (magnitudes)
				*magnitudes++ = size * fabs(scale);
			*y++ = value;
		}
}
