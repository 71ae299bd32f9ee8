/*
 * The interval of a change: right where there is none more often than not (also where neighbours
 * are alike, and where runs differ), and narrow enough to see what is there. Fixed seeds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/diff_stats.h"

#define TRIALS 600
#define LONGEST 512
#define RUNS 5

static uint64_t state;

/* xorshift64: the same numbers everywhere. */
static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(6.283185307179586 * uniform());
}

/* How lengths of iterations come about. */
struct process {
	double alike; /* of neighbours: AR(1) */
	double level; /* relative */
	double slope; /* from beginning to end, relative */
	bool spikes;  /* one of fifty takes up to six times as long */
};

static struct kp_series series(double *values, size_t count, const struct process *process)
{
	double noise = normal();

	for (size_t i = 0; i < count; i++) {
		noise = process->alike * noise +
			sqrt(1 - process->alike * process->alike) * normal();
		values[i] = 1.7e6 * (1 + process->level + 0.01 * noise +
				     process->slope * (double)i / (double)count);
		if (process->spikes && uniform() < 0.02)
			values[i] *= 1 + 5 * uniform();
	}
	return (struct kp_series){values, count};
}

static struct kp_effect compare_one(size_t a_count, size_t b_count, const struct process *a,
				    const struct process *b)
{
	static double values[2][LONGEST];
	struct kp_series base = series(values[0], a_count, a);
	struct kp_series fresh = series(values[1], b_count, b);
	struct kp_effect effect;

	assert_int_equal(kp_stats_compare(&base, 1, &fresh, 1, &effect), KP_OK);
	return effect;
}

/* How often, in percent, two runs of one process are told apart. */
static double false_alarms(size_t a_count, size_t b_count, const struct process *process)
{
	unsigned alarms = 0;

	state = 88172645463325252ULL;
	for (unsigned i = 0; i < TRIALS; i++) {
		struct kp_effect effect = compare_one(a_count, b_count, process, process);

		assert_true(effect.known);
		alarms += effect.low_pct > 0 || effect.high_pct < 0;
	}
	return 100.0 * alarms / TRIALS;
}

/* 5 %, and twice what 600 trials may miss it by. */
#define ALLOWED 6.8

static void test_stats_seldom_sees_what_is_not_there(void **unused)
{
	const struct process processes[] = {{.alike = 0},
					    {.alike = 0.5},
					    {.alike = 0.9},
					    {.alike = 0.98},
					    {.alike = 0.5, .spikes = true},
					    {.alike = 0.9, .spikes = true}};
	const size_t counts[] = {KP_STATS_LEAST, 100, 400};

	(void)unused;
	for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++) {
		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
			double rate = false_alarms(counts[k], counts[k], &processes[i]);

			if (rate > ALLOWED)
				print_error("process %zu, %zu iterations: %.1f %%\n", i, counts[k],
					    rate);
			assert_true(rate <= ALLOWED);
		}
		assert_true(false_alarms(100, 300, &processes[i]) <= ALLOWED);
	}
}

static void test_stats_sees_what_is_there(void **unused)
{
	const struct process base = {.alike = 0.5}, slower = {.alike = 0.5, .level = 0.02};
	unsigned seen = 0, inside = 0;

	(void)unused;
	state = 42;
	for (unsigned i = 0; i < 200; i++) {
		struct kp_effect effect = compare_one(300, 300, &base, &slower);

		seen += effect.low_pct > 0;
		inside += effect.low_pct <= 2 && effect.high_pct >= 2;
	}
	assert_true(seen >= 190);
	assert_true(inside >= 184); /* 95 % of 200 is 190; two standard errors */
}

/* A step takes longer the longer the text is: no difference between two runs that both do so. */
static void test_stats_common_trend_is_no_difference(void **unused)
{
	const struct process rising = {.alike = 0, .slope = 0.3};
	struct kp_effect effect;

	(void)unused;
	state = 7;
	effect = compare_one(400, 400, &rising, &rising);
	assert_true(effect.low_pct < 0 && effect.high_pct > 0);
	assert_true(effect.high_pct - effect.low_pct < 1);
}

/* The beginning of a run, before it has settled, does not decide. */
static void test_stats_leaves_out_what_has_not_settled(void **unused)
{
	static double values[2][160];
	struct kp_series base, fresh;
	struct kp_effect effect;

	(void)unused;
	state = 11;
	base = series(values[0], 160, &(struct process){.alike = 0});
	fresh = series(values[1], 120, &(struct process){.alike = 0});
	for (unsigned i = 0; i < 20; i++)
		values[1][i] *= 1.5;
	assert_int_equal(kp_stats_compare(&base, 1, &fresh, 1, &effect), KP_OK);
	assert_true(fabs(effect.change_pct) < 1);
	assert_true(effect.high_pct - effect.low_pct < 2);
}

