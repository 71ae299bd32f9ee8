/* A summary of NVML's readings: what was busy, what was slowed down, and what is not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/clocks.h"

#define ALL 31U

struct state {
	struct kp_arena *arena;
	struct kp_clocks_tally *tally;
	struct kp_clocks_summary summary;
};

static int set_up(void **state)
{
	static struct state fresh;

	memset(&fresh, 0, sizeof(fresh));
	fresh.arena = kp_arena_create();
	*state = &fresh;
	return fresh.arena ? 0 : -1;
}

static int tear_down(void **state)
{
	kp_arena_destroy(((struct state *)*state)->arena);
	return 0;
}

static void add(struct state *state, uint32_t has, uint32_t sm_mhz, uint32_t watts,
		uint64_t reasons)
{
	const struct kp_clocks reading = {
		.has = has,
		.sm_mhz = sm_mhz,
		.memory_mhz = 2619,
		.power_mw = watts * 1000,
		.temperature_c = 60,
		.throttle_reasons = reasons,
		.start_ns = 1000,
		.end_ns = 1000 + watts,
	};

	assert_int_equal(kp_clocks_add(&state->tally, &reading, state->arena), KP_OK);
}

static const struct kp_clocks_summary *summarise(struct state *state)
{
	kp_clocks_summarise(state->tally, &state->summary);
	return &state->summary;
}

static void check_near(double got, double expected)
{
	assert_true(fabs(got - expected) < 1e-9 * (1 + fabs(expected)));
}

static void test_clocks_idle_readings_do_not_count(void **state)
{
	const struct kp_clocks_summary *summary;

	add(*state, ALL, 345, 100, 1);
	add(*state, ALL, 1980, 400, 0);
	add(*state, ALL, 1755, 680, 4);
	add(*state, ALL, 1980, 420, 0);
	add(*state, ALL, 345, 100, 1);
	summary = summarise(*state);
	assert_int_equal(summary->readings, 5);
	assert_int_equal(summary->idle, 2);
	assert_int_equal(summary->sm_mhz.least, 1755);
	assert_int_equal(summary->sm_mhz.median, 1980);
	assert_int_equal(summary->sm_mhz.most, 1980);
	check_near(summary->power_mw.mean, 500000);
	check_near(summary->reading_mean_ns, (100 + 400 + 680 + 420 + 100) / 5.0);
	assert_int_equal(summary->reading_most_ns, 680);
	assert_int_equal(summary->power_mw.most, 680000);
	assert_int_equal(summary->temperature_c.most, 60);
	check_near(summary->throttled_pct, 100 / 3.0);
	check_near(summary->reason_pct[KP_THROTTLE_POWER_CAP], 100 / 3.0);
	check_near(summary->reason_pct[KP_THROTTLE_SLOWDOWN], 0);
}

static void test_clocks_all_idle(void **state)
{
	const struct kp_clocks_summary *summary;

	add(*state, ALL, 345, 100, 1);
	summary = summarise(*state);
	assert_int_equal(summary->readings, 1);
	assert_int_equal(summary->idle, 1);
	assert_int_equal(summary->sm_mhz.median, 345);
}

/* Two reasons at once are one throttled reading; what is no slowdown is none. */
static void test_clocks_reasons(void **state)
{
	const struct kp_clocks_summary *summary;

	add(*state, ALL, 1200, 700, 0x8 | 0x40);
	add(*state, ALL, 1980, 700, 0x2);
	summary = summarise(*state);
	check_near(summary->throttled_pct, 50);
	check_near(summary->reason_pct[KP_THROTTLE_SLOWDOWN], 50);
	check_near(summary->reason_pct[KP_THROTTLE_THERMAL_HARDWARE], 50);
}

static void test_clocks_absent_is_not_zero(void **state)
{
	const struct kp_clocks_summary *summary = summarise(*state);

	assert_int_equal(summary->readings, 0);
	add(*state, KP_CLOCKS_POWER, 0, 300, 0);
	summary = summarise(*state);
	assert_false(summary->sm_mhz.known);
	assert_false(summary->throttle_known);
	assert_true(summary->power_mw.known);
	assert_int_equal(summary->idle, 0);
}

/* More different values than are told apart: the median is still near. */
static void test_clocks_many_values(void **state)
{
	const struct kp_clocks_summary *summary;

	for (uint32_t i = 0; i < 5000; i++)
		add(*state, KP_CLOCKS_SM, (i * 7919) % 5000, 0, 0);
	add(*state, KP_CLOCKS_SM, UINT32_MAX, 0, 0);
	summary = summarise(*state);
	assert_int_equal(summary->sm_mhz.least, 0);
	assert_true(summary->sm_mhz.most == UINT32_MAX);
	assert_in_range(summary->sm_mhz.median, 2400, 2600);
}

static void test_clocks_merge(void **state)
{
	struct state *first = *state;
	struct state second = {.arena = first->arena};
	const struct kp_clocks_summary *summary;

	add(first, ALL, 1980, 400, 0);
	add(&second, ALL, 1500, 600, 4);
	add(&second, ALL, 1500, 600, 4);
	add(&second, ALL, 300, 100, 1);
	assert_int_equal(kp_clocks_merge(&first->tally, second.tally, first->arena), KP_OK);
	assert_int_equal(kp_clocks_merge(&first->tally, NULL, first->arena), KP_OK);
	summary = summarise(first);
	assert_int_equal(summary->readings, 4);
	assert_int_equal(summary->idle, 1);
	assert_int_equal(summary->sm_mhz.median, 1500);
	check_near(summary->throttled_pct, 200 / 3.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clocks_idle_readings_do_not_count, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_clocks_all_idle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clocks_reasons, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clocks_absent_is_not_zero, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clocks_many_values, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clocks_merge, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
