/* Duration statistics against the definitions, on data for which everything is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzers/durations.h"

static struct kp_arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = kp_arena_create();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	kp_arena_destroy(arena);
	return 0;
}

static struct kp_duration_tally tally_of(const uint64_t *durations, size_t count)
{
	struct kp_duration_tally tally = {0};

	for (size_t i = 0; i < count; i++)
		assert_int_equal(kp_durations_add(&tally, durations[i], arena), KP_OK);
	return tally;
}

static void near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected)))
		fail_msg("%.17g is not %.17g", found, expected);
}

static void test_durations_of_nothing_are_zero(void **state)
{
	struct kp_duration_tally tally = {0};
	struct kp_durations result = kp_durations_result(&tally);

	(void)state;
	assert_int_equal(result.timed, 0);
	assert_int_equal(result.total_ns, 0);
	assert_true(result.median_ns == 0 && result.mean_ns == 0 && result.stddev_ns == 0);
	assert_true(kp_durations_quantile(&tally, 0.5) == 0);
}

static void test_durations_match_their_definitions(void **state)
{
	const uint64_t durations[] = {7, 1, 3, 5};
	struct kp_duration_tally tally = tally_of(durations, 4);
	struct kp_durations result = kp_durations_result(&tally);

	(void)state;
	assert_int_equal(result.timed, 4);
	assert_int_equal(result.total_ns, 16);
	assert_int_equal(result.min_ns, 1);
	assert_int_equal(result.max_ns, 7);
	assert_true(result.mean_ns == 4);
	assert_true(result.median_ns == 4); /* of the middle two, 3 and 5 */
	near(result.stddev_ns, sqrt(5), 1e-12);
	assert_true(kp_durations_quantile(&tally, 0.25) == 1);
	assert_true(kp_durations_quantile(&tally, 0.26) == 3);
	assert_true(kp_durations_quantile(&tally, 1) == 7);
}

static void test_durations_of_one_launch_are_exact(void **state)
{
	const uint64_t durations[] = {0, 1, 2047, 2048, 2049, 1234567890123, KP_DURATION_MAX_NS};

	(void)state;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		struct kp_duration_tally tally = tally_of(&durations[i], 1);
		struct kp_durations result = kp_durations_result(&tally);

		assert_int_equal(result.total_ns, durations[i]);
		assert_int_equal(result.min_ns, durations[i]);
		assert_int_equal(result.max_ns, durations[i]);
		assert_true(result.median_ns == (double)durations[i]);
		assert_true(result.stddev_ns == 0);
	}
}

/* The promise: exact below 2048 ns, within 0.05 % above, up to the longest that is believed. */
static void test_durations_median_keeps_its_promise(void **state)
{
	(void)state;
	for (uint64_t middle = 1; middle < KP_DURATION_MAX_NS / 3; middle += middle / 7 + 1) {
		const uint64_t durations[] = {0, middle, 3 * middle};
		struct kp_duration_tally tally = tally_of(durations, 3);

		near(kp_durations_result(&tally).median_ns, (double)middle,
		     middle < 2048 ? 0 : 0.0005);
	}
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static uint64_t next_duration(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*seed >> 33) >> (*seed >> 20) % 24;
}

static void test_durations_quantiles_match_sorting(void **state)
{
	enum { COUNT = 20001 };
	uint64_t *durations = malloc(COUNT * sizeof(*durations)), seed = 3;
	struct kp_duration_tally tally;
	double mean = 0, squares = 0;
	uint64_t middle;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		mean += (double)(durations[i] = next_duration(&seed)) / COUNT;
	for (size_t i = 0; i < COUNT; i++)
		squares += ((double)durations[i] - mean) * ((double)durations[i] - mean) / COUNT;
	tally = tally_of(durations, COUNT);
	qsort(durations, COUNT, sizeof(*durations), compare);
	middle = durations[COUNT / 2];
	near(kp_durations_result(&tally).median_ns, (double)middle, 0.0005);
	near(kp_durations_quantile(&tally, 0.99), (double)durations[(size_t)ceil(0.99 * COUNT) - 1],
	     0.0005);
	near(kp_durations_result(&tally).mean_ns, mean, 1e-12);
	near(kp_durations_result(&tally).stddev_ns, sqrt(squares), 1e-9);
	free(durations);
}

/* Millions of launches that hardly differ, far from zero: where sums of squares lose everything. */
static void test_durations_deviation_is_stable(void **state)
{
	struct kp_duration_tally tally = {0};

	(void)state;
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(kp_durations_add(&tally, 1000000000000 + (uint64_t)(i % 2), arena),
				 KP_OK);
	near(kp_durations_result(&tally).stddev_ns, 0.5, 1e-6);
}

static void test_durations_merge_equals_adding(void **state)
{
	struct kp_duration_tally all = {0}, parts[3] = {{0}}, merged = {0};
	struct kp_durations expected, found;
	uint64_t seed = 11;

	(void)state;
	for (int i = 0; i < 9000; i++) {
		uint64_t duration = next_duration(&seed);

		assert_int_equal(kp_durations_add(&all, duration, arena), KP_OK);
		assert_int_equal(kp_durations_add(&parts[i % 2], duration, arena), KP_OK);
	}
	for (int i = 0; i < 3; i++) /* the third is empty */
		assert_int_equal(kp_durations_merge(&merged, &parts[i], arena), KP_OK);
	expected = kp_durations_result(&all);
	found = kp_durations_result(&merged);
	assert_int_equal(found.timed, expected.timed);
	assert_int_equal(found.total_ns, expected.total_ns);
	assert_int_equal(found.min_ns, expected.min_ns);
	assert_int_equal(found.max_ns, expected.max_ns);
	assert_true(found.median_ns == expected.median_ns);
	near(found.stddev_ns, expected.stddev_ns, 1e-9);
}

static void test_durations_total_saturates(void **state)
{
	struct kp_duration_tally tally = {0};
	struct kp_durations result;

	(void)state;
	for (int i = 0; i < 8000; i++)
		assert_int_equal(kp_durations_add(&tally, KP_DURATION_MAX_NS, arena), KP_OK);
	result = kp_durations_result(&tally);
	assert_true(result.total_ns == UINT64_MAX);
	near(result.mean_ns, (double)KP_DURATION_MAX_NS, 1e-9);
	assert_true(result.median_ns == (double)KP_DURATION_MAX_NS);
}

static void test_durations_memory_follows_the_spread(void **state)
{
	struct kp_duration_tally tally = {0};
	size_t before = kp_arena_bytes(arena);

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(kp_durations_add(&tally, 5000 + i % 200, arena), KP_OK);
	assert_true(kp_arena_bytes(arena) - before < 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations_memory_follows_the_spread),
		cmocka_unit_test(test_durations_of_nothing_are_zero),
		cmocka_unit_test(test_durations_match_their_definitions),
		cmocka_unit_test(test_durations_of_one_launch_are_exact),
		cmocka_unit_test(test_durations_median_keeps_its_promise),
		cmocka_unit_test(test_durations_quantiles_match_sorting),
		cmocka_unit_test(test_durations_deviation_is_stable),
		cmocka_unit_test(test_durations_merge_equals_adding),
		cmocka_unit_test(test_durations_total_saturates),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
