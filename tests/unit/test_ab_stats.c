/*
 * Times in turn: how often arms that are the same are told apart, how often a difference is seen,
 * and whether the interval holds it, under noise as GPUs have it. Fixed seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ab_noise.h"
#include "analyzers/ab_stats.h"

#define TRIALS 200
#define POWER_FROM 2 /* of `lengths`: what fewer pairs state is not worth that much */
#define MOST 2000

/* One run of a rule of one shape: pairs in random order. */
static struct kp_ab_estimate run(struct noise *noise, size_t pairs, double ratio, uint64_t seed)
{
	static struct kp_ab_time samples[MOST];
	struct kp_ab_estimate out;
	struct kp_ab_pair *made;
	size_t count;

	noise_begin(noise, seed);
	for (size_t i = 0; i < 2 * pairs; i++) {
		bool candidate = i % 2 ? !samples[i - 1].candidate : noise_uniform(noise) < 0.5;

		samples[i] = (struct kp_ab_time){
			7, i, noise_time(noise, i, 2 * pairs, candidate ? 100 * ratio : 100),
			candidate};
	}
	assert_int_equal(kp_ab_pair_samples(samples, 2 * pairs, &made, &count), KP_OK);
	assert_int_equal(count, pairs);
	assert_int_equal(kp_ab_estimate_groups(made, count, 1, &out), KP_OK);
	free(made);
	return out;
}

/* What is in a run of A/A: plain, alike, and all of case 45 at once. */
static const struct noise noises[] = {
	{.spread = 0.01},
	{.alike = 0.9, .spread = 0.01},
	{.alike = 0.98, .spread = 0.01, .drift = 0.1},
	{.alike = 0.9, .spread = 0.01, .second = -0.24},
	{.alike = 0.9, .spread = 0.01, .warming = 0.25, .outliers = 0.02},
	{.alike = 0.9,
	 .spread = 0.02,
	 .drift = 0.05,
	 .warming = 0.25,
	 .second = 0.3,
	 .outliers = 0.03,
	 .steps = 3},
};
#define NOISES (sizeof(noises) / sizeof(noises[0]))
static const size_t lengths[] = {16, 24, 40, 200, 1000};

/* The issue's: 18 of 200. */
static void test_ab_stats_seldom_sees_what_is_not_there(void **unused)
{
	(void)unused;
	for (size_t n = 0; n < NOISES; n++) {
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			unsigned seen = 0;

			for (unsigned i = 0; i < TRIALS; i++) {
				struct noise noise = noises[n];
				struct kp_ab_estimate out = run(&noise, lengths[k], 1, i);

				seen += out.known && (out.low_pct > 0 || out.high_pct < 0);
			}
			if (seen > 18)
				print_message("noise %zu, %zu pairs: %u of %u\n", n, lengths[k],
					      seen, TRIALS);
			assert_true(seen <= 18);
		}
	}
}

/* Twice of what is said to be detectable, by a run without it, is seen; and the interval holds. */
static void test_ab_stats_sees_twice_what_it_states(void **unused)
{
	(void)unused;
	for (size_t n = 0; n < NOISES; n++) {
		for (size_t k = POWER_FROM; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			unsigned seen = 0, holds = 0, all = 0;

			for (unsigned i = 0; i < TRIALS; i++) {
				struct noise noise = noises[n], again = noises[n];
				struct kp_ab_estimate null = run(&noise, lengths[k], 1, i), out;
				double effect = 2 * null.detectable_pct;

				if (!null.known)
					continue;
				out = run(&again, lengths[k], 1 + effect / 100, i + 5000);
				all += out.known;
				seen += out.known && out.low_pct > 0;
				holds += out.known && out.low_pct <= effect &&
					 out.high_pct >= effect;
			}
			assert_true(all >= 180);
			assert_true(seen * 100 >= all * 95);
			assert_true(holds * 100 >= all * 91);
		}
	}
}

/* Phases in the order original, candidate, candidate, original: as times end to end are. */
static struct kp_ab_estimate run_phases(double ratio, uint64_t seed)
{
	enum { PHASES = 48, STEPS = 200 }; /* of 2000, unless a run says otherwise */
	struct kp_ab_time phases[PHASES];
	struct noise noise = {.alike = 0.9, .spread = 0.01, .drift = 0.2, .outliers = 0.01};
	struct kp_ab_estimate out;
	struct kp_ab_pair *pairs;
	size_t count;

	noise_begin(&noise, seed);
	for (size_t i = 0; i < PHASES; i++) {
		bool candidate = i % 4 == 1 || i % 4 == 2;

		phases[i] = (struct kp_ab_time){7, i, 0, candidate};
		for (size_t k = 0; k < STEPS; k++)
			phases[i].us += noise_time(&noise, i * STEPS + k, PHASES * STEPS,
						   candidate ? 5000 * ratio : 5000);
	}
	assert_int_equal(kp_ab_pair_samples(phases, PHASES, &pairs, &count), KP_OK);
	assert_int_equal(count, PHASES / 2);
	assert_int_equal(kp_ab_estimate(pairs, count, 1, &out), KP_OK);
	free(pairs);
	return out;
}

static void test_ab_stats_phases_lose_their_drift(void **unused)
{
	unsigned alarms = 0, seen = 0, holds = 0;

	(void)unused;
	for (unsigned i = 0; i < TRIALS; i++) {
		struct kp_ab_estimate same = run_phases(1, i), faster = run_phases(0.95, i + 999);

		assert_true(same.known && faster.known);
		alarms += same.low_pct > 0 || same.high_pct < 0;
		seen += faster.high_pct < 0;
		holds += faster.low_pct <= -5 && faster.high_pct >= -5;
	}
	assert_true(alarms <= 18);
	assert_true(seen >= 190);
	assert_true(holds >= 182);
}

