/*
 * Solving one metric: normal equations over all samples, x, then once more over all samples to see
 * what is left over, block by block, and what launches had for themselves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/attribution_result.h"
#include "analyzers/least_squares.h"

/* A sample is one of so many that are looked at for the highest rate. */
#define RATES_LOOKED_AT 16384
/* Where not all samples are solved for, so many in a row are. */
#define CHAIN_SAMPLES 64
/* So many rows are looked at to see how many columns a chain has, and squares of that number are
 * added up at most, which takes about three seconds. */
#define EFFORT_LOOKED_AT 4096
#define EFFORT_MAX 6e9

struct solving {
	struct kp_attribution *attribution;
	struct kp_attribution_metric *metric;
	const float *values;
	double background; /* a nanosecond */
	struct kp_edges_found found;
	/* Columns: kept classes, the rest, then of some classes a part that grows with durations,
	 * or the pieces behind the first. */
	size_t n;
	uint32_t *more_columns; /* where those of each kept class and the rest begin; 0: none */
	struct kp_chain chain;
	double *matrix, *right, *x;
	double *scores; /* blocks × n */
	size_t block_samples;
	size_t stride;          /* one of so many samples is solved for */
	double squares;         /* of residuals */
	double weighed_squares; /* the same, as the noise weighs them */
	double log_variances;   /* of the noise, added up */
};

#define TERMS_MAX (KP_PIECES * (KP_ROW_ENTRIES_MAX + 1))

static bool is_pieced(const struct solving *solving, size_t class)
{
	return solving->attribution->times[class].ends[0] > 0;
}

static size_t terms_of(const struct solving *solving, const struct kp_row *row,
		       struct kp_least_term *terms)
{
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++) {
		const struct kp_row_entry *entry = &row->entries[i];
		uint32_t more = solving->more_columns[entry->class];
		bool pieced = is_pieced(solving, entry->class);

		terms[count++] = (struct kp_least_term){entry->class,
							pieced ? entry->pieces[0] : entry->share};
		for (size_t p = 1; pieced && p < KP_PIECES; p++) {
			if (entry->pieces[p] > 0)
				terms[count++] =
					(struct kp_least_term){more + p - 1, entry->pieces[p]};
		}
		if (more && !pieced)
			terms[count++] = (struct kp_least_term){more, entry->scaled};
	}
	return count;
}

static double net(const struct solving *solving, const struct kp_row *row)
{
	return (double)solving->values[row->sample] - solving->background * row->length_ns;
}

static void add_row(struct solving *solving, const struct kp_row *row)
{
	struct kp_least_term terms[TERMS_MAX];
	size_t count = terms_of(solving, row, terms);
	struct kp_chain *chain = &solving->chain;

	kp_chain_add(chain, row, terms, count, net(solving, row));
	kp_least_add(solving->matrix, solving->right, solving->n, chain->terms, chain->count,
		     chain->value, chain->weight);
}

static bool is_solved_for(const struct solving *solving, const struct kp_row *row)
{
	return row->length_ns <= solving->attribution->length_max_ns &&
	       row->sample / CHAIN_SAMPLES % solving->stride == 0;
}

/* One of how many samples to solve for: columns in a chain are more than in a row. */
static size_t stride_of(struct solving *solving)
{
	struct kp_attribution *attribution = solving->attribution;
	struct kp_chain *chain = &solving->chain;
	struct kp_least_term terms[TERMS_MAX];
	double looked_at = 0;

	if (!attribution->stretch_count)
		return attribution->stride;
	kp_rows_begin(&attribution->rows, solving->found.edges, &attribution->stretches[0].from);
	for (size_t i = 0; i < EFFORT_LOOKED_AT; i++) {
		const struct kp_row *row = kp_rows_next(&attribution->rows);

		if (!row)
			break;
		kp_chain_add(chain, row, terms, terms_of(solving, row, terms), 0);
		looked_at++;
	}
	double samples = (double)attribution->input.sample_count;
	double effort = looked_at > 0 ? chain->effort / looked_at * samples : 0;
	size_t stride = 1 + (size_t)(effort / EFFORT_MAX);

	kp_chain_begin(chain);
	return stride > attribution->stride ? stride : attribution->stride;
}

