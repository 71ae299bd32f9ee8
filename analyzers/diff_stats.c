/* Intervals of a change from lengths of iterations; see diff_stats.h. Pure. */
#include "analyzers/diff_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs whose numbers of iterations differ by at most that part are compared step by step. */
#define SAME_LENGTH 0.02

/* What one side says. */
struct side {
	size_t runs;
	double level;
	double within, within_freedom; /* variance of the level by blocks; NaN: not known */
	double between;                /* variance between runs; 0 with one run */
};

static double log_of(double length_ns)
{
	return log(length_ns > 1 ? length_ns : 1);
}

/* Logarithms of the medians of blocks; `scratch` has room for the values. */
static void cut(const double *values, size_t count, double blocks[KP_STATS_BLOCKS], double *scratch)
{
	kp_batches_cut(values, count, blocks, KP_STATS_BLOCKS, scratch);
	for (size_t i = 0; i < KP_STATS_BLOCKS; i++)
		blocks[i] = log_of(blocks[i]);
}

/* Of one run; `scratch` has room for its values. */
static struct kp_level judge_run(const struct kp_series *series, double *scratch)
{
	double blocks[KP_STATS_BLOCKS];
	size_t settled;

	if (series->count < KP_STATS_LEAST) {
		memcpy(scratch, series->values, series->count * sizeof(*scratch));
		return (struct kp_level){.level = log_of(kp_batches_median(scratch, series->count)),
					 .variance = NAN,
					 .freedom = 1};
	}
	cut(series->values, series->count, blocks, scratch);
	settled = series->count * kp_batches_settling(blocks, KP_STATS_BLOCKS) / KP_STATS_BLOCKS;
	cut(series->values + settled, series->count - settled, blocks, scratch);
	return kp_batches_judge(blocks, KP_STATS_BLOCKS);
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
		struct kp_level run = judge_run(&series[i], scratch);

		levels[i] = run.level;
		out->within += run.variance / (number * number); /* NaN stays */
		weight += run.variance * run.variance / run.freedom;
	}
	out->within_freedom = weight > 0 ? out->within * out->within * pow(number, 4) / weight : 1;
	kp_batches_moments(levels, count, &out->level, &squares);
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
	struct kp_level run;

	if (!scratch)
		return KP_NO_MEMORY;
	for (unsigned i = 0; i < 2; i++) {
		cut(series[i]->values, series[i]->count, blocks[i], scratch);
		settled = kp_batches_settling(blocks[i], KP_STATS_BLOCKS) > settled
				  ? kp_batches_settling(blocks[i], KP_STATS_BLOCKS)
				  : settled;
	}
	for (unsigned i = 0; i < 2; i++) {
		size_t from = series[i]->count * settled / KP_STATS_BLOCKS;

		cut(series[i]->values + from, series[i]->count - from, blocks[i], scratch);
		kp_batches_moments(blocks[i], KP_STATS_BLOCKS, &out->level[i], &squares);
	}
	for (unsigned i = 0; i < KP_STATS_BLOCKS; i++)
		ratios[i] = blocks[1][i] - blocks[0][i];
	free(scratch);
	run = kp_batches_judge(ratios, KP_STATS_BLOCKS);
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
