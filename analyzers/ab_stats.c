/* The interval of a ratio of times from pairs; see ab_stats.h. Pure. */
#include "analyzers/ab_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/batches.h"
#include "trace/scatter.h"

#define CELLS_MOST 64 /* medians of neighbouring pairs that are drawn from */
#define DRAWS 799
#define TRIMMED 0.2 /* of each end */
/* Pairs by which a beginning is looked for; with fewer, but ROOM_FOR_HEAD, an eighth goes. */
#define SETTLING_LEAST 32
#define ROOM_FOR_HEAD 12
#define HEAD_PART 8
#define NORMAL_95 1.95996398454005
#define NORMAL_POWER 0.84162123357291 /* of KP_AB_POWER_PCT */

/* What is worked on: logarithms, in order of time. */
struct work {
	size_t count;
	double *ratio, *level, *scratch; /* of both arms; scratch has room for twice the pairs */
	bool *candidate_first;
};

/* ---- locations ---- */

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts them. */
static double trimmed_mean(double *values, size_t count)
{
	size_t off = (size_t)(TRIMMED * (double)count);
	double sum = 0;

	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	for (size_t i = off; i < count - off; i++)
		sum += values[i];
	return sum / (double)(count - 2 * off);
}

static double location_of_order(const struct work *work, bool candidate_first)
{
	size_t count = 0;

	for (size_t i = 0; i < work->count; i++)
		if (work->candidate_first[i] == candidate_first)
			work->scratch[count++] = work->ratio[i];
	return trimmed_mean(work->scratch, count);
}

/* ---- the bootstrap ---- */

/* How many neighbours are drawn at once: Politis and White's for an autoregression of order 1. */
static size_t length_of_draw(double alike, size_t count)
{
	double by = 2 * alike / (1 - alike * alike);
	double length = ceil(cbrt(by * by * (double)count));

	if (length > (double)count / 4)
		length = (double)count / 4;
	return length < 1 ? 1 : (size_t)length;
}

struct bootstrap {
	double level, below, above; /* what lies between level and the ends of the interval */
	double half, freedom;
};

/* Cells by size: what was drawn is then counted, not sorted. */
struct ranks {
	size_t count;
	double values[CELLS_MOST]; /* rising */
	size_t rank[CELLS_MOST];   /* of each cell */
};

static void rank_cells(const double *cells, size_t count, struct ranks *out)
{
	out->count = count;
	for (size_t i = 0; i < count; i++) {
		out->rank[i] = 0;
		for (size_t k = 0; k < count; k++)
			out->rank[i] += cells[k] < cells[i] || (k < i && cells[k] == cells[i]);
		out->values[out->rank[i]] = cells[i];
	}
}

/* The trimmed mean of as many cells of each rank as were drawn. */
static double trimmed_draw(const struct ranks *ranks, const size_t *drawn)
{
	size_t off = (size_t)(TRIMMED * (double)ranks->count), kept = ranks->count - 2 * off;
	size_t skip = off, left = kept;
	double sum = 0;

	for (size_t i = 0; left > 0; i++) {
		size_t skipped = drawn[i] < skip ? drawn[i] : skip;
		size_t taken = drawn[i] - skipped < left ? drawn[i] - skipped : left;

		skip -= skipped;
		left -= taken;
		sum += (double)taken * ranks->values[i];
	}
	return kept ? sum / (double)kept : 0;
}

static double draw_level(const struct ranks *ranks, size_t length, uint64_t *state)
{
	size_t drawn[CELLS_MOST] = {0}, from = 0;

	for (size_t k = 0; k < ranks->count; k++) {
		from = k % length ? from + 1 : (size_t)(kp_scatter_next(state) % ranks->count);
		drawn[ranks->rank[from % ranks->count]]++;
	}
	return trimmed_draw(ranks, drawn);
}

/* `cells` are at least KP_AB_PAIRS_LEAST, at most CELLS_MOST. */
static struct bootstrap bootstrap(const double *cells, size_t count, uint64_t seed)
{
	double levels[DRAWS], sorted[CELLS_MOST], alike = kp_batches_likeness(cells, count), wider;
	size_t length = length_of_draw(alike, count);
	struct ranks ranks = {0};
	struct bootstrap out;

	memcpy(sorted, cells, count * sizeof(*cells));
	out.level = trimmed_mean(sorted, count);
	rank_cells(cells, count, &ranks);
	for (size_t i = 0; i < DRAWS; i++)
		levels[i] = draw_level(&ranks, length, &seed);
	qsort(levels, DRAWS, sizeof(*levels), compare);
	out.freedom = (double)count * (1 - 2 * TRIMMED) * (1 - alike) / (1 + alike) - 1;
	out.freedom = out.freedom < 1 ? 1 : out.freedom;
	wider = kp_stats_student95(out.freedom) / NORMAL_95 *
		sqrt((double)count / ((double)count - 1));
	out.below = (out.level - levels[(DRAWS + 1) / 40 - 1]) * wider;
	out.above = (levels[DRAWS - (DRAWS + 1) / 40] - out.level) * wider;
	out.half = (out.below + out.above) / 2;
	return out;
}

