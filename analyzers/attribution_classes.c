/* Which classes the attribution tells apart, and what is known of their durations. */
#include "analyzers/attribution_parts.h"

#include <math.h>
#include <stdlib.h>

/* Durations differ much from this coefficient of variation on, in a class with so many launches
 * and so large a part of all time. */
#define SCALED_VARIATION 0.2
#define SCALED_LAUNCHES 50
#define SCALED_PART 0.005
#define PIECED_LAUNCHES 5
/*
 * What launches count in pieces of their own rates from the usual length of a sample on, where
 * there are so many. Samples shared with others reach into it by their length at most, and rates
 * change most at the edges: these parts of a sample are where the first pieces end.
 */
static const double pieced_ends[KP_PIECES / 2] = {0.2, 0.5, 1.1};
/* Samples of more than so many times the usual length are not solved for. */
#define LENGTHS_MAX 4
#define LENGTHS_LOOKED_AT 4096

struct adding {
	uint32_t class;
	double launches, sum_ns, squares, least_ns;
};

static int by_time(const void *left, const void *right)
{
	const struct adding *a = left, *b = right;

	if (a->sum_ns != b->sum_ns)
		return a->sum_ns < b->sum_ns ? 1 : -1;
	return (a->class > b->class) - (a->class < b->class);
}

static int by_length(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static double usual_length(const struct kp_attribution_input *input)
{
	uint32_t lengths[LENGTHS_LOOKED_AT] = {0};
	size_t step = input->sample_count / LENGTHS_LOOKED_AT + 1, count = 0;

	for (size_t i = 0; i < input->sample_count; i += step)
		lengths[count++] = input->length_ns[i];
	size_t middle = count / 2;
	qsort(lengths, count, sizeof(*lengths), by_length);
	return lengths[middle];
}

static struct adding *add_up(const struct kp_attribution_input *input)
{
	struct adding *times = calloc(input->class_count + 1U, sizeof(*times));

	for (uint32_t i = 0; times && i < input->class_count; i++)
		times[i].class = i;
	for (size_t i = 0; times && i < input->launch_count; i++) {
		const struct kp_attribution_launch *launch = &input->launches[i];
		double duration_ns = (double)(launch->end_ns - launch->start_ns);

		if (!(times[launch->class].launches > 0) ||
		    duration_ns < times[launch->class].least_ns)
			times[launch->class].least_ns = duration_ns;
		times[launch->class].launches++;
		times[launch->class].sum_ns += duration_ns;
		times[launch->class].squares += duration_ns * duration_ns;
	}
	return times;
}

static bool is_scaled(const struct adding *times, double mean, double whole_ns)
{
	double variance = times->squares / times->launches - mean * mean;

	return times->launches >= SCALED_LAUNCHES && times->sum_ns >= SCALED_PART * whole_ns &&
	       variance > SCALED_VARIATION * SCALED_VARIATION * mean * mean;
}

/* How many classes are what. */
struct kinds {
	size_t scaled, pieced;
};

static void keep_class(struct kp_attribution *attribution, uint32_t number,
		       const struct adding *times, double whole_ns, struct kinds *kinds)
{
	double mean = times->sum_ns / times->launches, length = attribution->length_ns;
	struct kp_class_times *kept = &attribution->times[number];

	*kept = (struct kp_class_times){
		.launches = times->launches, .mean_ns = mean, .least_ns = times->least_ns};
	if (kinds->scaled < KP_SCALED_MAX && is_scaled(times, mean, whole_ns)) {
		kept->scaled = true;
		kinds->scaled++;
	} else if (kinds->pieced < KP_PIECED_MAX && times->launches >= PIECED_LAUNCHES &&
		   length > 0 && mean >= length) {
		for (size_t p = 0; p < KP_PIECES / 2; p++)
			kept->ends[p] = fmin(pieced_ends[p] * length / mean, 0.5);
		kinds->pieced++;
	}
}

enum kp_status kp_attribution_classify(struct kp_attribution *attribution)
{
	const struct kp_attribution_input *input = &attribution->input;
	struct adding *times = add_up(input);
	double whole_ns = 0;
	struct kinds kinds = {0};

	attribution->kept_of_class = calloc(input->class_count + 1U, sizeof(uint32_t));
	attribution->times = calloc(KP_CLASSES_MAX + 1, sizeof(*attribution->times));
	if (!times || !attribution->kept_of_class || !attribution->times) {
		free(times);
		return KP_NO_MEMORY;
	}
	attribution->length_ns = usual_length(input);
	attribution->length_max_ns = LENGTHS_MAX * attribution->length_ns;
	qsort(times, input->class_count, sizeof(*times), by_time);
	for (uint32_t i = 0; i < input->class_count; i++)
		whole_ns += times[i].sum_ns;
	for (uint32_t i = 0; i < input->class_count && i < KP_CLASSES_MAX; i++) {
		if (!(times[i].launches > 0))
			break;
		keep_class(attribution, i, &times[i], whole_ns, &kinds);
		attribution->kept = i + 1;
	}
	for (uint32_t i = 0; i < input->class_count; i++)
		attribution->kept_of_class[times[i].class] =
			i < attribution->kept ? i : attribution->kept;
	free(times);
	return KP_OK;
}
