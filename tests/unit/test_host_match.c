/* Tying calls to kernels by order: only what is certain, and all of that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/host_match.h"

#define MOST 4096
#define FEW 8

static struct kp_match_shape calls[MOST], groups[MOST];
static size_t scratch[MOST], call_of[MOST];

/* A launch of `x` blocks that begins, or starts, then. */
static struct kp_match_shape shape(uint64_t at_ns, uint32_t x)
{
	return (struct kp_match_shape){
		.at_ns = at_ns, .grid = {x, 1, 1}, .block = {128, 1, 1}, .kernels = 1};
}

static void match(size_t call_count, size_t group_count, bool whole)
{
	memset(call_of, 0x55, sizeof(call_of));
	kp_match_in_order(calls, call_count, groups, group_count, whole, scratch, call_of);
}

static void test_host_match_ties_all_of_a_whole_stream(void **state)
{
	(void)state;
	for (size_t i = 0; i < 100; i++) {
		calls[i] = shape(1000 * i + 1, 4);
		groups[i] = shape(1, 4); /* the clocks may lie */
	}
	match(100, 90, true);
	for (size_t i = 0; i < 90; i++)
		assert_int_equal(call_of[i], i);
	match(90, 100, true); /* the calls of the last are still to come */
	assert_int_equal(call_of[89], 89);
	assert_int_equal(call_of[90], KP_MATCH_NONE);
}

static void test_host_match_refuses_other_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		calls[i] = groups[i] = shape(1000 * i + 1, 4);
	groups[1].grid[2] = 7;
	match(3, 3, true);
	assert_int_equal(call_of[0], 0);
	assert_int_equal(call_of[1], KP_MATCH_NONE);
	assert_int_equal(call_of[2], 2);
	groups[1] = calls[1];
	groups[1].block[0] = 64;
	groups[2].graph = true;
	match(3, 3, true);
	assert_int_equal(call_of[1], KP_MATCH_NONE);
	assert_int_equal(call_of[2], KP_MATCH_NONE);
	memset(calls[1].block, 0, sizeof(calls[1].block)); /* unknown: agrees with any */
	match(3, 3, true);
	assert_int_equal(call_of[1], 1);
}

/* Records of a graph may be missing, never more than it has. */
static void test_host_match_counts_the_kernels_of_graphs(void **state)
{
	(void)state;
	calls[0] = groups[0] = shape(1, 0);
	calls[0].graph = groups[0].graph = true;
	calls[0].kernels = 24;
	groups[0].kernels = 23;
	match(1, 1, true);
	assert_int_equal(call_of[0], 0);
	groups[0].kernels = 25;
	match(1, 1, true);
	assert_int_equal(call_of[0], KP_MATCH_NONE);
	calls[0].kernels = UINT32_MAX;
	match(1, 1, false);
	assert_int_equal(call_of[0], 0);
}

/* One record is lost: shapes tell where, if they differ. */
static void test_host_match_finds_the_gap(void **state)
{
	(void)state;
	for (size_t i = 0; i < 50; i++)
		calls[i] = shape(1000 * i + 1, (uint32_t)i % 5);
	for (size_t i = 0; i < 49; i++)
		groups[i] = shape(100000000, (uint32_t)(i < 20 ? i : i + 1) % 5);
	match(50, 49, false);
	for (size_t i = 0; i < 49; i++)
		assert_int_equal(call_of[i], i < 20 ? i : i + 1);
}

/* Of equal launches nobody knows which one's record is lost, so none is tied. */
static void test_host_match_guesses_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < 50; i++)
		calls[i] = groups[i] = shape(1000 * i + 1, 4);
	for (size_t i = 0; i < 49; i++)
		groups[i].at_ns = 100000000;
	match(50, 49, false);
	for (size_t i = 0; i < 49; i++)
		assert_int_equal(call_of[i], KP_MATCH_NONE);
	/* As many as calls: one each. */
	groups[49] = groups[48];
	match(50, 50, false);
	for (size_t i = 0; i < 50; i++)
		assert_int_equal(call_of[i], i);
}

/* A kernel cannot start before its call: this alone excludes later calls. */
static void test_host_match_knows_cause_and_effect(void **state)
{
	(void)state;
	for (size_t i = 0; i < 20; i++) {
		calls[i] = shape(1000000 * (i + 1), 4);
		groups[i] = shape(1000000 * (i + 1) + 5000, 4);
	}
	match(20, 10, false); /* the first ten ran before the others began */
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(call_of[i], i);
	groups[3].at_ns = 0; /* of an unknown time: between its neighbours all the same */
	match(20, 10, false);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(call_of[i], i);
	groups[0].at_ns = 1000000 - KP_MATCH_SLACK_NS - 1; /* before all calls: none is its own */
	match(20, 1, false);
	assert_int_equal(call_of[0], KP_MATCH_NONE);
}

