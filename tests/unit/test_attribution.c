/* The attribution on runs whose truth is known, because they were made up. */
#include <time.h>

#include "tests/unit/attribution_run.h"

/* ---- the kinds of run ---- */

/* Kernels of 5-9 µs with idle time between, in samples as long as they, and six times as long. */
static void test_attribution_pools_short_kernels(void **state)
{
	(void)state;
	for (uint32_t interval_ns = 10000; interval_ns <= 50000; interval_ns += 40000) {
		struct run *run = run_begin(interval_ns);

		for (int i = 0; i < 1500; i++) {
			launch(run, 0, 5600, 8.4e6, 9000 + i % 7 * 1000);
			launch(run, 1, 1100, 2e4, 7000);
			launch(run, 2, 8600, 25.2e6, 12000);
		}
		sample(run, interval_ns, 0.01);
		solve(run);
		assert_near(run, 0, 8.4e6, 0.01);
		assert_near(run, 2, 25.2e6, 0.01);
		assert_int_equal(of(run, 0).source, KP_TRAFFIC_ESTIMATED);
		assert_true(of(run, 0).launches > 1490 && of(run, 0).launches < 1501);
		run_end(run);
	}
}

/* The common edges are found, although they are not what is expected. */
static void test_attribution_finds_edges(void **state)
{
	struct run *run = run_begin(1);

	(void)state;
	for (int i = 0; i < 3000; i++)
		launch(run, (uint32_t)i % 3, 6000 + (uint32_t)i % 3 * 1000, 2e7, 5000);
	sample(run, 10000, 0.01);
	solve(run);
	assert_true(fabs(kp_attribution_totals(run->metric).lag_ns - LAG_NS) < 100);
	assert_true(fabs(kp_attribution_totals(run->metric).lead_ns - LEAD_NS) < 100);
	run_end(run);
}

/* Without idle time between them, and every period the same. */
static void test_attribution_tells_periodic_pairs_apart(void **state)
{
	struct run *run = run_begin(2);

	(void)state;
	for (int i = 0; i < 4000; i++) {
		launch(run, 0, 7000, 20e6, 100);
		launch(run, 1, 9000, 5e6, 100);
		launch(run, 2, 4000, 1e6, 100);
	}
	sample(run, 50000, 0.01);
	solve(run);
	assert_near(run, 0, 20e6, 0.05);
	assert_near(run, 1, 5e6, 0.05);
	assert_true(fabs(kp_attribution_totals(run->metric).unattributed) <
		    0.01 * kp_attribution_totals(run->metric).sampled);
	run_end(run);
}

static void test_attribution_divides_concurrent_kernels(void **state)
{
	struct run *run = run_begin(3);

	(void)state;
	for (int i = 0; i < 1500; i++) {
		uint64_t at = BASE_NS + (uint64_t)i * 60000;

		launch_at(run, 0, at, 30000, 30e6);
		launch_at(run, 1, at + 10000 + (uint64_t)(uniform(run) * 15000), 30000, 9e6);
	}
	sample(run, 10000, 0.01);
	solve(run);
	assert_near(run, 0, 30e6, 0.02);
	assert_near(run, 1, 9e6, 0.04);
	run_end(run);
}

/* Always together: only their sum is known, and that is said. */
static void test_attribution_does_not_split_twins(void **state)
{
	struct run *run = run_begin(4);
	const uint32_t both[] = {0, 1};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		launch_at(run, 0, BASE_NS + (uint64_t)i * 50000, 20000, 30e6);
		launch_at(run, 1, BASE_NS + (uint64_t)i * 50000, 20000, 2e6);
	}
	launch_at(run, 2, BASE_NS + 50000000, 30000, 2e7);
	sample(run, 10000, 0.01);
	solve(run);
	assert_int_equal(of(run, 0).source, KP_TRAFFIC_UNKNOWN);
	assert_int_equal(of(run, 1).source, KP_TRAFFIC_UNKNOWN);
	assert_int_equal(kp_attribution_of(run->metric, both, 2).source, KP_TRAFFIC_UNKNOWN);
	assert_true(fabs(kp_attribution_totals(run->metric).unattributed) <
		    0.01 * kp_attribution_totals(run->metric).sampled);
	run_end(run);
}

