/* Which classes the attribution tells apart, and what is known of their durations. */
#include "analyzers/attribution_parts.h"

#include <math.h>
#include <stdlib.h>

/* Durations differ much from this coefficient of variation on, in a class with so many launches
 * and so large a part of all time. */
#define SCALED_VARIATION 0.2
#define SCALED_LAUNCHES 50
#define SCALED_PART 0.005
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

static double longest_solved(const struct kp_attribution_input *input)
{
	uint32_t lengths[LENGTHS_LOOKED_AT] = {0};
	size_t step = input->sample_count / LENGTHS_LOOKED_AT + 1, count = 0;

	for (size_t i = 0; i < input->sample_count; i += step)
		lengths[count++] = input->length_ns[i];
	size_t middle = count / 2;
	qsort(lengths, count, sizeof(*lengths), by_length);
	return count ? LENGTHS_MAX * (double)lengths[middle] : 0;
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

static void keep_class(struct kp_attribution *attribution, uint32_t number,
		       const struct adding *times, double whole_ns, size_t *scaled)
{
	double mean = times->sum_ns / times->launches;
	double variance = times->squares / times->launches - mean * mean;

	attribution->times[number] = (struct kp_class_times){
		times->launches, mean, times->least_ns,
		*scaled < KP_SCALED_MAX && times->launches >= SCALED_LAUNCHES &&
			times->sum_ns >= SCALED_PART * whole_ns &&
			variance > SCALED_VARIATION * SCALED_VARIATION * mean * mean};
	*scaled += attribution->times[number].scaled;
}

enum kp_status kp_attribution_classify(struct kp_attribution *attribution)
{
	const struct kp_attribution_input *input = &attribution->input;
	struct adding *times = add_up(input);
	double whole_ns = 0;
	size_t scaled = 0;

	attribution->kept_of_class = calloc(input->class_count + 1U, sizeof(uint32_t));
	attribution->times = calloc(KP_CLASSES_MAX + 1, sizeof(*attribution->times));
	if (!times || !attribution->kept_of_class || !attribution->times) {
		free(times);
		return KP_NO_MEMORY;
	}
	qsort(times, input->class_count, sizeof(*times), by_time);
	for (uint32_t i = 0; i < input->class_count; i++)
		whole_ns += times[i].sum_ns;
	for (uint32_t i = 0; i < input->class_count && i < KP_CLASSES_MAX; i++) {
		if (!(times[i].launches > 0))
			break;
		keep_class(attribution, i, &times[i], whole_ns, &scaled);
		attribution->kept = i + 1;
	}
	for (uint32_t i = 0; i < input->class_count; i++)
		attribution->kept_of_class[times[i].class] =
			i < attribution->kept ? i : attribution->kept;
	attribution->length_max_ns = longest_solved(input);
	free(times);
	return KP_OK;
}