static enum kp_status first_pass(struct solving *solving)
{
	struct kp_attribution *attribution = solving->attribution;
	const struct kp_row *row;

	solving->stride = stride_of(solving);
	kp_rows_begin(&attribution->rows, solving->found.edges, NULL);
	while ((row = kp_rows_next(&attribution->rows))) {
		if (row->count && is_solved_for(solving, row))
			add_row(solving, row);
	}
	for (size_t c = 0; c < attribution->kept; c++) {
		if (is_pieced(solving, c))
			kp_pieces_tie(&attribution->times[c], c, solving->more_columns[c],
				      solving->matrix, solving->n);
	}
	return kp_least_nonnegative(solving->matrix, solving->right, solving->n, solving->x);
}

/* What a row says of its classes, whatever the solution. */
static void tally(struct solving *solving, const struct kp_row *row, double value)
{
	for (size_t i = 0; i < row->count; i++) {
		const struct kp_row_entry *entry = &row->entries[i];
		struct kp_class_result *class = &solving->metric->classes[entry->class];

		class->weight += entry->share;
		class->scaled_weight += entry->scaled;
		class->samples++;
		for (size_t p = 0; p < KP_PIECES; p++) {
			class->piece_weight[p] += entry->pieces[p];
			class->alone_piece_weight[p] += row->alone ? entry->pieces[p] : 0;
		}
		if (!row->alone)
			continue;
		class->alone_weight += entry->share;
		class->alone_scaled_weight += entry->scaled;
		class->alone_value += value;
	}
}

/* What the row, as the solution weighs it, leaves over. */
static void add_scores(struct solving *solving, const struct kp_row *row,
		       const struct kp_least_term *terms, size_t count)
{
	struct kp_chain *chain = &solving->chain;
	double *scores = &solving->scores[row->sample / solving->block_samples * solving->n];

	kp_chain_add(chain, row, terms, count, net(solving, row));
	double left = chain->value;
	for (size_t i = 0; i < chain->count; i++)
		left -= solving->x[chain->terms[i].column] * chain->terms[i].value;
	solving->weighed_squares += left * left * chain->weight;
	solving->log_variances -= log(chain->weight);
	for (size_t i = 0; i < chain->count; i++)
		scores[chain->terms[i].column] += chain->weight * chain->terms[i].value * left;
}

/* Of one sample. Noise that was learnt is a part of what was fitted to the samples, and flatters
 * it: half of the judgement is by what is left over of each sample as it is. */
static double surprise_of(const struct solving *solving, double samples)
{
	if (!(solving->squares > 0) || !(solving->weighed_squares > 0))
		return -HUGE_VAL;
	double even = log(solving->squares / samples);
	double weighed = log(solving->weighed_squares / samples) + solving->log_variances / samples;

	return (even + weighed) / 2;
}

static void second_pass(struct solving *solving)
{
	struct kp_attribution *attribution = solving->attribution;
	struct kp_attribution_totals *totals = &solving->metric->totals;
	const struct kp_row *row;

	kp_chain_begin(&solving->chain);
	kp_rows_begin(&attribution->rows, solving->found.edges, NULL);
	while ((row = kp_rows_next(&attribution->rows))) {
		struct kp_least_term terms[TERMS_MAX];
		size_t count = terms_of(solving, row, terms);
		double value = net(solving, row), model = 0;

		for (size_t i = 0; i < count; i++)
			model += solving->x[terms[i].column] * terms[i].value;
		totals->sampled += (double)solving->values[row->sample];
		totals->background += row->idle ? (double)solving->values[row->sample]
						: solving->background * row->length_ns;
		totals->attributed += row->alone ? value : model;
		tally(solving, row, value);
		if (!is_solved_for(solving, row))
			continue;
		totals->samples_used++;
		solving->squares += (value - model) * (value - model);
		add_scores(solving, row, terms, count);
	}
	totals->displaced = attribution->rows.displaced;
	totals->unattributed = totals->sampled - totals->background - totals->attributed;
	if (totals->samples_used)
		totals->residual = sqrt(solving->squares / (double)totals->samples_used);
	solving->metric->surprise = surprise_of(solving, (double)totals->samples_used);
}

