/*
 * What a series of alike measurements says of its level, and how surely: medians of batches in
 * order of time, what likeness is left between neighbouring batches, and Student's distribution.
 * Shared by the comparison of runs (diff_stats.h) and of kernels in place (ab_stats.h). Pure.
 */
#ifndef KP_ANALYZERS_BATCHES_H
#define KP_ANALYZERS_BATCHES_H

#include <stddef.h>

/* Batches that a run is cut into. */
#define KP_STATS_BLOCKS 16

/* Of one series. */
struct kp_level {
	double level;    /* the mean of its batches */
	double variance; /* of that; NaN: too few to tell */
	double freedom;  /* degrees of freedom */
};

/* Sorts them. At least one. */
double kp_batches_median(double *values, size_t count);
/* The mean, and the sum of squares around it. */
void kp_batches_moments(const double *values, size_t count, double *mean, double *squares);
/* How alike neighbours are, from 0 to below 1, told from few: the bias is given back. */
double kp_batches_likeness(const double *values, size_t count);
/* Medians of `count` values in `batches` parts; `scratch` has room for the values. */
void kp_batches_cut(const double *values, size_t count, double *out, size_t batches,
		    double *scratch);
/*
 * How many of the batches a run takes to settle: what, left out, gives the mean of the others the
 * least error (White's MSER), but never more than half; and nothing unless that is far less, for
 * leaving out what looks worst makes all that is left look better than it is.
 */
size_t kp_batches_settling(const double *batches, size_t count);
/* What batches say of their level. At least 8. */
struct kp_level kp_batches_judge(const double *batches, size_t count);

/* What a variable of Student's distribution exceeds, either way, with a probability of 5 %. */
double kp_stats_student95(double freedom);

#endif
