/* rmsnorm and layernorm in float64; see kernels/norm.h. */
#include <math.h>
#include <string.h>

#include "kernels/norm.h"
#include "kernels/reference/number.h"

#define E4M3_MOST 448.0
#define E4M3_LEAST_ROW 0x1p-110

/* h of one row into y. */
static void add(const struct kp_norm_args *args, int64_t outer, int64_t inner, double *y)
{
	int64_t x = outer * args->x_outer + inner * args->x_inner;
	int64_t residual = outer * args->residual_outer + inner * args->residual_inner;

	for (uint32_t i = 0; i < args->columns; i++) {
		y[i] = kp_number_load(args->x, args->dtype, x + i);
		if (args->residual)
			y[i] = kp_number_rounded(
				args->dtype,
				y[i] + kp_number_load(args->residual, args->dtype, residual + i));
	}
	if (args->sum)
		for (uint32_t i = 0; i < args->columns; i++)
			kp_number_store(args->sum, args->dtype,
					outer * args->sum_outer + inner * args->sum_inner + i,
					y[i]);
}

static double apply(const struct kp_norm_args *args, uint32_t column, double value)
{
	bool rounds = args->round_like_eager;

	if (rounds)
		value = kp_number_rounded(args->dtype, value);
	if (args->weight)
		value *= kp_number_load(args->weight, args->dtype, column) +
			 (double)args->weight_offset;
	if (args->bias)
		value = (rounds ? kp_number_rounded(args->dtype, value) : value) +
			kp_number_load(args->bias, args->dtype, column);
	return value;
}

static void norm_row(const struct kp_norm_args *args, bool layer, uint64_t row, double *y)
{
	double mean = 0, squares = 0, most = 0, rstd;

	for (uint32_t i = 0; layer && i < args->columns; i++)
		mean += y[i] / args->columns;
	for (uint32_t i = 0; i < args->columns; i++)
		squares += (y[i] - mean) * (y[i] - mean) / args->columns;
	rstd = 1 / sqrt(squares + (double)args->eps);
	for (uint32_t i = 0; i < args->columns; i++) {
		y[i] = apply(args, i, (y[i] - mean) * rstd);
		most = fmax(most, fabs(y[i]));
	}
	if (args->y_dtype == KP_DTYPE_E4M3)
		args->y_scale[row] = most < E4M3_LEAST_ROW ? 1 : (float)(most / E4M3_MOST);
	if (layer && args->mean)
		args->mean[row] = (float)mean;
	if (args->rstd)
		args->rstd[row] = (float)rstd;
}

static void norm(const struct kp_norm_args *args, bool layer, double *y)
{
	for (uint64_t row = 0; args->columns && row < (uint64_t)args->outer * args->inner; row++) {
		double *out = y + row * args->columns;

		add(args, (int64_t)(row / args->inner), (int64_t)(row % args->inner), out);
		norm_row(args, layer, row, out);
	}
}

void kp_rmsnorm_reference(const struct kp_norm_args *args, double *y)
{
	norm(args, false, y);
}

void kp_layernorm_reference(const struct kp_norm_args *args, double *y)
{
	norm(args, true, y);
}