/* Launches of many samples are measured, even where what they count is uneven and unlike. */
static void test_attribution_measures_long_kernels(void **state)
{
	struct run *run = run_begin(5);
	double whole = 0;

	(void)state;
	for (int i = 0; i < 12; i++) {
		double counts = 4e9 * (1 + uniform(run));

		whole += counts;
		launch(run, 0, 1000000 + 200000 * (uint32_t)i, counts, 30000);
		launch(run, 1, 6000, 5e6, 30000);
	}
	sample(run, 10000, 0);
	solve(run);
	assert_near(run, 0, whole / 12, 0.002);
	assert_int_equal(of(run, 0).source, KP_TRAFFIC_MEASURED);
	assert_true(of(run, 0).ci95 < 0.01 * whole / 12);
	run_end(run);
}

/* Durations, and what is counted in them, grow as those of attention over a growing context. */
static void test_attribution_follows_growing_launches(void **state)
{
	struct run *run = run_begin(6);

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		launch(run, 0, 5000 + 4 * i, 1e6 + 4e3 * i, 100);
		launch(run, 1, 6000, 12e6, 100);
	}
	sample(run, 20000, 0.01);
	solve(run);
	assert_near(run, 0, 1e6 + 4e3 * 1499.5, 0.03);
	assert_near(run, 1, 12e6, 0.03);
	run_end(run);
}

/* Whether other processes' traffic, which goes on all the time, is kept out. */
static void test_attribution_keeps_the_background_out(void **state)
{
	struct run *run = run_begin(7);

	(void)state;
	for (int i = 0; i < 1500; i++)
		launch(run, 0, 8000, 10e6, 40000);
	sample(run, 10000, 0.01);
	for (size_t i = 0; i < run->sample_count; i++)
		run->values[i] += 1e6F;
	solve(run);
	assert_near(run, 0, 10e6, 0.01);
	assert_true(fabs(kp_attribution_totals(run->metric).background /
				 (1e6 * (double)run->sample_count) -
			 1) < 0.01);
	run_end(run);
}

/* Where all is background, a launch counts nothing, and never less. */
static void test_attribution_counts_no_less_than_nothing(void **state)
{
	struct run *run = run_begin(54);

	(void)state;
	for (int i = 0; i < 100; i++)
		launch(run, 0, 100000, 0, 40000);
	sample(run, 10000, 0);
	for (size_t i = 0; i < run->sample_count; i++)
		run->values[i] += (float)(1e6 + 1e5 * uniform(run));
	for (size_t i = 0; i < run->launch_count; i++) {
		size_t at = (run->launches[i].start_ns - run->begin_ns[0]) / 10000;

		for (size_t k = at + 2; k < at + 8; k++)
			run->values[k] *= 0.9F;
	}
	solve(run);
	assert_int_equal(of(run, 0).source, KP_TRAFFIC_MEASURED);
	assert_true(of(run, 0).mean >= 0);
	run_end(run);
}

/* Gaps in the samples, and one that is much too long, spoil nothing. */
static void test_attribution_bears_missing_samples(void **state)
{
	struct run *run = run_begin(8);
	size_t kept = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		launch(run, 0, 7000, 20e6, 100);
		launch(run, 1, 9000, 5e6, 3000);
	}
	sample(run, 10000, 0.01);
	for (size_t i = 0; i < run->sample_count; i++) {
		if (i % 1000 < 400)
			continue;
		run->begin_ns[kept] = run->begin_ns[i];
		run->values[kept++] = run->values[i];
	}
	run->sample_count = kept;
	run->length_ns[599] = 400000;
	run->values[599] = 3e9F; /* a lie, which must not matter */
	solve(run);
	assert_near(run, 0, 20e6, 0.02);
	assert_near(run, 1, 5e6, 0.02);
	run_end(run);
}

static void test_attribution_says_when_it_knows_too_little(void **state)
{
	struct run *run = run_begin(9);

	(void)state;
	launch(run, 0, 7000, 20e6, 1000000);
	for (int i = 0; i < 500; i++)
		launch(run, 1, 7000, 20e6, 10000);
	launch_at(run, 2, run->now_ns + 100000000, 5000, 1e6); /* never sampled */
	sample(run, 10000, 0.01);
	run->sample_count -= 1000;
	solve(run);
	assert_int_equal(of(run, 0).source, KP_TRAFFIC_UNKNOWN);
	assert_int_equal(of(run, 1).source, KP_TRAFFIC_ESTIMATED);
	assert_int_equal(of(run, 2).source, KP_TRAFFIC_UNKNOWN);
	run_end(run);
}

