/* Noise of samples; see attribution_noise.h. */
#include "analyzers/attribution_noise.h"

#include <math.h>
#include <stdlib.h>

/* What is left of older rows is dropped below this part of a launch: 1e-7 of a GB is 100 bytes. */
#define CARRY_MIN 1e-7
/* A row that owes less than this to the last one begins a chain: nothing is gained by so little. */
#define LINK_MIN 0.03
/* Rows from which on noise is learnt. */
#define LEARNT_ROWS_MIN 50
/* The part of the residuals' squares that is white at least: no sample is exact. */
#define WHITE_PART 0.005
/* Of two launches side by side, the time from which on the second counts may be any within that in
 * which both run: the variance of an even spread, for a time of 1. */
#define BESIDE_SQUARED (1. / 12)

enum kp_status kp_noise_init(struct kp_noise *noise, size_t kept)
{
	*noise = (struct kp_noise){.white = 1, .counts = calloc(kept + 1, sizeof(double))};
	return noise->counts ? KP_OK : KP_NO_MEMORY;
}

void kp_noise_fini(struct kp_noise *noise)
{
	free(noise->counts);
	noise->counts = NULL;
}

enum kp_status kp_chain_init(struct kp_chain *chain, const struct kp_noise *noise, size_t n)
{
	*chain = (struct kp_chain){.noise = noise, .n = n};
	chain->carry = calloc(n + 1, sizeof(*chain->carry));
	chain->is_carried = calloc(n + 1, sizeof(*chain->is_carried));
	chain->terms = malloc((n + 1) * sizeof(*chain->terms));
	return chain->carry && chain->is_carried && chain->terms ? KP_OK : KP_NO_MEMORY;
}

void kp_chain_fini(struct kp_chain *chain)
{
	free(chain->carry);
	free(chain->is_carried);
	free(chain->terms);
	*chain = (struct kp_chain){0};
}

static void forget(struct kp_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		chain->carry[chain->terms[i].column] = 0;
		chain->is_carried[chain->terms[i].column] = false;
	}
	chain->count = 0;
	chain->value = 0;
}

void kp_chain_begin(struct kp_chain *chain)
{
	forget(chain);
	chain->next_sample = 0;
}

/* s² at the end of a row for late = 1. */
static double edge_of(const struct kp_noise *noise, const struct kp_row *row)
{
	double sum = 0;

	for (size_t i = 0; i < row->end_count; i++) {
		double rate = noise->counts[row->ends[i].class] * row->ends[i].per_ns;

		sum += rate * rate;
	}
	return sum;
}

/* late² at the end of a row. */
static double late_at(const struct kp_noise *noise, const struct kp_row *row)
{
	return noise->late_squared + BESIDE_SQUARED * row->beside_ns * row->beside_ns;
}

/* Multiplies what is carried by a factor. */
static void fade(struct kp_chain *chain, double factor)
{
	size_t left = 0;

	for (size_t i = 0; i < chain->count; i++) {
		size_t column = chain->terms[i].column;

		chain->carry[column] *= factor;
		chain->is_carried[column] = fabs(chain->carry[column]) > CARRY_MIN;
		if (chain->is_carried[column])
			chain->terms[left++].column = column;
		else
			chain->carry[column] = 0;
	}
	chain->count = left;
	chain->value *= factor;
}

static void take(struct kp_chain *chain, const struct kp_least_term *term)
{
	if (!chain->is_carried[term->column]) {
		chain->is_carried[term->column] = true;
		chain->terms[chain->count++].column = term->column;
	}
	chain->carry[term->column] += term->value;
}

void kp_chain_add(struct kp_chain *chain, const struct kp_row *row,
		  const struct kp_least_term *terms, size_t count, double value)
{
	const struct kp_noise *noise = chain->noise;
	bool goes_on = chain->next_sample && chain->next_sample == row->sample &&
		       chain->count + count <= KP_CHAIN_COLUMNS_MAX;
	double late = noise->is_learnt ? late_at(noise, row) : 0;
	double end = late > 0 ? late * edge_of(noise, row) : 0;
	double begin = chain->next_sample == row->sample ? chain->edge : 0;
	double diagonal = noise->white / row->weight + begin + end;
	double link = goes_on ? begin / chain->divisor : 0;

	if (link > LINK_MIN)
		fade(chain, link);
	else
		forget(chain);
	chain->divisor = link > LINK_MIN ? diagonal - link * begin : diagonal;
	for (size_t i = 0; i < count; i++)
		take(chain, &terms[i]);
	for (size_t i = 0; i < chain->count; i++)
		chain->terms[i].value = chain->carry[chain->terms[i].column];
	chain->value += value;
	chain->weight = 1 / chain->divisor;
	chain->edge = end;
	chain->next_sample = row->sample + 1;
	chain->effort += (double)chain->count * (double)chain->count;
}

void kp_noise_learn(struct kp_noise_learning *learning, const struct kp_noise *noise,
		    const struct kp_row *row, double residual)
{
	double end = edge_of(noise, row);
	bool follows = learning->last_weight > 0 && learning->last_sample + 1 == row->sample;
	double begin = follows ? learning->last_edge : 0;
	double begin_beside_ns = follows ? learning->last_beside_ns : 0;
	struct kp_noise_sums *sums =
		begin_beside_ns > 0 || row->beside_ns > 0 ? &learning->beside : &learning->alone;

	if (follows && row->weight * learning->last_weight >= 1) {
		sums->products -= begin * residual * learning->last_residual;
		sums->edges_squared += begin * begin;
	}
	if (row->weight >= 1) {
		sums->squares += residual * residual;
		sums->edges += begin + end;
		sums->rows++;
	}
	learning->last_sample = row->sample;
	learning->last_residual = residual;
	learning->last_edge = end;
	learning->last_weight = row->weight;
	learning->last_beside_ns = row->beside_ns;
}

void kp_noise_learnt(const struct kp_noise_learning *learning, struct kp_noise *noise)
{
	const struct kp_noise_sums *sums =
		learning->alone.rows >= LEARNT_ROWS_MIN ? &learning->alone : &learning->beside;
	double late_squared = 0, white;

	if (sums->rows < LEARNT_ROWS_MIN || !(sums->squares > 0))
		return;
	if (sums->edges_squared > 0 && sums->products > 0)
		late_squared = sums->products / sums->edges_squared;
	white = sums->squares - late_squared * sums->edges;
	white = fmax(white, WHITE_PART * sums->squares) / sums->rows;
	if (!isfinite(late_squared) || !isfinite(white) || !(white > 0))
		return;
	noise->late_squared = late_squared;
	noise->white = white;
	noise->is_learnt = true;
}
