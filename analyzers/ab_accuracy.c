/* Right or wrong, and why; see ab_accuracy.h. Pure. */
#include "analyzers/ab_accuracy.h"

#include <math.h>
#include <stddef.h>

/* What the original is off from itself, the candidate may be so many times off from it. */
#define NOISE_FACTOR 3.0
/* The same of what both are off from float64; */
#define ERROR_FACTOR 3.0
/* more than a few roundings of a result of that size is none. */
#define ROUNDINGS 4.0
/* Fewer elements in float64 acquit nobody. */
#define TRUTH_LEAST 16

static const char *const keys[KP_AB_FAULT_COUNT] = {
#define KEY_OF(NAME, key, what) key,
	KP_AB_FAULTS(KEY_OF)
#undef KEY_OF
};

const char *kp_ab_fault_key(enum kp_ab_fault fault)
{
	return keys[fault];
}

/* NaN is nothing. No call of libm: the collector has none. */
static double larger(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

/* Rounding alone may make so much of a difference, whatever the original's luck. */
static bool off_from_truth(const struct kp_ab_figures *figures)
{
	double allowed = larger(ERROR_FACTOR * figures->truth_rms_original,
				ROUNDINGS * figures->truth_unit * figures->truth_rms);

	return figures->truth_elements && !(figures->truth_rms_candidate <= allowed);
}

/* Whether what both differ by is the original's own doing, as far as float64 was computed. */
static bool is_as_true(const struct kp_ab_figures *figures)
{
	return figures->truth_elements >= TRUTH_LEAST &&
	       figures->truth_rms_candidate <= figures->truth_rms_original;
}

static bool off_as_a_whole(const struct kp_ab_figures *figures)
{
	double allowed = larger(figures->rms_tolerated * figures->rms_original,
				NOISE_FACTOR * figures->noise_rms);

	return figures->finite && !(figures->rms <= allowed);
}

struct kp_ab_accuracy_verdict kp_ab_accuracy(const struct kp_ab_figures *figures)
{
	struct kp_ab_accuracy_verdict out = {.fault = KP_AB_FAULT_NONE};

	if (figures->other_stream)
		out.fault = KP_AB_FAULT_STREAM;
	else if (figures->inputs_changed)
		out.fault = KP_AB_FAULT_INPUTS;
	else if (figures->elements != figures->expected)
		out.fault = KP_AB_FAULT_INCOMPLETE;
	else if (figures->outside)
		out.fault = KP_AB_FAULT_OUTSIDE;
	else if (figures->mask_different)
		out.fault = KP_AB_FAULT_MASK;
	else if (figures->mismatches)
		out.fault = KP_AB_FAULT_MISMATCH;
	else if (off_from_truth(figures))
		out.fault = KP_AB_FAULT_TRUTH;
	else if (off_as_a_whole(figures) && !is_as_true(figures))
		out.fault = KP_AB_FAULT_RMS;
	else
		out.says_little = figures->finite == 0 || !(figures->rms_original > 0);
	return out;
}
