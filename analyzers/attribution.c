/* The attribution as a whole: what is common to all metrics, and what is known in the end. */
#include "analyzers/attribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/attribution_parts.h"
#include "analyzers/attribution_result.h"

/* Less idle time than this tells nothing about the background. */
#define IDLE_SAMPLES_MIN 20
/* Of idle samples: so many are looked at, and this part of them, the quietest, is the background.
 */
#define IDLE_LOOKED_AT 4096
#define IDLE_PART 0.9

/*
 * The effort of a solution grows with the square of the classes in each sample: squares that are
 * added up at most, in a pass over all samples and in one over the stretches.
 */
#define EFFORT_MAX 1e10
#define STRETCH_EFFORT_MAX 1e8

static bool is_idle(const struct kp_attribution *attribution, size_t sample)
{
	return attribution->idle[sample / 8] >> (sample % 8) & 1;
}

static int by_rate(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Bursts of what nobody launched, such as the clearing of memory that was just allocated, are no
 * background: the rates that are higher than most are left out. */
double kp_attribution_background(const struct kp_attribution *attribution, const float *values)
{
	const struct kp_attribution_input *input = &attribution->input;
	double rates[IDLE_LOOKED_AT], sum = 0;
	size_t idle = 0, count = 0, seen = 0;

	for (size_t i = 0; i < input->sample_count; i++)
		idle += is_idle(attribution, i);
	size_t step = idle / IDLE_LOOKED_AT + 1;
	for (size_t i = 0; i < input->sample_count; i++) {
		if (is_idle(attribution, i) && seen++ % step == 0)
			rates[count++] = (double)values[i] / input->length_ns[i];
	}
	if (idle < IDLE_SAMPLES_MIN)
		return 0;
	qsort(rates, count, sizeof(*rates), by_rate);
	count = (size_t)((double)count * IDLE_PART);
	for (size_t i = 0; i < count; i++)
		sum += rates[i];
	return count ? sum / (double)count : 0;
}

/* Solves for fewer samples where many have many classes: no file may keep a reader for hours. */
static void bound_effort(struct kp_attribution *attribution, double squares)
{
	double samples = (double)attribution->input.sample_count, looked_at = 0;

	for (size_t i = 0; i < attribution->stretch_count; i++)
		looked_at += (double)attribution->stretches[i].count;
	attribution->stride = 1 + (size_t)(squares / EFFORT_MAX);
	double part = samples > 0 ? STRETCH_EFFORT_MAX * samples / (squares * looked_at + 1) : 1;
	for (size_t i = 0; i < attribution->stretch_count && part < 1; i++)
		attribution->stretches[i].count =
			(size_t)(part * (double)attribution->stretches[i].count) + 1;
}

/* Marks idle samples, and keeps the positions where stretches begin. */
static enum kp_status walk_once(struct kp_attribution *attribution)
{
	size_t samples = attribution->input.sample_count;
	size_t stretches = samples > KP_STRETCHES * KP_STRETCH_SAMPLES ? KP_STRETCHES : 1;
	size_t count = stretches > 1 ? KP_STRETCH_SAMPLES : samples;
	struct kp_window_edges *edges = calloc(attribution->kept + 1U, sizeof(*edges));
	struct kp_rows *rows = &attribution->rows;
	enum kp_status status = edges ? KP_OK : KP_NO_MEMORY;
	double squares = 0;

	if (status == KP_OK)
		kp_rows_begin(rows, edges, NULL);
	for (size_t i = 0; status == KP_OK && i < samples; i++) {
		size_t next = attribution->stretch_count;

		if (next < stretches && i == next * ((samples - count) / KP_STRETCHES)) {
			struct kp_stretch *stretch = &attribution->stretches[next];

			status = kp_rows_keep(rows, &stretch->from);
			stretch->count = count;
			attribution->stretch_count += status == KP_OK;
		}
		const struct kp_row *row = kp_rows_next(rows);
		squares += (double)row->count * (double)row->count;
		if (row->idle)
			attribution->idle[i / 8] |= (uint8_t)(1U << (i % 8));
	}
	bound_effort(attribution, squares);
	free(edges);
	return status;
}

/* Replaces times where launches slow each other down. */
static enum kp_status pace(struct kp_attribution *attribution, const struct kp_way *way)
{
	struct kp_attribution_input *input = &attribution->input, *paced = &attribution->paced;
	struct kp_beside *beside = &attribution->beside;
	enum kp_status status = KP_OK;

	bool changes = way->slow > 0 || way->relief;

	if (changes) {
		status = kp_beside_init(beside, input, way);
		input->launches = beside->launches;
		input->begin_ns = beside->begin_ns;
	}
	*paced = *input;
	if (changes)
		paced->length_ns = beside->width_ns;
	return status;
}

static enum kp_status create_way(const struct kp_attribution_input *input, const struct kp_way *way,
				 struct kp_attribution **out)
{
	struct kp_attribution *attribution = calloc(1, sizeof(*attribution));
	enum kp_status status = KP_NO_MEMORY;

	*out = attribution;
	if (!attribution)
		return KP_NO_MEMORY;
	attribution->input = *input;
	attribution->way_count = 1;
	attribution->idle = calloc(input->sample_count / 8 + 1, 1);
	if (attribution->idle)
		status = pace(attribution, way);
	if (status == KP_OK)
		status = kp_attribution_classify(attribution);
	if (status == KP_OK)
		status = kp_rows_init(&attribution->rows, &attribution->paced, input->length_ns,
				      attribution->kept_of_class, attribution->kept,
				      attribution->times);
	if (status == KP_OK)
		status = walk_once(attribution);
	if (status != KP_OK) {
		kp_attribution_destroy(attribution);
		*out = NULL;
	}
	return status;
}

enum kp_status kp_attribution_create(const struct kp_attribution_input *input,
				     struct kp_attribution **out)
{
	/* As if alone; two thirds of the pace beside one other; half of it: a GPU that is divided;
	 * and one after the other. */
	static const struct kp_way ways[KP_WAYS] = {
		{0, false}, {0.5, false}, {1, false}, {1, true}};
	enum kp_status status = create_way(input, &ways[0], out);
	bool beside = status == KP_OK && kp_beside_matters(input);

	if (beside) {
		(*out)->beside_ns = kp_beside_at_ends(input);
		(*out)->rows.beside_ns = (*out)->beside_ns;
		status = (*out)->beside_ns ? kp_beside_parts(*out, input) : KP_NO_MEMORY;
	}
	for (size_t i = 0; beside && i < KP_WAYS - 1 && status == KP_OK; i++) {
		status = create_way(input, &ways[i + 1], &(*out)->ways[i]);
		(*out)->way_count += status == KP_OK;
		if (status == KP_OK) {
			(*out)->ways[i]->rows.beside_ns = (*out)->beside_ns;
			status = kp_beside_parts((*out)->ways[i], input);
		}
	}
	if (status != KP_OK) {
		kp_attribution_destroy(*out);
		*out = NULL;
	}
	return status;
}

void kp_attribution_destroy(struct kp_attribution *attribution)
{
	if (!attribution)
		return;
	for (size_t i = 0; i < attribution->stretch_count; i++)
		free(attribution->stretches[i].from.running);
	for (size_t i = 0; i + 1 < attribution->way_count; i++)
		kp_attribution_destroy(attribution->ways[i]);
	kp_rows_fini(&attribution->rows);
	kp_beside_fini(&attribution->beside);
	free(attribution->kept_of_class);
	free(attribution->times);
	free(attribution->idle);
	free(attribution->beside_ns);
	free(attribution);
}
