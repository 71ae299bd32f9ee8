/* Normal equations over the stretches; see attribution_finding.h. */
#include "analyzers/attribution_finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most terms of a row: pieces and two edges of each class, and the rest. */
#define TERMS_MAX ((KP_PIECES + 2) * (KP_ROW_ENTRIES_MAX + 1) + 1)

static void add_term(struct kp_least_term *terms, size_t *count, size_t column, double value)
{
	if (value != 0)
		terms[(*count)++] = (struct kp_least_term){column, value};
}

/* Columns that a class has besides its own. */
static size_t more_of(const struct kp_class_times *times)
{
	return times->ends[0] > 0 ? KP_PIECES - 1 : times->scaled;
}

/* A class's columns, added up. */
double kp_finding_whole_of(const struct kp_finding *finding, size_t class, const double *vector)
{
	size_t more = more_of(&finding->attribution->times[class]);
	double sum = vector[class];

	for (size_t i = 0; i < more; i++)
		sum += vector[finding->more_columns[class] + i];
	return sum;
}

/* What a launch of the class counts. */
double kp_finding_whole(const struct kp_finding *finding, size_t class)
{
	return kp_finding_whole_of(finding, class, finding->x);
}

/* Edges of a class whose durations differ: as if its launches counted by their duration. */
static double by_duration(const struct kp_class_times *times, double even, double scaled)
{
	double least = times->least_ns / times->mean_ns;

	return times->scaled ? least * even + (1 - least) * scaled : even;
}

/* The columns of one class but those of its edges. */
static void add_class(const struct kp_finding *finding, const struct kp_row_entry *entry,
		      struct kp_least_term *terms, size_t *count)
{
	const struct kp_class_times *times = &finding->attribution->times[entry->class];
	size_t more = finding->more_columns[entry->class];

	if (times->ends[0] > 0) {
		add_term(terms, count, entry->class, entry->pieces[0]);
		for (size_t p = 1; p < KP_PIECES; p++)
			add_term(terms, count, more + p - 1, entry->pieces[p]);
		return;
	}
	add_term(terms, count, entry->class, entry->share);
	if (more)
		add_term(terms, count, more, entry->scaled);
}

/* What pieces change by with an edge, each by what it counted in the last pass; of the whole. */
static double by_pieces(const struct kp_finding *finding, size_t class, const double *changes)
{
	double whole = kp_finding_whole(finding, class), sum = finding->x[class] * changes[0];

	for (size_t p = 1; p < KP_PIECES; p++)
		sum += finding->x[finding->more_columns[class] + p - 1] * changes[p];
	return whole > 0 ? sum / whole : 0;
}

static void add_edges(const struct kp_finding *finding, const struct kp_row_entry *entry,
		      struct kp_least_term *terms, size_t *count)
{
	const struct kp_class_times *times = &finding->attribution->times[entry->class];
	double lag, lead;

	if (times->ends[0] > 0) {
		lag = by_pieces(finding, entry->class, entry->d_lag_pieces);
		lead = by_pieces(finding, entry->class, entry->d_lead_pieces);
	} else {
		lag = by_duration(times, entry->d_lag, entry->d_lag_scaled);
		lead = by_duration(times, entry->d_lead, entry->d_lead_scaled);
	}
	add_term(terms, count, finding->first + entry->class, lag);
	add_term(terms, count, finding->first + finding->edged + entry->class, lead);
}

static size_t terms_of(const struct kp_finding *finding, const struct kp_row *row,
		       struct kp_least_term *terms)
{
	const struct kp_attribution *attribution = finding->attribution;
	size_t edged = finding->edged, count = 0;
	double other_ns = 0;

	for (size_t i = 0; i < row->count; i++) {
		const struct kp_row_entry *entry = &row->entries[i];
		const struct kp_class_times *times = &attribution->times[entry->class];

		if (entry->class == attribution->kept) {
			other_ns += entry->share;
			continue;
		}
		if (entry->class >= edged) {
			other_ns += entry->share * times->mean_ns;
			continue;
		}
		add_class(finding, entry, terms, &count);
		if (finding->edges_too)
			add_edges(finding, entry, terms, &count);
	}
	add_term(terms, &count, edged, other_ns);
	return count;
}

static void add_row(struct kp_finding *finding, const struct kp_row *row,
		    const struct kp_least_term *terms, size_t count, double value)
{
	struct kp_chain *chain = &finding->chain;

	kp_chain_add(chain, row, terms, count, value);
	finding->squares += chain->weight * chain->value * chain->value;
	finding->rows += row->weight;
	kp_least_add(finding->matrix, finding->right, finding->n, chain->terms, chain->count,
		     chain->value, chain->weight);
}

