/* The schedule of --duty: its share, its budget for switching, and its places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/duty.h"

#define PERIODS 2000

/* Runs a schedule; returns recorded ÷ passed time. Every window lies after the one before. */
static double run(struct kp_duty *duty, uint64_t cost_ns)
{
	uint64_t now_ns = 1000, begin_ns = 1000, inside_ns = 0;

	for (int i = 0; i < PERIODS; i++) {
		uint64_t next_ns = kp_duty_next(duty, now_ns);

		assert_true(next_ns >= now_ns);
		inside_ns += duty->window_ns;
		now_ns = next_ns + duty->window_ns + cost_ns;
		kp_duty_measured(duty, cost_ns);
	}
	return (double)inside_ns / (double)(now_ns - begin_ns);
}

static void test_duty_records_its_share(void **state)
{
	static const double shares[] = {0.001, 0.02, 0.1, 0.5};
	static const uint64_t costs[] = {0, 100000, 12500000, 90000000};

	(void)state;
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 4; k++) {
			struct kp_duty duty;

			kp_duty_init(&duty, shares[i], 7, 1000);
			double got = run(&duty, costs[k]);
			/* Where switching takes longer than the period leaves room, it gives way.
			 */
			if (shares[i] < 0.5)
				assert_true(got > 0.95 * shares[i] && got < 1.05 * shares[i]);
			assert_true(got < 1.05 * shares[i]);
		}
	}
}

static void test_duty_keeps_the_budget_of_switching(void **state)
{
	struct kp_duty duty;

	(void)state;
	kp_duty_init(&duty, 0.02, 7, 0);
	/* Half windows first, so that a run of one period has two. */
	for (int i = 0; i < KP_DUTY_HALF_PERIODS; i++) {
		assert_true(kp_duty_next(&duty, 0) <= 1375000000U * (unsigned)(i + 1));
		assert_in_range(duty.period_ns, 1374000000, 1376000000);
		assert_in_range(duty.window_ns, 27480000, 27520000);
	}
	kp_duty_next(&duty, 0);
	/* As measured on an H200: 55 ms every 2.75 s. */
	assert_in_range(duty.period_ns, 2749000000, 2751000000);
	assert_in_range(duty.window_ns, 54980000, 55020000);
	for (int i = 0; i < 100; i++)
		kp_duty_measured(&duty, 50000);
	kp_duty_next(&duty, 0);
	assert_in_range(duty.window_ns, KP_DUTY_WINDOW_MIN_NS, KP_DUTY_WINDOW_MIN_NS + 1000);
	assert_in_range(duty.period_ns, 2000000000, 2000100000);
	kp_duty_measured(&duty, 40000000); /* at once */
	kp_duty_next(&duty, 0);
	assert_in_range(duty.period_ns, 4999000000, 5001000000);
	kp_duty_measured(&duty, UINT64_MAX / 2);
	kp_duty_next(&duty, 0);
	assert_int_equal(duty.period_ns, KP_DUTY_PERIOD_MAX_NS);
}

/* Work that repeats with the period of the windows is hit at all its phases alike. */
static void test_duty_does_not_keep_step(void **state)
{
	unsigned hits[10] = {0};
	struct kp_duty duty;
	uint64_t now_ns = 0;

	(void)state;
	kp_duty_init(&duty, 0.02, 99, 0);
	for (int i = 0; i < 5000; i++) {
		uint64_t at_ns = kp_duty_next(&duty, now_ns);

		hits[at_ns % duty.period_ns * 10 / duty.period_ns]++;
		now_ns = at_ns + duty.window_ns;
		kp_duty_measured(&duty, KP_DUTY_COST_FIRST_NS);
	}
	/* A window ends within its period, so that few begin in the last tenth. */
	for (int i = 0; i < 10; i++)
		assert_in_range(hits[i], i < 9 ? 420 : 320, 600);
}

/* After a pause (stopped by hand, or a machine that slept) it does not make up for lost time. */
static void test_duty_begins_anew_after_a_pause(void **state)
{
	struct kp_duty duty;
	uint64_t late_ns = 3600ULL * 1000000000, next_ns;

	(void)state;
	kp_duty_init(&duty, 0.02, 1, 0);
	kp_duty_next(&duty, 0);
	next_ns = kp_duty_next(&duty, late_ns);
	assert_in_range(next_ns, late_ns, late_ns + duty.period_ns);
	assert_true(kp_duty_next(&duty, next_ns + duty.window_ns) > next_ns + duty.window_ns);
}

/* A window waits for a call that waits, and no longer than it lasts itself. */
static void test_duty_waits_as_long_at_both_ends(void **state)
{
	struct kp_duty duty;

	(void)state;
	assert_false(kp_duty_may(1000, 999, true));
	assert_true(kp_duty_may(1000, 1000, true));
	assert_false(kp_duty_may(1000, 1000 + KP_DUTY_PATIENCE_NS - 1, false));
	assert_true(kp_duty_may(1000, 1000 + KP_DUTY_PATIENCE_NS, false));
	kp_duty_init(&duty, 0.5, 3, 0);
	for (int i = 0; i < 10; i++) {
		kp_duty_next(&duty, 0);
		assert_true(duty.window_ns >= KP_DUTY_PATIENCE_NS);
		kp_duty_measured(&duty, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duty_waits_as_long_at_both_ends),
		cmocka_unit_test(test_duty_records_its_share),
		cmocka_unit_test(test_duty_keeps_the_budget_of_switching),
		cmocka_unit_test(test_duty_does_not_keep_step),
		cmocka_unit_test(test_duty_begins_anew_after_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
