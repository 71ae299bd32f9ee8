/* What the null controls of kprof ab must show: a fault that is missed is never called good. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profiler/self_test.h"

static struct kp_self_test sound(void)
{
	struct kp_self_test test = {.rounds = 5,
				    .timed = true,
				    .same = 20,
				    .same_claims = 1,
				    .detectable_pct = 0.3,
				    .shortest_us = 150};

	for (int i = 0; i < KP_CONTROL_TIMED; i++)
		test.faults[i] = (struct kp_self_fault){.runs = 10, .caught = 10};
	test.faults[KP_CONTROL_OTHER_ORDER] = (struct kp_self_fault){.runs = 10, .shown = 10};
	for (int i = 0; i < KP_SELF_DELAY_COUNT; i++)
		test.delays[i] = (struct kp_self_delay){.runs = 5, .due = 5, .seen = 5};
	return test;
}

/* P(more than 18 of 200) = 0.65 %, of 17: 1.4 %, where one of 20 claims a difference by chance. */
static void test_self_test_knows_what_chance_allows(void **unused)
{
	(void)unused;
	assert_int_equal(kp_self_test_claims_most(200), 18);
	assert_int_equal(kp_self_test_claims_most(20), 4);
	assert_int_equal(kp_self_test_claims_most(1), 1);
	assert_int_equal(kp_self_test_claims_most(0), 0);
}

static void test_self_test_passes_only_what_holds(void **unused)
{
	struct kp_self_test test = sound();

	(void)unused;
	assert_true(kp_self_test_passed(&test));
	test.faults[KP_CONTROL_HALF_SUMS].caught = 9;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.faults[KP_CONTROL_ZEROS].shown = 1;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.faults[KP_CONTROL_OTHER_ORDER].caught = 1;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.faults[KP_CONTROL_OTHER_ORDER].shown = 9;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.spoilt = true;
	assert_false(kp_self_test_passed(&test));
}

static void test_self_test_judges_times(void **unused)
{
	struct kp_self_test test = sound();

	(void)unused;
	test.same_claims = 5;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.delays[KP_SELF_DELAY_ONE].due = test.delays[KP_SELF_DELAY_ONE].seen = 0;
	assert_true(kp_self_test_passed(&test)); /* too short to be detectable here */
	test.delays[KP_SELF_DELAY_FIVE].due = test.delays[KP_SELF_DELAY_FIVE].seen = 0;
	assert_false(kp_self_test_passed(&test)); /* times so wide that nothing is seen */
	test = sound();
	test.delays[KP_SELF_DELAY_TWICE].seen = 4;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.shortest_us = 90;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.unknown = 1;
	assert_false(kp_self_test_passed(&test));
	test = sound();
	test.timed = false;
	test.same = 0;
	test.shortest_us = NAN;
	assert_true(kp_self_test_passed(&test)); /* results alone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self_test_knows_what_chance_allows),
		cmocka_unit_test(test_self_test_passes_only_what_holds),
		cmocka_unit_test(test_self_test_judges_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
