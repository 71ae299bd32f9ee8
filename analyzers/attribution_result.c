/* What is known of classes in the end; see attribution.h. */
#include "analyzers/attribution_result.h"

#include <math.h>
#include <stdlib.h>

#include "analyzers/estimate.h"

/* Less than so many launches tell nothing, */
#define LAUNCHES_MIN 3.0
/* nor does an interval that is both wider than this part of the mean */
#define VAGUE_PART 0.5
/* and than this part of the highest rate that was seen. */
#define VAGUE_RATE 0.05
/* Variance inflation from which on the split between classes is arithmetic noise. */
#define INFLATION_MAX 1e6
/* Parts of all launches that may be unknown in what is told of several classes. */
#define UNKNOWN_PART 0.05
/* From this part of samples inside launches on, it is measured. */
#define MEASURED_PART 0.75
/* Standard error of the model itself (a window counts evenly), of the estimated part. */
#define MODEL_PART 0.004
/* And so much more of launches that are short beside a sample: few samples end inside them, and
 * what they count at which time is hardly seen. As on H200, 10 µs in samples of 200 µs. */
#define SHORT_PART 0.015
#define SHORT_TIMES 4 /* longer samples than launches */
/* And so much more of launches that run side by side with others all the time: whose blocks ran
 * when no record says. As on H200, kernels of which each fills the GPU. */
#define BESIDE_PART 0.1
/* And of what rates change by from piece to piece, since they change within pieces, too. */
#define UNLIKE_PART 0.005
/* And of the whole, what neighbours' edges got or lack of it. */
#define NEIGHBOUR_PART 0.001
/* Nothing finer is told than what the highest rate counts in so many nanoseconds: standard error of
 * a launch, whose begin and end are told in ticks of 32 ns (H200). What little its neighbours count
 * in half a tick may be taken for its own, also where it counts nothing. */
#define RESOLUTION_NS 16.0

struct kp_attribution_totals kp_attribution_totals(const struct kp_attribution_metric *metric)
{
	return metric->totals;
}

void kp_attribution_metric_destroy(struct kp_attribution_metric *metric)
{
	if (!metric)
		return;
	free(metric->classes);
	free(metric->influence);
	free(metric);
}

static bool is_told_apart(const struct kp_class_result *result)
{
	return result->inflation > 0 && result->inflation < INFLATION_MAX && result->weight > 0;
}

/* Launches of these classes: summed up. */
struct summing {
	double launches, unknown_launches; /* of the run */
	double time_ns, unknown_ns;
	double value, weight, alone_weight, model_squares;
	uint64_t samples;
};

static void add_class(struct summing *sum, const struct kp_class_result *result, double length_ns)
{
	if (!is_told_apart(result)) {
		sum->unknown_launches += result->launches;
		sum->unknown_ns += result->launches * result->mean_ns;
		return;
	}
	double alone = result->alone_weight / result->weight;
	double part = MODEL_PART + BESIDE_PART * result->beside +
		      SHORT_PART * fmax(1 - SHORT_TIMES * result->mean_ns / length_ns, 0);
	double model = (part * result->mean + UNLIKE_PART * result->unlike) * (1 - alone);

	if (result->unlike > 0)
		model += NEIGHBOUR_PART * result->mean;
	model *= result->launches;

	sum->launches += result->launches;
	sum->time_ns += result->launches * result->mean_ns;
	sum->value += result->launches * result->mean;
	sum->model_squares += model * model;
	sum->weight += result->weight;
	sum->alone_weight += result->alone_weight;
	sum->samples += result->samples;
}

static double variance_of(const struct kp_attribution_metric *metric, const uint32_t *classes,
			  size_t count)
{
	const uint32_t *kept_of_class = metric->attribution->kept_of_class;
	double variance = 0;

	for (size_t i = 0; i < metric->influences; i++) {
		double sum = 0;

		for (size_t k = 0; k < count; k++) {
			uint32_t kept = kept_of_class[classes[k]];
			if (kept < metric->kept && is_told_apart(&metric->classes[kept]))
				sum += metric->classes[kept].launches *
				       metric->influence[i * metric->kept + kept];
		}
		variance += sum * sum;
	}
	return variance;
}

struct kp_traffic kp_attribution_of(const struct kp_attribution_metric *metric,
				    const uint32_t *classes, size_t count)
{
	struct kp_traffic traffic = {0};
	struct summing sum = {0};
	double t = kp_student_t975((double)metric->blocks - 1);

	for (size_t i = 0; i < count; i++) {
		uint32_t kept = metric->attribution->kept_of_class[classes[i]];

		if (kept >= metric->kept)
			return traffic;
		add_class(&sum, &metric->classes[kept], metric->attribution->length_ns);
	}
	if (!(sum.launches > 0) || sum.unknown_launches > UNKNOWN_PART * sum.launches ||
	    sum.unknown_ns > UNKNOWN_PART * sum.time_ns)
		return traffic;
	/* Samples of a launch alone may count less than the background does on average. */
	traffic.mean = fmax(sum.value / sum.launches, 0);
	traffic.ci95 = t * hypot(sqrt(variance_of(metric, classes, count) + sum.model_squares) /
					 sum.launches,
				 RESOLUTION_NS * metric->rate_max);
	traffic.launches = sum.weight;
	traffic.samples = sum.samples;
	bool vague = traffic.ci95 > VAGUE_PART * traffic.mean &&
		     traffic.ci95 > VAGUE_RATE * metric->rate_max * sum.time_ns / sum.launches;
	if (vague || !isfinite(traffic.ci95) ||
	    (sum.weight < LAUNCHES_MIN && sum.alone_weight < MEASURED_PART * sum.weight))
		return traffic;
	traffic.source = sum.alone_weight >= MEASURED_PART * sum.weight ? KP_TRAFFIC_MEASURED
									: KP_TRAFFIC_ESTIMATED;
	return traffic;
}
