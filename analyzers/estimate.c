/* The ratio estimator; see estimate.h. */
#include "analyzers/estimate.h"

#include <math.h>

double kp_student_t975(double freedom)
{
	/* For few degrees of freedom the series below converges badly. */
	static const double few[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646};
	const double z = 1.959964;
	double at = freedom < 1 ? 1 : freedom;
	unsigned below = at < 7 ? (unsigned)at : 6;
	double v = at, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	if (at < 7)
		return few[below - 1] + (at - below) * (few[below] - few[below - 1]);
	/* Abramowitz and Stegun, 26.7.5 */
	return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

void kp_estimation_add(struct kp_estimation *sum, const struct kp_sample *sample,
		       const struct kp_sample_row *row)
{
	double n = (double)sample->n, x = sample->x, ratio, squares, variance;
	double whole = sample->whole_x > x ? sample->whole_x : x;

	if (sample->n < 2 || !(x > 0)) {
		kp_estimation_add_exact(sum, row->y);
		return;
	}
	ratio = row->y / x;
	squares = row->yy - 2 * ratio * row->xy + ratio * ratio * sample->xx;
	variance = whole * whole * (1 - x / whole) * n * (fmax(squares, 0) / (n - 1)) / (x * x);
	sum->total += whole * ratio;
	sum->variance += variance;
	sum->satterthwaite += variance * variance / (n - 1);
}

void kp_estimation_add_exact(struct kp_estimation *sum, double total)
{
	sum->total += total;
}

double kp_estimation_ci95(const struct kp_estimation *sum)
{
	if (!(sum->variance > 0))
		return 0;
	return kp_student_t975(sum->variance * sum->variance / sum->satterthwaite) *
	       sqrt(sum->variance);
}
