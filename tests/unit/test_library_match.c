/* Tests of ties by count: analyzers/library_match.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analyzers/library_match.h"

#define MOST 4096

static struct kp_library_ask asks[MOST];
static struct kp_library_offer offers[MOST];
static size_t scratch[2 * MOST], ask_of[MOST];

static struct kp_library_ask ask(uint64_t ordinal, uint32_t grid, uint64_t what)
{
	return (struct kp_library_ask){
		.ordinal = ordinal, .grid = {grid, 1, 1}, .block = {128, 1, 1}, .what = what};
}

static struct kp_library_offer offer(uint64_t position, uint32_t grid)
{
	return (struct kp_library_offer){
		.position = position, .grid = {grid, 1, 1}, .block = {128, 1, 1}, .kernels = 1};
}

static void match(size_t ask_count, size_t offer_count, uint64_t missing)
{
	const struct kp_library_slack slack = {missing, 0};

	kp_library_match(asks, ask_count, offers, offer_count, slack, scratch, ask_of);
}

/* All kernels look alike: the count alone says which is which. */
static void test_library_match_ties_by_count(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 30; i++)
		offers[i] = offer(i, 8);
	asks[0] = ask(3, 8, 70);
	asks[1] = ask(4, 8, 71);
	asks[2] = ask(29, 8, 72);
	match(3, 30, 0);
	for (size_t i = 0; i < 30; i++)
		assert_int_equal(ask_of[i], i == 3    ? 0
					    : i == 4  ? 1
					    : i == 29 ? 2
						      : KP_LIBRARY_NONE);
}

static void test_library_match_refuses_other_grids(void **state)
{
	(void)state;
	offers[0] = offer(0, 8);
	offers[1] = offer(1, 9);
	asks[0] = ask(1, 8, 70);
	match(1, 2, 0);
	assert_true(ask_of[0] == KP_LIBRARY_NONE && ask_of[1] == KP_LIBRARY_NONE);
	asks[0] = ask(1, 9, 70);
	memset(asks[0].block, 0, sizeof(asks[0].block)); /* unknown */
	match(1, 2, 0);
	assert_int_equal(ask_of[1], 0);
}

/* Another thread's launch, not counted yet, may stand before: the grid then has to tell. */
static void test_library_match_allows_for_other_threads(void **state)
{
	(void)state;
	offers[0] = offer(10, 5);
	offers[1] = offer(11, 8);
	asks[0] = ask(10, 8, 70);
	match(1, 2, 0);
	assert_int_equal(ask_of[1], KP_LIBRARY_NONE);
	asks[0].others = 1;
	match(1, 2, 0);
	assert_int_equal(ask_of[1], 0);
	offers[0] = offer(10, 8); /* two that can be its */
	match(1, 2, 0);
	assert_true(ask_of[0] == KP_LIBRARY_NONE && ask_of[1] == KP_LIBRARY_NONE);
	asks[0] = ask(11, 8, 70);
	asks[0].before = 1; /* it was launched while the other was under way */
	offers[1] = offer(11, 5);
	match(1, 2, 0);
	assert_int_equal(ask_of[0], 0);
}

/* Equal calls in a row: which launch is which record is open, but not of what call. */
static void test_library_match_needs_no_more_than_the_call(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		offers[i] = offer(i, 8);
	for (uint32_t i = 0; i < 9; i++) {
		asks[i] = ask(i, 8, 70);
		asks[i].others = 1;
	}
	match(9, 10, 0);
	for (size_t i = 1; i < 9; i++)
		assert_true(ask_of[i] != KP_LIBRARY_NONE);
	assert_true(ask_of[0] == KP_LIBRARY_NONE && ask_of[9] == KP_LIBRARY_NONE);
	asks[4].what = 71;
	match(9, 10, 0);
	assert_true(ask_of[4] == KP_LIBRARY_NONE && ask_of[5] == KP_LIBRARY_NONE);
	assert_true(ask_of[2] != KP_LIBRARY_NONE && ask_of[7] != KP_LIBRARY_NONE);
}

/* A kernel that comes once a round says how many records are missing, and so for all between. */
static void test_library_match_is_pinned_by_what_is_unique(void **state)
{
	size_t tied = 0, offer_count = 0;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t grid = i % 100 == 0 ? 77 : 8;

		asks[i] = ask(i, grid, 1000 + i);
		if (i == 0 || i > 4) { /* four records are missing */
			offers[offer_count] = offer(offer_count, grid);
			offer_count++;
		}
	}
	match(300, offer_count, 4);
	for (size_t i = 0; i < offer_count; i++) {
		if (ask_of[i] == KP_LIBRARY_NONE)
			continue;
		assert_int_equal(ask_of[i], i == 0 ? 0 : i + 4);
		tied++;
	}
	assert_int_equal(tied, 101); /* all from the second that is unique to the third */
}

static void test_library_match_guesses_nothing(void **state)
{
	(void)state;
	asks[0] = ask(0, 8, 70);
	asks[1] = ask(1, 8, 71);
	offers[0] = offer(0, 8); /* the record of one of both */
	match(2, 1, 1);
	assert_int_equal(ask_of[0], KP_LIBRARY_NONE);
	match(2, 1, KP_LIBRARY_UNKNOWN);
	assert_int_equal(ask_of[0], KP_LIBRARY_NONE);
	match(0, 1, 0);
	assert_int_equal(ask_of[0], KP_LIBRARY_NONE);
	match(2, 0, 0);
}

static void test_library_match_knows_graphs(void **state)
{
	(void)state;
	asks[0] = (struct kp_library_ask){.ordinal = 5, .graph = true, .kernels = 3, .what = 1};
	offers[0] = (struct kp_library_offer){.position = 5, .graph = true, .kernels = 3};
	match(1, 1, 0);
	assert_int_equal(ask_of[0], 0);
	offers[0].kernels = 4;
	match(1, 1, 0);
	assert_int_equal(ask_of[0], KP_LIBRARY_NONE);
	offers[0] = offer(5, 1);
	match(1, 1, 0);
	assert_int_equal(ask_of[0], KP_LIBRARY_NONE);
}

static void test_library_match_survives_nonsense(void **state)
{
	uint64_t seed = 88172645463325252ULL;

	(void)state;
	for (size_t i = 0; i < MOST; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		asks[i] = ask(seed, (uint32_t)seed % 3, seed % 5);
		asks[i].before = seed >> 40;
		asks[i].others = seed >> (seed % 64);
		offers[i] = offer(i * (seed % 3), (uint32_t)(seed >> 32) % 3);
	}
	match(MOST, MOST, 0);
	match(MOST, MOST, seed);
	match(MOST, MOST, KP_LIBRARY_UNKNOWN);
	for (size_t i = 0; i < MOST; i++)
		assert_true(ask_of[i] == KP_LIBRARY_NONE || ask_of[i] < MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library_match_ties_by_count),
		cmocka_unit_test(test_library_match_refuses_other_grids),
		cmocka_unit_test(test_library_match_allows_for_other_threads),
		cmocka_unit_test(test_library_match_needs_no_more_than_the_call),
		cmocka_unit_test(test_library_match_is_pinned_by_what_is_unique),
		cmocka_unit_test(test_library_match_guesses_nothing),
		cmocka_unit_test(test_library_match_knows_graphs),
		cmocka_unit_test(test_library_match_survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
