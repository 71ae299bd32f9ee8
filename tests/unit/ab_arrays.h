/*
 * A product of matrices and its comparison on the CPU, as kernels/compare.cu does it: what a
 * comparison in shadow sees of a candidate.
 */
#ifndef KP_TESTS_AB_ARRAYS_H
#define KP_TESTS_AB_ARRAYS_H

#include <math.h>
#include <string.h>

#include "ab_noise.h"
#include "analyzers/ab_accuracy.h"

#define ROWS 4
#define COLUMNS 24
#define DEPTH 1024
#define TILE 8

/* Bits of a significand: what a type rounds to. Ranges are not modelled. */
enum type { BF16 = 8, FP16 = 11, FP32 = 24, TYPE_COUNT = 3 };
static const enum type types[TYPE_COUNT] = {BF16, FP16, FP32};

static inline double round_to(double value, enum type type)
{
	int exponent;
	double fraction;

	if (type == FP32)
		return (double)(float)value;
	fraction = frexp(value, &exponent);
	return value == 0 || !isfinite(value) ? value
					      : ldexp(rint(ldexp(fraction, type)), exponent - type);
}

struct problem {
	enum type type;
	double a[ROWS][DEPTH], b[COLUMNS][DEPTH];
};
struct result {
	double at[ROWS][COLUMNS];
};

static inline void problem_draw(struct problem *problem, enum type type, struct noise *noise)
{
	problem->type = type;
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < DEPTH; k++)
			problem->a[i][k] = round_to(noise_normal(noise), type);
	for (size_t j = 0; j < COLUMNS; j++)
		for (size_t k = 0; k < DEPTH; k++)
			problem->b[j][k] = round_to(noise_normal(noise), type);
}

/* In chunks of `chunk` from either end, accumulated in `sums`. */
static inline void product(const struct problem *problem, size_t chunk, bool back, enum type sums,
			   struct result *out)
{
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < COLUMNS; j++) {
			double total = 0;

			for (size_t from = 0; from < DEPTH; from += chunk) {
				double part = 0;

				for (size_t k = from; k < from + chunk; k++) {
					size_t at = back ? DEPTH - 1 - k : k;

					part = round_to(
						part + problem->a[i][at] * problem->b[j][at], sums);
				}
				total = round_to(total + part, sums);
			}
			out->at[i][j] = round_to(total, problem->type);
		}
	}
}

/* With the tolerance that rules have unless they say otherwise. */
static inline struct kp_ab_figures compare_results(const struct result *original,
						   const struct result *candidate)
{
	struct kp_ab_figures out = {
		.expected = ROWS * COLUMNS, .noise_rms = NAN, .rms_tolerated = 0.004};
	double size = 0, off = 0;

	for (size_t i = 0; i < ROWS * COLUMNS; i++)
		size += pow((&original->at[0][0])[i], 2);
	size = sqrt(size / (ROWS * COLUMNS));
	for (size_t i = 0; i < ROWS * COLUMNS; i++) {
		double a = (&original->at[0][0])[i], b = (&candidate->at[0][0])[i];

		out.elements++;
		if (!isfinite(a) || !isfinite(b)) {
			out.mask_different +=
				isfinite(a) || isfinite(b) || (a != b && !(isnan(a) && isnan(b)));
			continue;
		}
		out.finite++;
		off += (a - b) * (a - b);
		out.mismatches += fabs(a - b) > 0.016 * fabs(a) + 0.016 * size;
	}
	out.rms_original = size;
	out.rms = out.finite ? sqrt(off / (double)out.finite) : NAN;
	return out;
}

#endif
