/* The rows of kprof top: two processes as one, parts of the time, resets, what repeats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/tally.h"
#include "tui/top.h"

#define BEGIN_NS 100000000000ULL
#define SECOND KP_BOARD_SECOND_NS

struct world {
	struct kp_tally *tallies[2];
	struct kp_top_process processes[2];
	struct kp_operators *operators;
	struct kp_top top;
};

/* Two processes from second 100 on: kernels «a» of 1 ms and «b» of 3 ms, so many of each a second.
 */
static void run(struct world *world, size_t process, uint64_t from, uint64_t until, unsigned a,
		unsigned b)
{
	struct kp_tally *tally = world->tallies[process];

	kp_tally_set_now(tally, until * SECOND);
	for (uint64_t second = from; second < until; second++) {
		uint64_t at_ns = second * SECOND;
		for (unsigned i = 0; i < a; i++, at_ns += 1000000)
			kp_tally_kernel(tally, "a", 0, at_ns, at_ns + 1000000);
		for (unsigned i = 0; i < b; i++, at_ns += 3000000)
			kp_tally_kernel(tally, "b", 0, at_ns, at_ns + 3000000);
		kp_tally_range(tally, "token", 5, second * SECOND, second * SECOND + 500);
	}
}

static void look(struct world *world, uint64_t settled_ns)
{
	for (size_t i = 0; i < 2; i++) {
		struct kp_board_image *image = kp_tally_image(world->tallies[i]);
		image->head.process = 1000 + i;
		image->head.pid = (uint32_t)(10 + i);
		image->head.state = KP_BOARD_RUNNING;
		image->head.settled_ns = settled_ns;
		world->processes[i] = (struct kp_top_process){
			.image = image, .alive = true, .pid = image->head.pid};
	}
	world->top.view = (struct kp_top_view){.processes = world->processes, .process_count = 2};
	assert_int_equal(kp_top_update(&world->top), KP_OK);
}

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof *world);
	struct kp_top_source source = {.units = 1};

	for (size_t i = 0; i < 2; i++)
		world->tallies[i] = kp_tally_create(BEGIN_NS);
	if (kp_operators_builtin(&world->operators) != KP_OK)
		return -1;
	source.operators = world->operators;
	*state = world;
	kp_top_init(&world->top, &source);
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;

	kp_top_fini(&world->top);
	for (size_t i = 0; i < 2; i++)
		kp_tally_destroy(world->tallies[i]);
	kp_operators_destroy(world->operators);
	free(world);
	return 0;
}

static const struct kp_top_row *row_of(const struct world *world, enum kp_top_group group,
				       const char *name)
{
	for (size_t i = 0; i < world->top.row_counts[group]; i++)
		if (strcmp(world->top.rows[group][i].full, name) == 0)
			return &world->top.rows[group][i];
	return NULL;
}

static void test_top_adds_processes(void **state)
{
	struct world *world = *state;
	const struct kp_top_row *a, *b;

	world->top.choice.seconds = 0;
	run(world, 0, 100, 110, 20, 10);
	run(world, 1, 100, 110, 20, 0);
	look(world, 110 * SECOND);
	a = row_of(world, KP_TOP_KERNELS, "a");
	b = row_of(world, KP_TOP_KERNELS, "b");
	assert_int_equal(world->top.row_counts[KP_TOP_KERNELS], 2);
	assert_int_equal(a->calls, 400);
	assert_int_equal(a->places, 2);
	assert_int_equal(b->calls, 100);
	assert_float_equal(a->calls_per_s, 40, 1e-9);
	assert_float_equal(a->share_pct, 100 * 400 / 700.0, 1e-9);
	assert_float_equal(b->mean_ns, 3e6, 1e-3);
	assert_int_equal(world->top.calls, 500);
	/* Both GPUs are one here, since nothing is known of either. */
	assert_int_equal(world->top.gpu_count, 3);
	assert_float_equal(world->top.gpus[0].busy_pct, 7, 1e-9);
	assert_float_equal(world->top.gpus[1].busy_pct, 5, 1e-9);
	assert_float_equal(world->top.gpus[2].busy_pct, 2, 1e-9);
	/* One of them. */
	world->top.choice.pid = 11;
	look(world, 110 * SECOND);
	assert_null(row_of(world, KP_TOP_KERNELS, "b"));
	assert_int_equal(row_of(world, KP_TOP_KERNELS, "a")->calls, 200);
	/* The other goes: it stays the one that was chosen. */
	world->top.view =
		(struct kp_top_view){.processes = &world->processes[1], .process_count = 1};
	assert_int_equal(kp_top_update(&world->top), KP_OK);
	assert_int_equal(world->top.choice.pid, 11);
	assert_int_equal(row_of(world, KP_TOP_KERNELS, "a")->calls, 200);
	/* It is gone, and so is the choice. */
	world->top.view.processes = world->processes;
	assert_int_equal(kp_top_update(&world->top), KP_OK);
	assert_int_equal(world->top.choice.pid, 0);
}

