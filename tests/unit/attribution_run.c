/* See attribution_run.h. */
#include "tests/unit/attribution_run.h"

double uniform(struct run *run)
{
	run->random ^= run->random << 13;
	run->random ^= run->random >> 7;
	run->random ^= run->random << 17;
	return (double)(run->random >> 11) / 9007199254740992.0;
}

struct run *run_begin(uint64_t seed)
{
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	run->now_ns = BASE_NS;
	run->random = seed * 0x9E3779B97F4A7C15ULL + 1;
	return run;
}

void run_end(struct run *run)
{
	kp_attribution_metric_destroy(run->metric);
	kp_attribution_destroy(run->attribution);
	free(run);
}

void launch_at(struct run *run, uint32_t class, uint64_t start_ns, uint64_t length_ns,
	       double counts)
{
	size_t at = run->launch_count++;

	assert_true(at < LAUNCHES_MAX && class < CLASSES_MAX);
	run->launches[at] = (struct kp_attribution_launch){start_ns, start_ns + length_ns, class};
	run->counts[at] = counts;
	if (class >= run->class_count)
		run->class_count = class + 1;
}

void launch(struct run *run, uint32_t class, uint64_t length_ns, double counts, uint64_t gap_ns)
{
	uint64_t jitter_ns = (uint64_t)(uniform(run) * 64);

	launch_at(run, class, run->now_ns, length_ns + jitter_ns, counts);
	run->now_ns += length_ns + jitter_ns + gap_ns + (uint64_t)(uniform(run) * 32);
}

static int by_start(const void *left, const void *right)
{
	const struct kp_attribution_launch *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static double flow_evenly(uint32_t class, double part)
{
	(void)class;
	return part;
}

void sample_flow(struct run *run, uint32_t interval_ns, double noise, flow_of *flow)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < run->launch_count; i++) {
		if (run->launches[i].end_ns > last_ns)
			last_ns = run->launches[i].end_ns;
	}
	for (uint64_t at = BASE_NS - 3333; at < last_ns + interval_ns; at += interval_ns) {
		assert_true(run->sample_count < SAMPLES_MAX);
		run->begin_ns[run->sample_count] = at;
		run->length_ns[run->sample_count++] = interval_ns;
	}
	for (size_t i = 0; i < run->launch_count; i++) {
		double from = (double)(run->launches[i].start_ns - run->begin_ns[0]) + LAG_NS;
		double to = (double)(run->launches[i].end_ns - run->begin_ns[0]) - LEAD_NS;
		double all = run->counts[i] *
			     (1 + noise * (uniform(run) + uniform(run) + uniform(run) - 1.5) * 2);

		for (size_t k = (size_t)fmax(from / interval_ns, 0);
		     k < run->sample_count && (double)k * interval_ns < to; k++) {
			double low = fmax(from, (double)k * interval_ns);
			double high = fmin(to, (double)(k + 1) * interval_ns);

			low = flow(run->launches[i].class, (low - from) / (to - from));
			high = flow(run->launches[i].class, (high - from) / (to - from));
			run->values[k] += (float)(all * fmax(high - low, 0));
		}
	}
}

void sample(struct run *run, uint32_t interval_ns, double noise)
{
	sample_flow(run, interval_ns, noise, flow_evenly);
}

void solve(struct run *run)
{
	qsort(run->launches, run->launch_count, sizeof(run->launches[0]), by_start);
	const struct kp_attribution_input input = {run->launches,    run->launch_count,
						   run->class_count, run->begin_ns,
						   run->length_ns,   run->sample_count};
	assert_int_equal(kp_attribution_create(&input, &run->attribution), KP_OK);
	assert_int_equal(kp_attribution_solve(run->attribution, run->values, &run->metric), KP_OK);
	struct kp_attribution_totals totals = kp_attribution_totals(run->metric);
	assert_true(fabs(totals.sampled - totals.attributed - totals.background -
			 totals.unattributed) <= 1e-9 * totals.sampled);
}

struct kp_traffic of(const struct run *run, uint32_t class)
{
	return kp_attribution_of(run->metric, &class, 1);
}

void assert_near(const struct run *run, uint32_t class, double truth, double part)
{
	struct kp_traffic traffic = of(run, class);

	if (!(fabs(traffic.mean - truth) <= part * truth + 1e4))
		print_error("class %u: %g ± %g, should be %g\n", class, traffic.mean, traffic.ci95,
			    truth);
	assert_int_not_equal(traffic.source, KP_TRAFFIC_UNKNOWN);
	assert_true(fabs(traffic.mean - truth) <= part * truth + 1e4);
	assert_true(fabs(traffic.mean - truth) <= traffic.ci95 + 1);
}