/* Runs differ by 1 % one from the other, far more than their iterations. */
static double alarms_between_runs(size_t a_runs, size_t b_runs, double level)
{
	static double values[2][RUNS][64];
	struct kp_series series_of[2][RUNS];
	const size_t runs[2] = {a_runs, b_runs};
	unsigned alarms = 0;

	state = 1234567;
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		struct kp_effect effect;

		for (unsigned side = 0; side < 2; side++) {
			for (size_t i = 0; i < runs[side]; i++) {
				struct process process = {.alike = 0.5,
							  .level = 0.01 * normal() +
								   (side ? level : 0)};

				series_of[side][i] = series(values[side][i], 64, &process);
			}
		}
		assert_int_equal(
			kp_stats_compare(series_of[0], a_runs, series_of[1], b_runs, &effect),
			KP_OK);
		assert_true(effect.known && effect.between_runs);
		alarms += effect.low_pct > 0 || effect.high_pct < 0;
	}
	return 100.0 * alarms / TRIALS;
}

static void test_stats_several_runs_know_how_much_runs_differ(void **unused)
{
	(void)unused;
	assert_true(alarms_between_runs(2, 2, 0) <= ALLOWED);
	assert_true(alarms_between_runs(3, 3, 0) <= ALLOWED);
	assert_true(alarms_between_runs(1, 3, 0) <= ALLOWED);
	assert_true(alarms_between_runs(5, 3, 0) <= ALLOWED);
	assert_true(alarms_between_runs(5, 5, 0.05) >= 99);
}

/* Two runs that by chance are alike do not make the interval narrower than their iterations do. */
static void test_stats_runs_are_never_surer_than_their_iterations(void **unused)
{
	static double values[3][64];
	struct kp_series one, two[2], other;
	struct kp_effect single, several;

	(void)unused;
	state = 5;
	one = two[0] = two[1] = series(values[0], 64, &(struct process){.alike = 0});
	other = series(values[1], 64, &(struct process){.alike = 0});
	assert_int_equal(kp_stats_compare(&one, 1, &other, 1, &single), KP_OK);
	assert_int_equal(kp_stats_compare(two, 2, two, 2, &several), KP_OK);
	assert_true(several.known && several.change_pct == 0);
	assert_true(several.high_pct > 0);
}

static void test_stats_too_little_has_no_interval(void **unused)
{
	const double few[KP_STATS_LEAST - 1] = {100, 200, 300};
	const double runs[2] = {100, 102}, others[2] = {110, 112};
	struct kp_series short_one = {few, 3}, base[2], fresh[2];
	struct kp_effect effect;

	(void)unused;
	assert_int_equal(kp_stats_compare(&short_one, 1, &short_one, 1, &effect), KP_OK);
	assert_false(effect.known);
	assert_true(fabs(effect.typical_ns[0] - 200) < 1e-6);
	/* Whole runs, of which the length alone is known. */
	for (unsigned i = 0; i < 2; i++) {
		base[i] = (struct kp_series){&runs[i], 1};
		fresh[i] = (struct kp_series){&others[i], 1};
	}
	assert_int_equal(kp_stats_compare(base, 2, fresh, 2, &effect), KP_OK);
	assert_true(effect.known);
	assert_true(effect.low_pct < effect.change_pct && effect.high_pct > effect.change_pct);
	assert_int_equal(kp_stats_compare(base, 1, fresh, 1, &effect), KP_OK);
	assert_false(effect.known);
}

static void test_stats_constants_and_zeros_are_numbers(void **unused)
{
	static double zeros[64], ones[64];
	struct kp_series a = {zeros, 64}, b = {ones, 64};
	struct kp_effect effect;

	(void)unused;
	for (unsigned i = 0; i < 64; i++)
		ones[i] = 1e9;
	assert_int_equal(kp_stats_compare(&a, 1, &b, 1, &effect), KP_OK);
	assert_true(isfinite(effect.change_pct) && isfinite(effect.low_pct));
	assert_int_equal(kp_stats_compare(&b, 1, &b, 1, &effect), KP_OK);
	assert_true(effect.known && fabs(effect.change_pct) + fabs(effect.high_pct) < 1e-9);
}

static void test_stats_student_is_the_table_s(void **unused)
{
	const struct {
		double freedom, value;
	} table[] = {{1, 12.7062}, {2, 4.3027},  {3, 3.1824},  {4, 2.7764},   {5, 2.5706},
		     {8, 2.3060},  {15, 2.1314}, {30, 2.0423}, {120, 1.9799}, {1e6, 1.9600}};

	(void)unused;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_true(fabs(kp_stats_student95(table[i].freedom) - table[i].value) < 5e-4);
	/* Between them it falls. */
	for (unsigned quarters = 4; quarters < 160; quarters++)
		assert_true(kp_stats_student95((quarters + 1) / 4.0) <
			    kp_stats_student95(quarters / 4.0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats_seldom_sees_what_is_not_there),
		cmocka_unit_test(test_stats_sees_what_is_there),
		cmocka_unit_test(test_stats_common_trend_is_no_difference),
		cmocka_unit_test(test_stats_leaves_out_what_has_not_settled),
		cmocka_unit_test(test_stats_several_runs_know_how_much_runs_differ),
		cmocka_unit_test(test_stats_runs_are_never_surer_than_their_iterations),
		cmocka_unit_test(test_stats_too_little_has_no_interval),
		cmocka_unit_test(test_stats_constants_and_zeros_are_numbers),
		cmocka_unit_test(test_stats_student_is_the_table_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