static void learn_row(const struct kp_finding *finding, const struct kp_row *row,
		      const struct kp_least_term *terms, size_t count, double value,
		      struct kp_noise_learning *learning)
{
	for (size_t i = 0; i < count; i++) {
		if (terms[i].column < finding->first)
			value -= finding->x[terms[i].column] * terms[i].value;
	}
	kp_noise_learn(learning, finding->noise, row, value);
}

/* Adds the rows of a stretch to the equations, or learns from them. */
static void visit_stretch(struct kp_finding *finding, const struct kp_stretch *stretch,
			  struct kp_noise_learning *learning)
{
	struct kp_rows *rows = &finding->attribution->rows;
	struct kp_least_term terms[TERMS_MAX];

	kp_rows_begin(rows, finding->edges, &stretch->from);
	kp_chain_begin(&finding->chain);
	for (size_t i = 0; i < stretch->count; i++) {
		const struct kp_row *row = kp_rows_next(rows);

		if (!row)
			break;
		if (row->length_ns > finding->attribution->length_max_ns)
			continue;
		size_t count = terms_of(finding, row, terms);
		double value =
			(double)finding->values[row->sample] - finding->background * row->length_ns;
		if (learning)
			learn_row(finding, row, terms, count, value, learning);
		else
			add_row(finding, row, terms, count, value);
	}
}

/* What is left over by x, from the normal equations. */
static double left_over(const struct kp_finding *finding)
{
	size_t first = finding->first;
	double residual = finding->squares;

	for (size_t i = 0; i < first; i++) {
		residual -= 2 * finding->x[i] * finding->right[i];
		for (size_t j = 0; j < first; j++)
			residual += finding->x[i] * finding->x[j] *
				    kp_least_element(finding->matrix, finding->n, i, j);
	}
	return fmax(residual, 0);
}

enum kp_status kp_finding_pass(struct kp_finding *finding, double *residual)
{
	const struct kp_attribution *attribution = finding->attribution;
	size_t first = finding->first;
	enum kp_status status;

	memset(finding->matrix, 0, finding->n * finding->n * sizeof(double));
	memset(finding->right, 0, finding->n * sizeof(double));
	finding->squares = finding->rows = 0;
	for (size_t s = 0; s < attribution->stretch_count; s++)
		visit_stretch(finding, &attribution->stretches[s], NULL);
	for (size_t c = 0; c < finding->edged; c++) {
		if (attribution->times[c].ends[0] > 0)
			kp_pieces_tie(&attribution->times[c], c, finding->more_columns[c],
				      finding->matrix, finding->n);
	}
	for (size_t i = 0; i < first; i++)
		memcpy(&finding->joint[i * first], &finding->matrix[i * finding->n],
		       first * sizeof(double));
	status = kp_least_nonnegative(finding->joint, finding->right, first, finding->x);
	*residual = left_over(finding);
	return status;
}

void kp_finding_learn(struct kp_finding *finding)
{
	const struct kp_attribution *attribution = finding->attribution;
	struct kp_noise_learning learning = {0};
	double *counts = finding->noise->counts, other_ns = finding->x[finding->edged];

	for (size_t c = 0; c < attribution->kept; c++)
		counts[c] = c < finding->edged ? kp_finding_whole(finding, c)
					       : other_ns * attribution->times[c].mean_ns;
	counts[attribution->kept] = other_ns;
	for (size_t s = 0; s < attribution->stretch_count; s++) {
		learning.last_weight = 0;
		visit_stretch(finding, &attribution->stretches[s], &learning);
	}
	kp_noise_learnt(&learning, finding->noise);
}

enum kp_status kp_finding_init(struct kp_finding *finding)
{
	const struct kp_attribution *attribution = finding->attribution;
	size_t edged = attribution->kept < KP_EDGED_MAX ? attribution->kept : KP_EDGED_MAX;

	finding->edged = edged;
	finding->first = edged + 1;
	for (size_t c = 0; c < edged; c++) {
		size_t more = more_of(&attribution->times[c]);

		if (more)
			finding->more_columns[c] = finding->first;
		finding->first += more;
	}
	size_t n = finding->n = finding->first + 2 * edged;
	finding->matrix = malloc(n * n * sizeof(double));
	finding->right = malloc(n * sizeof(double));
	finding->x = calloc(finding->first, sizeof(double));
	/* Common edges take two columns even where no class has any. */
	finding->joint = malloc((n + 2) * (n + 2) * sizeof(double));
	finding->joint_right = malloc((n + 2) * sizeof(double));
	if (!finding->matrix || !finding->right || !finding->x || !finding->joint ||
	    !finding->joint_right)
		return KP_NO_MEMORY;
	return kp_chain_init(&finding->chain, finding->noise, n);
}

void kp_finding_fini(struct kp_finding *finding)
{
	free(finding->matrix);
	free(finding->right);
	free(finding->x);
	free(finding->joint);
	free(finding->joint_right);
	kp_chain_fini(&finding->chain);
}
