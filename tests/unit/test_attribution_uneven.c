/* The attribution where bytes do not flow evenly while a kernel runs: kernels of some samples. */
#include "tests/unit/attribution_run.h"

#define KINDS 4

/* Nothing for a part of the window, then evenly, then nothing for another part. */
static double between(double part, double from, double to)
{
	return fmin(fmax((part - from) / (to - from), 0), 1);
}

static double flow_ends_early(uint32_t class, double part)
{
	return class == 2 ? between(part, 0, 0.92) : part;
}

static double flow_ends_earlier(uint32_t class, double part)
{
	return class == 2 ? between(part, 0, 0.85) : part;
}

static double flow_starts_late(uint32_t class, double part)
{
	return class == 2 ? between(part, 0.08, 1) : part;
}

/* The last tenth at a third of the rate, as of blocks that run out. */
static double flow_tails_off(uint32_t class, double part)
{
	double rate = 1 / (0.9 + 0.1 / 3);

	if (class != 2)
		return part;
	return part < 0.9 ? rate * part : rate * (0.9 + (part - 0.9) / 3);
}

static double flow_ramps(uint32_t class, double part)
{
	return class >= 2 ? 0.8 * part + 0.2 * part * part : part;
}

/* Long kernels in turn, as if of copies, sums and products of large arrays. */
static struct run *run_in_turn(uint64_t seed, int turns, uint64_t gap_ns, double spread,
			       flow_of *flow)
{
	static const uint64_t lengths_ns[KINDS] = {520000, 110000, 246000, 730000};
	static const double counts[KINDS] = {1.024e9, 1e6, 1.024e9, 2.048e9};
	struct run *run = run_begin(seed);

	for (int i = 0; i < turns * KINDS; i++)
		launch(run, (uint32_t)i % KINDS, lengths_ns[i % KINDS], counts[i % KINDS], gap_ns);
	sample_flow(run, 100000, spread, flow);
	solve(run);
	return run;
}

/* Within a per cent, and within the error. */
static void judge(uint64_t seed, flow_of *flow)
{
	for (uint64_t gap_ns = 1000; gap_ns <= 41000; gap_ns += 40000) {
		struct run *run = run_in_turn(seed, 600, gap_ns, 0.002, flow);

		assert_near(run, 0, 1.024e9, 0.01);
		assert_near(run, 2, 1.024e9, 0.01);
		assert_near(run, 3, 2.048e9, 0.01);
		assert_true(of(run, 2).ci95 < 0.03 * 1.024e9);
		run_end(run);
	}
}

static void test_attribution_bears_early_ends(void **state)
{
	(void)state;
	judge(60, flow_ends_early);
	judge(60, flow_ends_earlier);
}

static void test_attribution_bears_late_starts(void **state)
{
	(void)state;
	judge(61, flow_starts_late);
}

static void test_attribution_bears_tails(void **state)
{
	(void)state;
	judge(62, flow_tails_off);
}

static void test_attribution_bears_ramps(void **state)
{
	(void)state;
	judge(63, flow_ramps);
}

/* Launches of a kernel that count unlike each other; the truth is their mean. */
static void test_attribution_bears_unlike_launches(void **state)
{
	struct run *run = run_begin(64);
	double whole = 0;

	(void)state;
	for (int i = 0; i < 600; i++) {
		double counts = 1.024e9 * (0.5 + uniform(run));

		whole += counts;
		launch(run, 0, 520000, 1.024e9, 1000);
		launch(run, 2, 246000, counts, 1000);
	}
	sample_flow(run, 100000, 0, flow_ends_early);
	solve(run);
	assert_near(run, 0, 1.024e9, 0.04);
	assert_near(run, 2, whole / 600, 0.04);
	run_end(run);
}

/* The large ones count nothing in their last 4 µs and more, the small ones do. */
static double flow_large_end_early(uint32_t class, double part)
{
	static const double ends[] = {1 - 5.0 / 700, 1 - 4.0 / 480, 1 - 6.0 / 246};

	return class < 3 ? between(part, 0, ends[class]) : part;
}

