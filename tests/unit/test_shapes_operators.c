/* How stable the shapes of operators are: kernel by kernel, without what autotuning tries. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/shape_stability.h"

#define MOST 40

static struct kp_launch_config configs[MOST];
static struct kp_shape_use uses[MOST];
static size_t count;
static struct kp_arena *arena;

static int begin(void **state)
{
	(void)state;
	count = 0;
	arena = kp_arena_create();
	return arena ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	kp_arena_destroy(arena);
	return 0;
}

static struct kp_shape_use *put(uint32_t grid, uint64_t launches, uint64_t total_ns)
{
	configs[count] = (struct kp_launch_config){.grid = {grid, 1, 1}, .block = {128, 1, 1}};
	uses[count] = (struct kp_shape_use){.config = &configs[count],
					    .launches = launches,
					    .calls = launches,
					    .total_ns = total_ns,
					    .first = count,
					    .bytes = NAN};
	return &uses[count++];
}

static struct kp_stability summarise(const uint32_t *grows)
{
	const struct kp_shapes_input input = {uses, count, grows, NAN};
	struct kp_stability out;

	assert_int_equal(kp_shapes_summarise(&input, arena, &out), KP_OK);
	return out;
}

/* The steps of one operation that is written out: ten kernels, each always in one shape. */
static void test_shapes_of_steps_are_stable(void **state)
{
	static const uint32_t none[10];
	struct kp_stability out;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		put(1 + i, 50, 100)->row = i;
	out = summarise(none);
	assert_int_equal(out.versions, 9);
	assert_int_equal(out.versions_each, 1);
	assert_int_equal(out.verdict, KP_SHAPES_SINGLE);
	assert_string_equal(out.reason,
			    "9 kernels, each in one shape for 90 % of its time or more");
	/* One of them in nine shapes has too many, however many others have one. */
	for (uint32_t i = 0; i < 8; i++)
		put(20 + i, 50, 100)->row = 0;
	out = summarise(none);
	assert_int_equal(out.versions_each, 9);
	assert_int_equal(out.verdict, KP_SHAPES_NOT_WORTH);
}

/* What a compiler tries is no shape of the program. */
static void test_shapes_without_trials(void **state)
{
	struct kp_stability out;

	(void)state;
	put(7, 100, 5000)->trials = 2;
	uses[0].trial_ns = 100;
	for (uint32_t i = 0; i < 20; i++) {
		put(100 + 3 * i, 0, 0)->trials = 3;
		uses[count - 1].trial_ns = 245;
	}
	out = summarise(NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.verdict, KP_SHAPES_SINGLE);
	assert_int_equal(out.trials, 62);
	assert_int_equal(out.varies, 0);
	assert_string_equal(out.reason, "one grid and block in all 100 launches; 62 more launches "
					"were autotuning's (50.0 % of all its time)");
	uses[0].launches = 0;
	uses[0].total_ns = 0;
	out = summarise(NULL);
	assert_int_equal(out.verdict, KP_SHAPES_UNKNOWN);
	assert_string_equal(out.reason, "autotuning tried it, and nothing else ran it");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shapes_of_steps_are_stable),
		TEST(test_shapes_without_trials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
