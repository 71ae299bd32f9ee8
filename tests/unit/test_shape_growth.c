/* Growth with position: what generation does is recognised, and what only looks like it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzers/shape_growth.h"

#define MOST 512

static struct kp_growth_value values[MOST];
static uint64_t scratch[MOST];
static size_t count;
static uint64_t seed;

static uint64_t random_below(uint64_t end)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % end;
}

static void begin(void)
{
	count = 0;
	seed = 1;
}

static void see(uint64_t group, uint64_t value)
{
	values[count] = (struct kp_growth_value){group, value, count};
	count++;
}

static bool found(void)
{
	return kp_growth_found(values, count, scratch);
}

static void test_growth_of_a_length(void **state)
{
	(void)state;
	begin();
	for (uint64_t step = 0; step < 20; step++)
		see(0, 512 + step);
	assert_true(found());
}

/* The second request begins again, and goes further. */
static void test_growth_of_several_requests(void **state)
{
	(void)state;
	begin();
	for (uint64_t request = 0; request < 5; request++)
		for (uint64_t step = 0; step < 20 + 5 * request; step++)
			see(0, 100 + step);
	assert_true(found());
}

/* Beside a prefill of another size, and a role of the kernel that never changes. */
static void test_growth_beside_other_uses(void **state)
{
	(void)state;
	begin();
	see(0, 65536);
	for (uint64_t step = 0; step < 12; step++) {
		see(0, 16);
		see(0, 512 + step);
	}
	assert_true(found());
}

/* Six values are too few for chance to be out of the question: 1 in 720 orders rises. */
static void test_growth_needs_seven_values(void **state)
{
	(void)state;
	begin();
	for (uint64_t step = 0; step < 6; step++)
		see(0, 10 + step);
	assert_false(found());
	begin();
	for (uint64_t step = 0; step < 7; step++)
		see(0, 10 + step);
	assert_true(found());
}

static void test_growth_is_not_layers_that_double(void **state)
{
	(void)state;
	begin();
	for (uint64_t layer = 0; layer < 12; layer++)
		see(0, 1ULL << layer);
	assert_false(found());
}

static void test_growth_is_not_shrinking(void **state)
{
	(void)state;
	begin();
	for (uint64_t step = 0; step < 100; step++)
		see(0, 1000 - step);
	assert_false(found());
}

/* Values of two groups are two sequences, neither of which is long enough. */
static void test_growth_stays_within_a_group(void **state)
{
	(void)state;
	begin();
	for (uint64_t step = 0; step < 12; step++)
		see(step % 2, 100 + step);
	assert_false(found());
}

static void test_growth_bears_nothing_and_extremes(void **state)
{
	(void)state;
	begin();
	assert_false(found());
	see(0, 0);
	assert_false(found());
	see(0, UINT64_MAX);
	see(0, 0);
	assert_false(found());
}

/* Random orders look like growth at most as often as the bound says; 2,000 trials of each size. */
static void test_growth_is_rarely_chance(void **state)
{
	static const size_t sizes[] = {7, 20, 100};

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		unsigned hits = 0;

		seed = 7 + s;
		for (unsigned trial = 0; trial < 2000; trial++) {
			count = 0;
			while (count < sizes[s])
				values[count] = (struct kp_growth_value){0, 1000 + count, count},
				count++;
			for (size_t i = count - 1; i > 0; i--) {
				size_t k = (size_t)random_below(i + 1);
				uint64_t value = values[i].value;
				values[i].value = values[k].value;
				values[k].value = value;
			}
			hits += found();
		}
		assert_in_range(hits, 0, 8); /* 2 expected at most */
	}
}

/* The longest rising subsequence by the definition, in quadratic time. */
static size_t slow_longest(const uint64_t *order, size_t length)
{
	size_t best[MOST], longest = 0;

	for (size_t i = 0; i < length; i++) {
		best[i] = 1;
		for (size_t k = 0; k < i; k++)
			if (order[k] < order[i] && best[k] + 1 > best[i])
				best[i] = best[k] + 1;
		longest = best[i] > longest ? best[i] : longest;
	}
	return longest;
}

/* C(n, l) / l! by multiplication. */
static double slow_expected(size_t n, size_t l)
{
	double expected = 1;

	for (size_t i = 1; i <= l; i++)
		expected *= (double)(n - l + i) / (double)i / (double)i;
	return expected;
}

/* Nearly sorted orders, around the border, against the definition. */
static void test_growth_is_what_its_definition_says(void **state)
{
	unsigned yes = 0;

	(void)state;
	seed = 99;
	for (unsigned trial = 0; trial < 3000; trial++) {
		uint64_t order[MOST];
		size_t n = 7 + (size_t)random_below(40);

		for (size_t i = 0; i < n; i++)
			order[i] = 1000 + i;
		for (uint64_t swaps = random_below(n); swaps > 0; swaps--) {
			size_t a = (size_t)random_below(n), b = (size_t)random_below(n);
			uint64_t value = order[a];
			order[a] = order[b];
			order[b] = value;
		}
		begin();
		seed = 99 + trial;
		for (size_t i = 0; i < n; i++)
			see(5, order[i]);
		for (size_t i = 0; i < n; i++) /* later appearances do not count */
			see(5, order[random_below(n)]);
		bool expected = slow_expected(n, slow_longest(order, n)) < KP_GROWTH_CHANCE;
		yes += expected;
		assert_int_equal(found(), expected);
	}
	assert_in_range(yes, 300, 2700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_of_a_length),
		cmocka_unit_test(test_growth_of_several_requests),
		cmocka_unit_test(test_growth_beside_other_uses),
		cmocka_unit_test(test_growth_needs_seven_values),
		cmocka_unit_test(test_growth_is_not_layers_that_double),
		cmocka_unit_test(test_growth_is_not_shrinking),
		cmocka_unit_test(test_growth_stays_within_a_group),
		cmocka_unit_test(test_growth_bears_nothing_and_extremes),
		cmocka_unit_test(test_growth_is_rarely_chance),
		cmocka_unit_test(test_growth_is_what_its_definition_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