/* What is true of large launches is not taken for true of the small ones beside them. */
static void test_attribution_tells_small_launches_amid_large_ones(void **state)
{
	static const uint64_t lengths_ns[] = {700000, 480000, 246000, 46000, 30000,
					      14000,  13000,  12500,  11000, 9600};
	static const double counts[] = {2.048e9, 1.024e9, 1.024e9, 128e6, 80e6,
					24e6,    24e6,    32e6,    16e6,  16e6};
	const int kinds = sizeof(counts) / sizeof(counts[0]);
	struct run *run = run_begin(90);

	(void)state;
	for (int i = 0; i < 600 * kinds; i++)
		launch(run, (uint32_t)(i % kinds), lengths_ns[i % kinds], counts[i % kinds], 1000);
	sample_flow(run, 200000, 0.002, flow_large_end_early);
	solve(run);
	for (int i = 0; i < kinds; i++)
		assert_near(run, (uint32_t)i, counts[i], 0.03);
	run_end(run);
}

/* Memory that was cleared before the first launch says nothing of the time between launches. */
static void test_attribution_takes_bursts_for_no_background(void **state)
{
	struct run *run = run_begin(91);
	double burst = 0;

	(void)state;
	run->now_ns += 100000000;
	for (int i = 0; i < 1500; i++)
		launch(run, 0, 8000, 1e6, 40000);
	sample(run, 50000, 0.01);
	for (size_t i = 100; i < 160; i++) {
		run->values[i] += 85e6F;
		burst += 85e6;
	}
	solve(run);
	struct kp_attribution_totals totals = kp_attribution_totals(run->metric);
	assert_near(run, 0, 1e6, 0.02);
	assert_true(fabs(totals.background - burst) < 0.01 * burst);
	assert_true(fabs(totals.unattributed) < 0.01 * totals.sampled);
	run_end(run);
}

/* Few launches: what is told may be off, but by no more than is said. */
static void test_attribution_says_how_uneven_few_launches_are(void **state)
{
	unsigned known = 0, covered = 0;

	(void)state;
	for (uint64_t seed = 70; seed < 110; seed++) {
		struct run *run = run_in_turn(seed, 8 + (int)(seed % 3) * 8, 1000, 0.002,
					      seed % 2 ? flow_ends_early : flow_starts_late);
		const uint32_t judged[] = {0, 2, 3};
		const double truths[] = {1.024e9, 1.024e9, 2.048e9};

		for (int i = 0; i < 3; i++) {
			struct kp_traffic traffic = of(run, judged[i]);

			known += traffic.source != KP_TRAFFIC_UNKNOWN;
			covered += traffic.source != KP_TRAFFIC_UNKNOWN &&
				   fabs(traffic.mean - truths[i]) <= traffic.ci95;
		}
		run_end(run);
	}
	print_message("%u of 120 known, %u covered\n", known, covered);
	assert_true(known > 100);
	assert_true(covered >= 0.9 * known);
}

/* The last 20 of 40 µs of one beside the first 20 of 30 µs of the other, at half the pace each. */
static double flow_beside(uint32_t class, double part)
{
	double at_us = part * (class ? 30 : 40), slow_us = fmin(at_us, 20);

	if (class)
		return (slow_us / 2 + at_us - slow_us) / 20;
	return (slow_us + (at_us - slow_us) / 2) / 30;
}

static void test_attribution_bears_launches_that_slow_each_other(void **state)
{
	(void)state;
	for (uint64_t seed = 80; seed < 84; seed++) {
		struct run *run = run_begin(seed);

		for (int i = 0; i < 1500; i++) {
			uint64_t at_ns =
				BASE_NS + (uint64_t)i * 80000 + (uint64_t)(uniform(run) * 8000);

			launch_at(run, 0, at_ns, 40000, 90e6);
			launch_at(run, 1, at_ns + 20000, 30000, 20e6);
		}
		sample_flow(run, 50000, 0.01, flow_beside);
		solve(run);
		for (uint32_t c = 0; c < 2; c++) {
			if (!c || of(run, c).source != KP_TRAFFIC_UNKNOWN)
				assert_near(run, c, c ? 20e6 : 90e6, 0.1);
		}
		run_end(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attribution_bears_early_ends),
		cmocka_unit_test(test_attribution_bears_late_starts),
		cmocka_unit_test(test_attribution_bears_tails),
		cmocka_unit_test(test_attribution_bears_ramps),
		cmocka_unit_test(test_attribution_bears_unlike_launches),
		cmocka_unit_test(test_attribution_bears_launches_that_slow_each_other),
		cmocka_unit_test(test_attribution_tells_small_launches_amid_large_ones),
		cmocka_unit_test(test_attribution_takes_bursts_for_no_background),
		cmocka_unit_test(test_attribution_says_how_uneven_few_launches_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
