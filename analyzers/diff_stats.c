/* Intervals of a change from lengths of iterations; see diff_stats.h. Pure. */
#include "analyzers/diff_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neighbouring blocks are never taken to be more alike than that: nothing would be left. */
#define LIKENESS_MAX 0.8
/* The error that leaving out the beginning must leave at most for that to be done. */
#define SETTLED_RATIO 0.25
/* Runs whose numbers of iterations differ by at most that part are compared step by step. */
#define SAME_LENGTH 0.02

/* What one run says: logarithms of nanoseconds. */
struct run {
	double level;    /* the mean of its blocks */
	double variance; /* of that; NaN: too few iterations */
	double freedom;
};

/* What one side says. */
struct side {
	size_t runs;
	double level;
	double within, within_freedom; /* variance of the level by blocks; NaN: not known */
	double between;                /* variance between runs; 0 with one run */
};

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

/* Sorts them. */
static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double log_of(double length_ns)
{
	return log(length_ns > 1 ? length_ns : 1);
}

static void moments(const double *values, size_t count, double *mean, double *squares)
{
	*mean = *squares = 0;
	for (size_t i = 0; i < count; i++)
		*mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		*squares += (values[i] - *mean) * (values[i] - *mean);
}

/*
 * How alike neighbouring blocks are, from 0 to LIKENESS_MAX. The estimate from few values is too
 * low by about (1 + 3 r) / n, which is given back; what is not to be told from 0 stays 0.
 */
static double likeness_of(const double *values, size_t count, double mean, double squares)
{
	double products = 0, number = (double)count, raw;

	for (size_t i = 0; i + 1 < count; i++)
		products += (values[i] - mean) * (values[i + 1] - mean);
	raw = squares > 0 ? products / squares : 0;
	raw = (raw * number + 1) / (number - 3);
	return raw < 0 ? 0 : raw > LIKENESS_MAX ? LIKENESS_MAX : raw;
}

/* Logarithms of the medians of blocks; `scratch` has room for the values. */
static void cut(const double *values, size_t count, double blocks[KP_STATS_BLOCKS], double *scratch)
{
	for (size_t i = 0; i < KP_STATS_BLOCKS; i++) {
		size_t from = count * i / KP_STATS_BLOCKS;
		size_t to = count * (i + 1) / KP_STATS_BLOCKS;

		memcpy(scratch, values + from, (to - from) * sizeof(*scratch));
		blocks[i] = log_of(median_of(scratch, to - from));
	}
}

/*
 * How many blocks a run takes to settle: what, left out, gives the mean of the others the least
 * error (White's MSER), but never more than half; and nothing unless that is far less, for leaving
 * out what looks worst makes all that is left look better than it is.
 */
static size_t settling(const double blocks[KP_STATS_BLOCKS])
{
	double all = 0, best = INFINITY;
	size_t out = 0;

	for (size_t from = 0; from <= KP_STATS_BLOCKS / 2; from++) {
		double left = (double)(KP_STATS_BLOCKS - from), mean, squares;

		moments(blocks + from, KP_STATS_BLOCKS - from, &mean, &squares);
		all = from ? all : squares / (left * left);
		if (squares / (left * left) < best) {
			best = squares / (left * left);
			out = from;
		}
	}
	return best < SETTLED_RATIO * all ? out : 0;
}

/* What blocks say of their level. */
static struct run judge_blocks(const double blocks[KP_STATS_BLOCKS])
{
	double squares, alike, left, count = KP_STATS_BLOCKS;
	struct run run;

	moments(blocks, KP_STATS_BLOCKS, &run.level, &squares);
	alike = likeness_of(blocks, KP_STATS_BLOCKS, run.level, squares);
	left = count * (1 - alike) / (1 + alike); /* blocks' worth of knowledge */
	run.variance = squares / (count - 1) / left;
	run.freedom = left > 2 ? left - 1 : 1;
	return run;
}

/* Of one run; `scratch` has room for its values. */
static struct run judge_run(const struct kp_series *series, double *scratch)
{
	double blocks[KP_STATS_BLOCKS];
	size_t settled;

	if (series->count < KP_STATS_LEAST) {
		memcpy(scratch, series->values, series->count * sizeof(*scratch));
		return (struct run){.level = log_of(median_of(scratch, series->count)),
				    .variance = NAN,
				    .freedom = 1};
	}
	cut(series->values, series->count, blocks, scratch);
	settled = series->count * settling(blocks) / KP_STATS_BLOCKS;
	cut(series->values + settled, series->count - settled, blocks, scratch);
	return judge_blocks(blocks);
}

static enum kp_status judge_side(const struct kp_series *series, size_t count, struct side *out)
{
	double *levels = calloc(count, sizeof(*levels)), *scratch, squares, number = (double)count;
	double weight = 0;
	size_t most = 1;