/* Two shapes, one of which has ten times the time and gains nothing: little is gained. */
static void test_ab_stats_shapes_weigh_by_their_time(void **unused)
{
	enum { PAIRS = 200 };
	struct kp_ab_pair pairs[PAIRS + 4];
	struct noise noise = {.spread = 0.01};
	struct kp_ab_estimate out;

	(void)unused;
	noise_begin(&noise, 3);
	for (size_t i = 0; i < PAIRS + 4; i++) {
		bool large = i % 2;
		double level = large ? 1000 : 100;

		pairs[i] = (struct kp_ab_pair){large, noise_time(&noise, 0, 1, level),
					       noise_time(&noise, 0, 1, large ? 1000 : 50),
					       noise_uniform(&noise) < 0.5};
		if (i >= PAIRS)
			pairs[i].group = 3; /* too few to tell */
	}
	assert_int_equal(kp_ab_estimate_groups(pairs, PAIRS + 4, 1, &out), KP_OK);
	assert_true(out.known);
	assert_true(out.low_pct < -50.0 / 11 && out.high_pct > -50.0 / 11);
	assert_true(out.high_pct - out.low_pct < 2);
	assert_true(out.left_out_pct > 1 && out.left_out_pct < 3);
	assert_true(fabs(out.median_us[0] - 550) < 10);
}

/* The order's effect is told, and is not the candidate's; what drifts is told, too. */
static void test_ab_stats_tells_what_it_took_out(void **unused)
{
	unsigned holds = 0;

	(void)unused;
	for (unsigned i = 0; i < TRIALS; i++) {
		struct noise noise = {.spread = 0.01, .second = -0.24, .drift = 0.2};
		struct kp_ab_estimate out = run(&noise, 400, 0.98, i);

		holds += out.low_pct <= -2 && out.high_pct >= -2;
		assert_true(fabs(out.change_pct + 2) < 1);
		assert_true(out.order_pct < -11 && out.order_pct > -25);
		assert_true(out.drift_pct > 10 && out.drift_pct < 22);
		assert_int_equal(out.pairs, 400);
		assert_int_equal(out.pairs_by[0] + out.pairs_by[1] + out.settling, 400);
	}
	assert_true(holds >= 182);
}

static void test_ab_stats_pairs_are_neighbours_alone(void **unused)
{
	const struct kp_ab_time samples[] = {
		{1, 0, 10, true},  {2, 0, 50, false},  {1, 1, 11, false},  {2, 1, 40, true},
		{1, 2, 12, false},                   /* its neighbour was lost */
		{1, 5, 13, true},  {1, 4, 14, true}, /* both candidates */
		{1, 6, 15, true},  {1, 7, 0, false}, /* no time */
		{1, 8, 16, true},  {1, 9, NAN, false}, {1, 10, 17, false}, {1, 10, 18, true},
	};
	struct kp_ab_pair *pairs;
	size_t count;

	(void)unused;
	assert_int_equal(
		kp_ab_pair_samples(samples, sizeof(samples) / sizeof(samples[0]), &pairs, &count),
		KP_OK);
	assert_int_equal(count, 2);
	assert_true(pairs[0].group == 1 && pairs[0].original_us == 11 &&
		    pairs[0].candidate_us == 10 && pairs[0].candidate_first);
	assert_true(pairs[1].group == 2 && pairs[1].original_us == 50 && !pairs[1].candidate_first);
	free(pairs);
}

static void test_ab_stats_too_little_has_no_interval(void **unused)
{
	struct kp_ab_pair pairs[64] = {0};
	struct kp_ab_estimate out, again;

	(void)unused;
	assert_int_equal(kp_ab_estimate_groups(pairs, 0, 1, &out), KP_OK);
	assert_true(!out.known && isnan(out.median_us[0]) && isnan(out.change_pct));
	for (size_t i = 0; i < 64; i++)
		pairs[i] = (struct kp_ab_pair){0, 100, 90, i < 2};
	assert_int_equal(kp_ab_estimate(pairs, 7, 1, &out), KP_OK);
	assert_true(!out.known && out.median_us[1] == 90);
	assert_int_equal(kp_ab_estimate(pairs, 64, 1, &out), KP_OK);
	assert_false(out.known); /* of one order alone */
	for (size_t i = 0; i < 64; i++)
		pairs[i].candidate_first = i % 3 == 0;
	assert_int_equal(kp_ab_estimate(pairs, 64, 1, &out), KP_OK);
	assert_int_equal(kp_ab_estimate(pairs, 64, 1, &again), KP_OK);
	assert_true(out.known && fabs(out.low_pct + 10) < 1e-9 && fabs(out.high_pct + 10) < 1e-9);
	assert_memory_equal(&out, &again, sizeof(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_stats_seldom_sees_what_is_not_there),
		cmocka_unit_test(test_ab_stats_sees_twice_what_it_states),
		cmocka_unit_test(test_ab_stats_phases_lose_their_drift),
		cmocka_unit_test(test_ab_stats_shapes_weigh_by_their_time),
		cmocka_unit_test(test_ab_stats_tells_what_it_took_out),
		cmocka_unit_test(test_ab_stats_pairs_are_neighbours_alone),
		cmocka_unit_test(test_ab_stats_too_little_has_no_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
