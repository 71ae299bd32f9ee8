/* Levels from batches; see batches.h. */
#include "analyzers/batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neighbouring batches are never taken to be more alike than that: nothing would be left. */
#define LIKENESS_MAX 0.95
/*
 * From there on an estimate is raised, by half of what it exceeds: of a run that is hardly longer
 * than what it remembers, one estimate in two is too low, and one that is costs far more.
 */
#define LIKENESS_DOUBTED 0.5
/* The error that leaving out the beginning must leave at most for that to be done. */
#define SETTLED_RATIO 0.25

double kp_stats_student95(double freedom)
{
	/* G. W. Hill, Algorithm 396 (CACM 13, 1970), for the probability 0.05. */
	const double p = 0.05, half_pi = 1.57079632679489661923;
	double a, b, c, d, x, y;

	if (freedom <= 1)
		return 12.7062047361747;
	if (freedom < 2) /* between the exact ones of 1 and 2 */
		return exp(log(12.7062047361747) * (2 - freedom) +
			   log(4.30265272974946) * (freedom - 1));
	if (freedom < 3)
		return exp(log(4.30265272974946) * (3 - freedom) +
			   log(3.18244630528371) * (freedom - 2));
	a = 1 / (freedom - 0.5);
	b = 48 / (a * a);
	c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
	d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * half_pi) * freedom;
	x = d * p;
	y = pow(x, 2 / freedom);
	if (y > 0.05 + a) {
		x = -1.95996398454005;
		y = x * x;
		if (freedom < 5)
			c += 0.3 * (freedom - 4.5) * (x + 0.6);
		c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
		y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
		y = expm1(a * y * y);
	} else {
		y = ((1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) *
			   3) +
		      0.5 / (freedom + 4)) *
			     y -
		     1) * (freedom + 1) /
			    (freedom + 2) +
		    1 / y;
	}
	return sqrt(freedom * y);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double kp_batches_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void kp_batches_moments(const double *values, size_t count, double *mean, double *squares)
{
	*mean = *squares = 0;
	for (size_t i = 0; i < count; i++)
		*mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		*squares += (values[i] - *mean) * (values[i] - *mean);
}

double kp_batches_likeness(const double *values, size_t count)
{
	double products = 0, number = (double)count, mean, squares, raw;

	kp_batches_moments(values, count, &mean, &squares);
	for (size_t i = 0; i + 1 < count; i++)
		products += (values[i] - mean) * (values[i + 1] - mean);
	raw = squares > 0 ? products / squares : 0;
	raw = count > 3 ? (raw * number + 1) / (number - 3) : LIKENESS_MAX;
	if (raw > LIKENESS_DOUBTED)
		raw += (raw - LIKENESS_DOUBTED) / 2;
	return raw < 0 ? 0 : raw > LIKENESS_MAX ? LIKENESS_MAX : raw;
}

void kp_batches_cut(const double *values, size_t count, double *out, size_t batches,
		    double *scratch)
{
	for (size_t i = 0; i < batches; i++) {
		size_t from = count * i / batches, to = count * (i + 1) / batches;

		memcpy(scratch, values + from, (to - from) * sizeof(*scratch));
		out[i] = kp_batches_median(scratch, to - from);
	}
}

size_t kp_batches_settling(const double *batches, size_t count)
{
	double all = 0, best = INFINITY;
	size_t out = 0;

	for (size_t from = 0; from <= count / 2; from++) {
		double left = (double)(count - from), mean, squares;

		kp_batches_moments(batches + from, count - from, &mean, &squares);
		all = from ? all : squares / (left * left);
		if (squares / (left * left) < best) {
			best = squares / (left * left);
			out = from;
		}
	}
	return best < SETTLED_RATIO * all ? out : 0;
}

struct kp_level kp_batches_judge(const double *batches, size_t count)
{
	double squares, alike = kp_batches_likeness(batches, count), left;
	struct kp_level out;

	kp_batches_moments(batches, count, &out.level, &squares);
	left = (double)count * (1 - alike) / (1 + alike); /* batches' worth of knowledge */
	out.variance = squares / ((double)count - 1) / left;
	out.freedom = left > 2 ? left - 1 : 1;
	return out;
}