/* What is seen with the power that is stated. The error is an estimate, too: its upper end. */
static double detectable(const struct bootstrap *found)
{
	return found->half * (1 + NORMAL_POWER / kp_stats_student95(found->freedom)) *
	       (1 + NORMAL_POWER / sqrt(2 * found->freedom));
}

/* ---- one group ---- */

/* What is left out at the beginning by the levels of both arms: that favours none of them. */
static size_t settling_of(const struct work *work)
{
	double batches[KP_STATS_BLOCKS];

	if (work->count < SETTLING_LEAST)
		return work->count < ROOM_FOR_HEAD ? 0 : work->count / HEAD_PART;
	kp_batches_cut(work->level, work->count, batches, KP_STATS_BLOCKS, work->scratch);
	return (work->count * kp_batches_settling(batches, KP_STATS_BLOCKS) + KP_STATS_BLOCKS - 1) /
	       KP_STATS_BLOCKS;
}

static void leave_out(struct work *work, size_t head)
{
	work->count -= head;
	work->ratio += head;
	work->level += head;
	work->candidate_first += head;
}

static double median_of_part(const struct work *work, size_t from, size_t to)
{
	memcpy(work->scratch, work->level + from, (to - from) * sizeof(*work->scratch));
	return kp_batches_median(work->scratch, to - from);
}

/* Whether what the candidate brings is another thing in the second half of the run. */
static void compare_halves(const double *cells, size_t count, struct kp_ab_estimate *out)
{
	struct kp_level early = kp_batches_judge(cells, count / 2);
	struct kp_level late = kp_batches_judge(cells + count / 2, count - count / 2);
	double error = sqrt(early.variance + late.variance), apart = fabs(late.level - early.level);

	out->unsteady = error > 0 ? apart / error : 0;
	out->unsteady_pct = 100 * expm1(apart);
}

static void estimate_work(const struct work *work, uint64_t seed, struct kp_ab_estimate *out)
{
	double cells[CELLS_MOST], n = (double)work->count;
	double by[2] = {location_of_order(work, false), location_of_order(work, true)};
	double order = (by[0] - by[1]) / 2;
	double uneven = ((double)out->pairs_by[0] - (double)out->pairs_by[1]) / n, wider;
	size_t count = work->count < CELLS_MOST ? work->count : CELLS_MOST;
	struct bootstrap found;

	for (size_t i = 0; i < work->count; i++)
		work->ratio[i] -= work->candidate_first[i] ? -order : order;
	kp_batches_cut(work->ratio, work->count, cells, count, work->scratch);
	found = bootstrap(cells, count, seed);
	/* What the order does is an estimate, too; it weighs where orders are uneven. */
	wider = 1 / sqrt(1 - uneven * uneven);
	out->change_pct = 100 * expm1(found.level);
	out->low_pct = 100 * expm1(found.level - found.below * wider);
	out->high_pct = 100 * expm1(found.level + found.above * wider);
	out->detectable_pct = 100 * expm1(detectable(&found) * wider);
	out->order_pct = 100 * expm1(order);
	out->drift_pct =
		100 * expm1(median_of_part(work, work->count - work->count / 4, work->count) -
			    median_of_part(work, 0, work->count / 4));
	out->known = true;
	if (count >= 2 * KP_AB_PAIRS_LEAST)
		compare_halves(cells, count, out);
}

static void medians(const struct kp_ab_pair *pairs, size_t count, double *scratch,
		    struct kp_ab_estimate *out)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = pairs[i].original_us;
	out->median_us[0] = kp_batches_median(scratch, count);
	for (size_t i = 0; i < count; i++)
		scratch[i] = pairs[i].candidate_us;
	out->median_us[1] = kp_batches_median(scratch, count);
}

static void fill(struct work *work, const struct kp_ab_pair *pairs)
{
	for (size_t i = 0; i < work->count; i++) {
		double original = log(pairs[i].original_us), candidate = log(pairs[i].candidate_us);

		work->ratio[i] = candidate - original;
		work->level[i] = (candidate + original) / 2;
		work->candidate_first[i] = pairs[i].candidate_first;
	}
}

enum kp_status kp_ab_estimate(const struct kp_ab_pair *pairs, size_t count, uint64_t seed,
			      struct kp_ab_estimate *out)
{
	double *numbers = malloc((count + 1) * 4 * sizeof(*numbers));
	bool *flags = malloc((count + 1) * sizeof(*flags));
	struct work work = {.count = count, .candidate_first = flags};

	*out = (struct kp_ab_estimate){.pairs = count, .median_us = {NAN, NAN}, .change_pct = NAN};
	if (!numbers || !flags) {
		free(numbers);
		free(flags);
		return KP_NO_MEMORY;
	}
	work.ratio = numbers;
	work.level = numbers + count;
	work.scratch = numbers + 2 * count;
	if (count > 0)
		medians(pairs, count, work.scratch, out);
	fill(&work, pairs);
	out->settling = settling_of(&work);
	leave_out(&work, out->settling);
	for (size_t i = 0; i < work.count; i++)
		out->pairs_by[work.candidate_first[i]]++;
	if (work.count >= KP_AB_PAIRS_LEAST && out->pairs_by[0] >= KP_AB_ORDER_LEAST &&
	    out->pairs_by[1] >= KP_AB_ORDER_LEAST)
		estimate_work(&work, seed, out);
	free(numbers);
	free(flags);
	return KP_OK;
}