/* ---- means and their errors ---- */

/* Errors of the coefficients become those of a class's mean: only its shared samples matter. */
static double of_mean(const struct solving *solving, size_t class, const double *vector)
{
	const struct kp_class_result *result = &solving->metric->classes[class];
	uint32_t more = solving->more_columns[class];
	double sum = vector[class] * (result->weight - result->alone_weight);

	if (is_pieced(solving, class)) {
		sum = 0;
		for (size_t p = 0; p < KP_PIECES; p++)
			sum += vector[p ? more + p - 1 : class] *
			       (result->piece_weight[p] - result->alone_piece_weight[p]);
	} else if (more) {
		sum += vector[more] * (result->scaled_weight - result->alone_scaled_weight);
	}
	return result->weight > 0 ? sum / result->weight : 0;
}

static void fill_classes(struct solving *solving, const double *inflation)
{
	const struct kp_attribution *attribution = solving->attribution;

	for (size_t c = 0; c < attribution->kept; c++) {
		struct kp_class_result *result = &solving->metric->classes[c];

		result->launches = attribution->times[c].launches;
		result->mean_ns = attribution->times[c].mean_ns;
		result->mean = of_mean(solving, c, solving->x);
		if (result->weight > 0)
			result->mean += result->alone_value / result->weight;
		result->inflation = inflation[c];
		result->beside = attribution->times[c].beside;
		if (is_pieced(solving, c))
			result->unlike = kp_pieces_unlike(&attribution->times[c], c,
							  solving->more_columns[c], solving->x);
	}
}

/* The scores of the blocks, less their mean, which is not 0 where x is held at 0. */
static void fill_scatter(struct solving *solving, const struct kp_least *least)
{
	struct kp_attribution_metric *metric = solving->metric;
	size_t blocks = metric->blocks, kept = metric->kept, n = solving->n;
	double factor = sqrt((double)blocks / ((double)blocks - 1));

	for (size_t column = 0; column < n; column++) {
		double mean = 0;

		for (size_t b = 0; b < blocks; b++)
			mean += solving->scores[b * n + column] / (double)blocks;
		for (size_t b = 0; b < blocks; b++)
			solving->scores[b * n + column] -= mean;
	}
	for (size_t b = 0; b < blocks; b++) {
		kp_least_solve(least, &solving->scores[b * n]);
		for (size_t c = 0; c < kept; c++)
			metric->influence[b * kept + c] =
				factor * of_mean(solving, c, &solving->scores[b * n]);
	}
}

/* Edges that are off; of classes without a row of moves nothing is known. */
static void fill_moves(struct solving *solving)
{
	struct kp_attribution_metric *metric = solving->metric;
	const struct kp_edges_found *found = &solving->found;

	for (size_t e = 0; e < 2 * found->edged; e++) {
		double *influence = &metric->influence[(metric->blocks + e) * metric->kept];

		for (size_t c = 0; c < found->edged; c++) {
			const struct kp_class_result *result = &metric->classes[c];

			if (result->weight > 0)
				influence[c] = found->moves[e * found->edged + c] *
					       (result->weight - result->alone_weight) /
					       result->weight;
		}
	}
}