	for (size_t i = 0; i < count; i++)
		most = series[i].count > most ? series[i].count : most;
	scratch = malloc(most * sizeof(*scratch));
	if (!levels || !scratch) {
		free(levels);
		free(scratch);
		return KP_NO_MEMORY;
	}
	*out = (struct side){.runs = count};
	for (size_t i = 0; i < count; i++) {
		struct run run = judge_run(&series[i], scratch);

		levels[i] = run.level;
		out->within += run.variance / (number * number); /* NaN stays */
		weight += run.variance * run.variance / run.freedom;
	}
	out->within_freedom = weight > 0 ? out->within * out->within * pow(number, 4) / weight : 1;
	moments(levels, count, &out->level, &squares);
	out->between = count > 1 ? squares / (number - 1) : 0;
	free(levels);
	free(scratch);
	return KP_OK;
}

/* Welch's degrees of freedom of a sum of two variances. */
static double freedom_of(double a, double a_freedom, double b, double b_freedom)
{
	double below = a * a / a_freedom + b * b / b_freedom;

	return below > 0 ? (a + b) * (a + b) / below : a_freedom + b_freedom;
}

/* Half the width of the interval by what differs between runs. */
static double between_runs(const struct side *a, const struct side *b, double *freedom)
{
	double a_runs = (double)a->runs, b_runs = (double)b->runs;

	if (a->runs > 1 && b->runs > 1) {
		*freedom = freedom_of(a->between / a_runs, a_runs - 1, b->between / b_runs,
				      b_runs - 1);
		return kp_stats_student95(*freedom) *
		       sqrt(a->between / a_runs + b->between / b_runs);
	}
	*freedom = a_runs + b_runs - 2;
	return kp_stats_student95(*freedom) *
	       sqrt((a->between + b->between) * (1 / a_runs + 1 / b_runs));
}

/* The change of the level by blocks: of two runs, or of all runs. */
struct change {
	double level[2]; /* base, new */
	double change;
	double half; /* of the interval; NaN: not known */
	double freedom;
};

static void by_blocks(const struct side *a, const struct side *b, struct change *out)
{
	*out = (struct change){
		.level = {a->level, b->level}, .change = b->level - a->level, .half = NAN};
	if (isnan(a->within + b->within))
		return;
	out->freedom = freedom_of(a->within, a->within_freedom, b->within, b->within_freedom);
	out->half = kp_stats_student95(out->freedom) * sqrt(a->within + b->within);
}

/* Whether the steps of two runs correspond to each other. */
static bool same_length(const struct kp_series *base, const struct kp_series *fresh)
{
	double a = (double)base->count, b = (double)fresh->count;

	return a >= KP_STATS_PAIRS && b >= KP_STATS_PAIRS &&
	       fabs(a - b) <= SAME_LENGTH * (a < b ? a : b);
}

/* Block by block: what both runs do as they go on is no difference between them. */
static enum kp_status by_pairs(const struct kp_series *base, const struct kp_series *fresh,
			       struct change *out)
{
	const struct kp_series *const series[2] = {base, fresh};
	double blocks[2][KP_STATS_BLOCKS], ratios[KP_STATS_BLOCKS], squares;
	size_t most = base->count > fresh->count ? base->count : fresh->count, settled = 0;
	double *scratch = malloc(most * sizeof(*scratch));
	struct run run;

	if (!scratch)
		return KP_NO_MEMORY;
	for (unsigned i = 0; i < 2; i++) {
		cut(series[i]->values, series[i]->count, blocks[i], scratch);
		settled = settling(blocks[i]) > settled ? settling(blocks[i]) : settled;
	}
	for (unsigned i = 0; i < 2; i++) {
		size_t from = series[i]->count * settled / KP_STATS_BLOCKS;

		cut(series[i]->values + from, series[i]->count - from, blocks[i], scratch);
		moments(blocks[i], KP_STATS_BLOCKS, &out->level[i], &squares);
	}
	for (unsigned i = 0; i < KP_STATS_BLOCKS; i++)
		ratios[i] = blocks[1][i] - blocks[0][i];
	free(scratch);
	run = judge_blocks(ratios);
	out->change = run.level;
	out->freedom = run.freedom;
	out->half = kp_stats_student95(run.freedom) * sqrt(run.variance);
	return KP_OK;
}

enum kp_status kp_stats_compare(const struct kp_series *base, size_t base_count,
				const struct kp_series *fresh, size_t fresh_count,
				struct kp_effect *out)
{
	struct side a, b;
	struct change change = {.half = NAN};
	enum kp_status status = judge_side(base, base_count, &a);

	if (status == KP_OK)
		status = judge_side(fresh, fresh_count, &b);
	if (status != KP_OK)
		return status;
	if (base_count == 1 && fresh_count == 1 && same_length(base, fresh))
		status = by_pairs(base, fresh, &change);
	else
		by_blocks(&a, &b, &change);
	*out = (struct kp_effect){.typical_ns = {exp(change.level[0]), exp(change.level[1])},
				  .change_pct = 100 * expm1(change.change)};
	if (base_count > 1 || fresh_count > 1) {
		double freedom, wider = between_runs(&a, &b, &freedom);

		out->between_runs = true;
		change.freedom = wider <= change.half ? change.freedom : freedom;
		change.half = wider <= change.half ? change.half : wider;
	}
	out->freedom = change.freedom;
	out->known = !isnan(change.half);
	if (out->known) {
		out->low_pct = 100 * expm1(change.change - change.half);
		out->high_pct = 100 * expm1(change.change + change.half);
	}
	return status;
}