/* 95 % intervals hold the truth in at least 90 % of kernels, in runs unlike each other. */
static void test_attribution_intervals_cover(void **state)
{
	unsigned known = 0, covered = 0, vague = 0;

	(void)state;
	for (uint64_t seed = 10; seed < 40; seed++) {
		struct run *run = run_begin(seed);
		double truths[12];
		uint32_t lengths[12];

		for (int c = 0; c < 12; c++) {
			lengths[c] = 3000 + (uint32_t)(uniform(run) * 9000);
			truths[c] = uniform(run) * 3e3 * lengths[c];
		}
		for (uint32_t i = 0; i < 12 * 600; i++)
			launch(run, i % 12, lengths[i % 12], truths[i % 12], seed % 2 ? 100 : 6000);
		sample(run, 10000 * (uint32_t)(1 + seed % 5), 0.03);
		solve(run);
		for (uint32_t c = 0; c < 12; c++) {
			struct kp_traffic traffic = of(run, c);

			known += traffic.source != KP_TRAFFIC_UNKNOWN;
			covered += traffic.source != KP_TRAFFIC_UNKNOWN &&
				   fabs(traffic.mean - truths[c]) <= traffic.ci95;
			vague += traffic.ci95 > 0.1 * 3e3 * lengths[c];
		}
		run_end(run);
	}
	print_message("%u of 360 known, %u covered, %u vague\n", known, covered, vague);
	assert_true(known > 300);
	assert_true(covered >= 0.9 * known);
	assert_true(vague < 100);
}

/* Anything may stand in a file. */
static void test_attribution_survives_absurd_input(void **state)
{
	struct run *run = run_begin(50);

	(void)state;
	for (uint32_t i = 0; i < 600; i++)
		launch_at(run, i % 60, BASE_NS + i, 1ULL << (i % 60), 0);
	for (uint32_t i = 0; i < 600; i++)
		launch_at(run, i % 3, BASE_NS + i * 100, 0, 0);
	for (size_t i = 0; i < 3000; i++) {
		run->begin_ns[i] = BASE_NS + i * 1000;
		run->length_ns[i] = i % 7 ? 1000 : 1;
		run->values[i] = i % 11 ? 1e30F : 0;
	}
	run->sample_count = 3000;
	solve(run);
	for (uint32_t c = 0; c < run->class_count; c++)
		assert_true(isfinite(of(run, c).mean) || of(run, c).source == KP_TRAFFIC_UNKNOWN);
	assert_true(kp_attribution_totals(run->metric).displaced > 0);
	run_end(run);
}

/* Sanitizers take several times as long. */
#if defined(__SANITIZE_ADDRESS__)
#define EFFORT_LIMIT_S 240
#else
#define EFFORT_LIMIT_S 20
#endif

/*
 * As many kernels at once as a GPU runs, in every sample: a small file, and the square of their
 * number. Counted in processor time, of which there is little here.
 */
static void test_attribution_takes_no_hours(void **state)
{
	struct run *run = run_begin(53);
	clock_t begin = clock();

	(void)state;
	for (uint32_t i = 0; i < 250; i++)
		launch_at(run, i, BASE_NS + i, 100000000, 1e6);
	sample(run, 10000, 0);
	solve(run);
	assert_true(run->sample_count >= 10000);
	assert_true(clock() - begin < EFFORT_LIMIT_S * CLOCKS_PER_SEC);
	run_end(run);
}

static void test_attribution_takes_nothing(void **state)
{
	struct run *run = run_begin(51);

	(void)state;
	solve(run);
	run->class_count = 1;
	assert_true(kp_attribution_totals(run->metric).sampled == 0);
	run_end(run);
	run = run_begin(52);
	launch(run, 0, 5000, 1e6, 100);
	solve(run);
	assert_int_equal(of(run, 0).source, KP_TRAFFIC_UNKNOWN);
	run_end(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attribution_pools_short_kernels),
		cmocka_unit_test(test_attribution_finds_edges),
		cmocka_unit_test(test_attribution_tells_periodic_pairs_apart),
		cmocka_unit_test(test_attribution_divides_concurrent_kernels),
		cmocka_unit_test(test_attribution_does_not_split_twins),
		cmocka_unit_test(test_attribution_measures_long_kernels),
		cmocka_unit_test(test_attribution_follows_growing_launches),
		cmocka_unit_test(test_attribution_keeps_the_background_out),
		cmocka_unit_test(test_attribution_counts_no_less_than_nothing),
		cmocka_unit_test(test_attribution_bears_missing_samples),
		cmocka_unit_test(test_attribution_says_when_it_knows_too_little),
		cmocka_unit_test(test_attribution_intervals_cover),
		cmocka_unit_test(test_attribution_survives_absurd_input),
		cmocka_unit_test(test_attribution_takes_no_hours),
		cmocka_unit_test(test_attribution_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