static enum kp_status find_errors(struct solving *solving)
{
	double *inflation = malloc(solving->n * sizeof(*inflation));
	struct kp_least least = {0};
	enum kp_status status =
		inflation ? kp_least_factor(solving->matrix, solving->n, &least) : KP_NO_MEMORY;

	if (status == KP_OK)
		status = kp_least_inflation(&least, inflation);
	if (status == KP_OK) {
		fill_classes(solving, inflation);
		fill_scatter(solving, &least);
		fill_moves(solving);
	}
	kp_least_fini(&least);
	free(inflation);
	return status;
}

static double highest_rate(const struct solving *solving)
{
	const struct kp_attribution_input *input = &solving->attribution->input;
	size_t step = input->sample_count / RATES_LOOKED_AT + 1;
	double highest = 0;

	for (size_t i = 0; i < input->sample_count; i += step)
		highest = fmax(highest, (double)solving->values[i] / input->length_ns[i]);
	return highest;
}

static enum kp_status make_room(struct solving *solving)
{
	struct kp_attribution *attribution = solving->attribution;
	struct kp_attribution_metric *metric = solving->metric;
	size_t kept = attribution->kept, samples = attribution->input.sample_count;

	solving->n = kept + 1;
	solving->more_columns = calloc(kept + 1, sizeof(*solving->more_columns));
	for (size_t c = 0; solving->more_columns && c < kept; c++) {
		size_t more = is_pieced(solving, c) ? KP_PIECES - 1 : attribution->times[c].scaled;

		if (more)
			solving->more_columns[c] = (uint32_t)solving->n;
		solving->n += more;
	}
	metric->attribution = attribution;
	metric->kept = attribution->kept;
	metric->blocks = samples / 20 < KP_BLOCKS_MAX ? samples / 20 + 2 : KP_BLOCKS_MAX;
	solving->block_samples = samples / metric->blocks + 1;
	metric->influences = metric->blocks + 2 * solving->found.edged + KP_WAYS - 1;
	metric->classes = calloc(kept + 1, sizeof(*metric->classes));
	metric->influence = calloc(metric->influences * kept + 1, sizeof(double));
	solving->matrix = calloc(solving->n * solving->n, sizeof(double));
	solving->right = calloc(solving->n, sizeof(double));
	solving->x = calloc(solving->n, sizeof(double));
	solving->scores = calloc(metric->blocks * solving->n, sizeof(double));
	if (!solving->more_columns || !metric->classes || !metric->influence || !solving->matrix ||
	    !solving->right || !solving->x || !solving->scores)
		return KP_NO_MEMORY;
	return kp_chain_init(&solving->chain, &solving->found.noise, solving->n);
}

enum kp_status kp_attribution_solve_way(struct kp_attribution *attribution, const float *values,
					struct kp_attribution_metric **out)
{
	struct solving solving = {.attribution = attribution, .values = values};
	enum kp_status status = KP_NO_MEMORY;

	*out = solving.metric = calloc(1, sizeof(*solving.metric));
	if (!solving.metric)
		return KP_NO_MEMORY;
	solving.background = kp_attribution_background(attribution, values);
	status = kp_edges_find(attribution, values, solving.background, &solving.found);
	if (status == KP_OK)
		status = make_room(&solving);
	if (status == KP_OK)
		status = first_pass(&solving);
	if (status == KP_OK) {
		second_pass(&solving);
		solving.metric->totals.lag_ns = solving.found.common.lag_ns;
		solving.metric->totals.lead_ns = solving.found.common.lead_ns;
		solving.metric->rate_max = highest_rate(&solving);
		status = find_errors(&solving);
	}
	kp_chain_fini(&solving.chain);
	kp_edges_fini(&solving.found);
	free(solving.more_columns);
	free(solving.matrix);
	free(solving.right);
	free(solving.x);
	free(solving.scores);
	if (status != KP_OK) {
		kp_attribution_metric_destroy(solving.metric);
		*out = NULL;
	}
	return status;
}
