/*
 * What attributing counters to launches costs: time and memory for a long run.
 *
 *	bench_attribution [LAUNCHES [SAMPLES [METRICS]]]
 *
 * The run looks like a decode loop: 470 launches of 46 kernels in 60 shapes, over and over, 1 to
 * 9 µs each, sampled so that SAMPLES cover all of it. What each launch counts is known, so that the
 * largest error can be printed beside the cost. A number to read, not a test.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "analyzers/attribution.h"

#define SHAPES 60
#define PERIOD 470

struct run {
	struct kp_attribution_launch *launches;
	uint64_t *begin_ns;
	uint32_t *length_ns;
	float *values;
	size_t launch_count, sample_count;
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Repeats on every machine. */
static uint32_t next_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20);
}

static uint32_t shape_of(size_t launch)
{
	return (uint32_t)(launch % PERIOD * 7 % SHAPES);
}

/* What one launch of a shape counts. */
static double truth(uint32_t shape)
{
	return shape % 4 == 0 ? 2e7 + 1e5 * shape : 1e4 * shape;
}

static void make_launches(struct run *run)
{
	uint64_t now_ns = 1000000000ULL;

	for (size_t i = 0; i < run->launch_count; i++) {
		uint32_t shape = shape_of(i);
		uint32_t length_ns = shape % 4 == 0 ? 7500 : 1200 + 20 * shape;

		run->launches[i].start_ns = now_ns;
		run->launches[i].end_ns = now_ns + length_ns + next_random() % 128;
		run->launches[i].class = shape;
		now_ns = run->launches[i].end_ns + 100 + next_random() % 64;
	}
}

/* Samples from end to end, each with its part of each launch's window; windows scatter, as real
 * ones do. */
static void make_samples(struct run *run)
{
	uint64_t begin_ns = run->launches[0].start_ns;
	double interval = (double)(run->launches[run->launch_count - 1].end_ns - begin_ns) /
			  (double)run->sample_count;

	for (size_t i = 0; i < run->sample_count; i++) {
		uint64_t at = begin_ns + (uint64_t)(interval * (double)i);

		run->begin_ns[i] = at;
		run->length_ns[i] =
			(uint32_t)(begin_ns + (uint64_t)(interval * (double)(i + 1)) - at);
	}
	for (size_t i = 0, s = 0; i < run->launch_count; i++) {
		const struct kp_attribution_launch *launch = &run->launches[i];
		double from = (double)launch->start_ns + 200 + next_random() % 512;
		double to = (double)launch->end_ns - 300;

		while (s + 1 < run->sample_count && (double)run->begin_ns[s + 1] <= from)
			s++;
		for (size_t k = s; k < run->sample_count && (double)run->begin_ns[k] < to; k++) {
			double low = fmax(from, (double)run->begin_ns[k]);
			double high = fmin(to, (double)run->begin_ns[k] + run->length_ns[k]);

			run->values[k] +=
				(float)(truth(launch->class) * fmax(high - low, 0) / (to - from));
		}
	}
}

static double largest_error(const struct kp_attribution_metric *metric)
{
	double largest = 0;

	for (uint32_t shape = 0; shape < SHAPES; shape += 4) {
		struct kp_traffic traffic = kp_attribution_of(metric, &shape, 1);

		largest = fmax(largest, fabs(traffic.mean / truth(shape) - 1));
	}
	return largest;
}

static size_t number(int argc, char **argv, int at, size_t otherwise)
{
	long given = argc > at ? atol(argv[at]) : (long)otherwise;

	if (given <= 0) {
		fputs("usage: bench_attribution [LAUNCHES [SAMPLES [METRICS]]]\n", stderr);
		exit(2);
	}
	return (size_t)given;
}

int main(int argc, char **argv)
{
	struct run run = {.launch_count = number(argc, argv, 1, 10000000),
			  .sample_count = number(argc, argv, 2, 10000000)};
	size_t metrics = number(argc, argv, 3, 2);
	struct kp_attribution *attribution;
	struct kp_attribution_metric *metric;
	struct rusage usage;
	double begin, common, error = 0;

	run.launches = calloc(run.launch_count, sizeof(*run.launches));
	run.begin_ns = calloc(run.sample_count, sizeof(*run.begin_ns));
	run.length_ns = calloc(run.sample_count, sizeof(*run.length_ns));
	run.values = calloc(run.sample_count, sizeof(*run.values));
	if (!run.launches || !run.begin_ns || !run.length_ns || !run.values)
		exit(1);
	make_launches(&run);
	make_samples(&run);
	const struct kp_attribution_input input = {run.launches,  run.launch_count,
						   SHAPES,        run.begin_ns,
						   run.length_ns, run.sample_count};
	begin = seconds();
	if (kp_attribution_create(&input, &attribution) != KP_OK)
		exit(1);
	common = seconds() - begin;
	for (size_t i = 0; i < metrics; i++) {
		if (kp_attribution_solve(attribution, run.values, &metric) != KP_OK)
			exit(1);
		error = largest_error(metric);
		kp_attribution_metric_destroy(metric);
	}
	begin = seconds() - begin;
	getrusage(RUSAGE_SELF, &usage);
	printf("%zu launches, %zu samples, %zu metrics: %.2f s, of it %.2f s common to all; "
	       "%.0f MB; largest error of large kernels %.3f %%\n",
	       run.launch_count, run.sample_count, metrics, begin, common,
	       (double)usage.ru_maxrss / 1e3, 100 * error);
	kp_attribution_destroy(attribution);
	free(run.launches);
	free(run.begin_ns);
	free(run.length_ns);
	free(run.values);
	return 0;
}