static void test_host_match_leaves_contended_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++)
		calls[i] = groups[i] = shape(1000 * i + 1, 4);
	calls[1].contended = calls[2].contended = true;
	match(4, 4, true);
	assert_int_equal(call_of[0], 0);
	assert_int_equal(call_of[1], KP_MATCH_NONE);
	assert_int_equal(call_of[2], KP_MATCH_NONE);
	assert_int_equal(call_of[3], 3);
}

/* ---- against all assignments there are ---- */

static uint64_t seed = 88172645463325252ULL;

static uint32_t below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % limit);
}

/* The calls that group `g` has in any assignment of all groups from `g` on to calls from `c` on;
 * bit i of possible[g]: call i. Returns whether there is such an assignment. */
static bool enumerate(size_t c, size_t call_count, size_t g, size_t group_count,
		      unsigned possible[FEW])
{
	bool any = false;

	if (g == group_count)
		return true;
	for (size_t i = c; i < call_count; i++) {
		if (calls[i].at_ns > groups[g].at_ns + KP_MATCH_SLACK_NS ||
		    calls[i].grid[0] != groups[g].grid[0])
			continue;
		if (enumerate(i + 1, call_count, g + 1, group_count, possible)) {
			possible[g] |= 1U << i;
			any = true;
		}
	}
	return any;
}

static void test_host_match_ties_what_is_certain_and_no_more(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t call_count = 1 + below(FEW), group_count = 0, truth[FEW];
		uint64_t gpu_ns = 0;
		unsigned possible[FEW] = {0};
		uint32_t kinds = 1 + below(3), drops = below(4);

		for (size_t i = 0; i < call_count; i++) {
			calls[i] = shape(100000 * (i + 1), below(kinds));
			if (gpu_ns < calls[i].at_ns)
				gpu_ns = calls[i].at_ns;
			gpu_ns += 1000 + below(3) * 90000;
			if (below(10) < drops)
				continue;
			groups[group_count] = shape(gpu_ns, calls[i].grid[0]);
			truth[group_count++] = i;
		}
		assert_true(enumerate(0, call_count, 0, group_count, possible));
		match(call_count, group_count, false);
		for (size_t i = 0; i < group_count; i++) {
			bool certain = possible[i] == 1U << truth[i];

			assert_int_equal(call_of[i], certain ? truth[i] : KP_MATCH_NONE);
		}
	}
}

/* Whatever nonsense comes, every answer is a call that exists, in order, and it takes no longer. */
static void test_host_match_survives_nonsense(void **state)
{
	(void)state;
	for (int round = 0; round < 100; round++) {
		size_t last = KP_MATCH_NONE;

		for (size_t i = 0; i < MOST; i++) {
			calls[i] = shape(below(1000000), below(3));
			groups[i] = shape(below(1000000), below(4));
			calls[i].graph = below(5) == 0;
		}
		match(MOST, MOST, round % 2);
		for (size_t i = 0; i < MOST; i++) {
			if (call_of[i] == KP_MATCH_NONE)
				continue;
			assert_true(call_of[i] < MOST);
			assert_true(last == KP_MATCH_NONE || call_of[i] > last);
			last = call_of[i];
		}
	}
	match(0, MOST, false);
	assert_int_equal(call_of[0], KP_MATCH_NONE);
	match(MOST, 0, false);
}

/* Groups that nothing fits cost a bounded effort. */
static void test_host_match_gives_up_in_time(void **state)
{
	static struct kp_match_shape many[400000];
	size_t *places = malloc(2 * 400000 * sizeof(*places));

	(void)state;
	assert_non_null(places);
	for (size_t i = 0; i < 400000; i++)
		many[i] = shape(1, 4);
	many[399999].grid[0] = 5;
	/* Each group fits the last call alone, which lies beyond reach. */
	for (size_t i = 0; i < MOST; i++)
		groups[i] = shape(2, 5);
	kp_match_in_order(many, 400000, groups, MOST, false, places, places + 400000);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(places[400000 + i], KP_MATCH_NONE);
	free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_match_ties_all_of_a_whole_stream),
		cmocka_unit_test(test_host_match_refuses_other_shapes),
		cmocka_unit_test(test_host_match_counts_the_kernels_of_graphs),
		cmocka_unit_test(test_host_match_finds_the_gap),
		cmocka_unit_test(test_host_match_guesses_nothing),
		cmocka_unit_test(test_host_match_knows_cause_and_effect),
		cmocka_unit_test(test_host_match_leaves_contended_calls),
		cmocka_unit_test(test_host_match_ties_what_is_certain_and_no_more),
		cmocka_unit_test(test_host_match_survives_nonsense),
		cmocka_unit_test(test_host_match_gives_up_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