/* The last seconds are those that all running processes have settled; what is under way is not. */
static void test_top_shows_the_last_seconds(void **state)
{
	struct world *world = *state;

	world->top.choice.seconds = 10;
	run(world, 0, 100, 120, 10, 0);
	run(world, 0, 120, 131, 40, 0);
	look(world, 130 * SECOND + SECOND / 2);
	assert_float_equal(world->top.span_s, 10, 1e-9);
	assert_float_equal(row_of(world, KP_TOP_KERNELS, "a")->calls_per_s, 40, 1e-9);
	world->top.choice.seconds = 60; /* more than there is */
	look(world, 130 * SECOND);
	assert_float_equal(world->top.span_s, 30, 1e-9);
	assert_float_equal(row_of(world, KP_TOP_KERNELS, "a")->calls_per_s, 20, 1e-9);
	assert_float_equal(row_of(world, KP_TOP_KERNELS, "a")->history[KP_TOP_HISTORY - 1], 40e6,
			   1);
	/* No second is complete so early: all there is. */
	look(world, 100 * SECOND + SECOND / 2);
	assert_true(world->top.all_time);
	assert_float_equal(world->top.span_s, 0.5, 1e-9);
}

static void test_top_counts_from_a_reset(void **state)
{
	struct world *world = *state;

	world->top.choice.seconds = 0;
	run(world, 0, 100, 110, 10, 10);
	look(world, 110 * SECOND);
	assert_int_equal(kp_top_reset(&world->top), KP_OK);
	look(world, 110 * SECOND);
	assert_int_equal(world->top.calls, 0);
	run(world, 0, 110, 114, 5, 0);
	look(world, 114 * SECOND);
	assert_int_equal(world->top.calls, 20);
	assert_float_equal(world->top.span_s, 4, 1e-9);
	assert_float_equal(world->top.gpus[0].busy_pct, 0.5, 1e-9);
}

/* Twenty kernels «a» and five «b» again and again: an iteration of 25 kernels, two a second. */
static void test_top_finds_what_repeats(void **state)
{
	struct world *world = *state;

	world->top.choice.seconds = 0;
	for (unsigned i = 0; i < 20; i++) {
		uint64_t at_ns = BEGIN_NS + i * SECOND / 2;
		kp_tally_set_now(world->tallies[0], at_ns + SECOND);
		kp_tally_kernel(world->tallies[0], "head", 0, at_ns, at_ns + 5000);
		for (unsigned k = 1; k < 25; k++)
			kp_tally_kernel(world->tallies[0], k % 5 ? "a" : "b", 0, at_ns + k * 10000,
					at_ns + k * 10000 + 5000);
	}
	look(world, BEGIN_NS + 10 * SECOND);
	assert_true(world->top.rate.known);
	assert_int_equal(world->top.rate.period, 25);
	assert_float_equal(world->top.rate.per_s, 2, 1e-9);
	assert_float_equal(world->top.rate.mean_ns, 5e8, 1);
}

static void test_top_counts_units_of_a_range(void **state)
{
	struct world *world = *state;

	world->top.choice.seconds = 0;
	world->top.source.unit_range = "token";
	world->top.source.units = 8;
	run(world, 0, 100, 110, 1, 1);
	run(world, 1, 100, 110, 1, 1);
	look(world, 110 * SECOND);
	assert_true(world->top.rate.of_range);
	assert_float_equal(world->top.rate.per_s, 16, 1e-9);
	assert_float_equal(world->top.rate.mean_ns, 500, 1e-9);
	assert_int_equal(row_of(world, KP_TOP_RANGES, "token")->calls, 20);
	world->top.source.unit_range = "tok";
	look(world, 110 * SECOND);
	assert_float_equal(world->top.rate.per_s, 0, 1e-9);
	assert_true(isnan(world->top.rate.mean_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_top_adds_processes, begin, end),
		cmocka_unit_test_setup_teardown(test_top_shows_the_last_seconds, begin, end),
		cmocka_unit_test_setup_teardown(test_top_counts_from_a_reset, begin, end),
		cmocka_unit_test_setup_teardown(test_top_finds_what_repeats, begin, end),
		cmocka_unit_test_setup_teardown(test_top_counts_units_of_a_range, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
