/* Verdicts: each, and each doubt, by figures that are just beyond its limit; and Amdahl. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/ab_verdict.h"

static struct kp_ab_estimate estimate(double change, double half)
{
	return (struct kp_ab_estimate){.known = true,
				       .pairs = 100,
				       .median_us = {100, 100 * (1 + change / 100)},
				       .change_pct = change,
				       .low_pct = change - half,
				       .high_pct = change + half};
}

static void expect(const struct kp_ab_estimate *estimate, const struct kp_ab_circumstances *how,
		   enum kp_ab_verdict_id id, enum kp_ab_doubt doubt)
{
	struct kp_ab_verdict verdict = kp_ab_verdict(estimate, how);

	assert_string_equal(kp_ab_verdict_name(verdict.id), kp_ab_verdict_name(id));
	assert_string_equal(kp_ab_doubt_key(verdict.doubt), kp_ab_doubt_key(doubt));
}

static void test_ab_verdict_follows_the_interval(void **unused)
{
	const struct kp_ab_circumstances how = KP_AB_UNKNOWN(KP_AB_MARGIN_PCT);
	const struct {
		double change, half;
		enum kp_ab_verdict_id id;
		enum kp_ab_doubt doubt;
	} rows[] = {
		{-20, 5, KP_AB_VERDICT_FASTER, KP_AB_DOUBT_NOTHING},
		{3, 2, KP_AB_VERDICT_SLOWER, KP_AB_DOUBT_NOTHING},
		{0.2, 0.5, KP_AB_VERDICT_NO_DIFFERENCE, KP_AB_DOUBT_NOTHING},
		{-0.5, 0.1, KP_AB_VERDICT_NO_DIFFERENCE, KP_AB_DOUBT_NOTHING},
		{-1.5, 0.6, KP_AB_VERDICT_FASTER, KP_AB_DOUBT_NOTHING},
		{0.2, 1.0, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_WIDE},
		{-20, 21, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_WIDE},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kp_ab_estimate of = estimate(rows[i].change, rows[i].half);

		expect(&of, &how, rows[i].id, rows[i].doubt);
	}
	assert_true(fabs(kp_ab_verdict(&(struct kp_ab_estimate){.known = true,
								.low_pct = -0.3,
								.high_pct = 0.7},
				       &how)
				 .excluded_pct -
			 0.7) < 1e-12);
}

static void test_ab_verdict_doubts_what_circumstances_speak_against(void **unused)
{
	struct kp_ab_circumstances how = KP_AB_UNKNOWN(KP_AB_MARGIN_PCT);
	struct kp_ab_estimate of = estimate(-20, 2);

	(void)unused;
	how.floor_us = 83; /* the candidate took 80 */
	expect(&of, &how, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_CEILING);
	how.floor_us = 81; /* within the error of clocks and ceilings */
	expect(&of, &how, KP_AB_VERDICT_FASTER, KP_AB_DOUBT_NOTHING);
	how.sm_mhz[0] = 1980;
	how.sm_mhz[1] = 1900;
	expect(&of, &how, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_CLOCKS);
	how.sm_mhz[1] = 1960;
	how.throttled_pct[0] = 5;
	how.throttled_pct[1] = 16;
	expect(&of, &how, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_THROTTLED);
	how.throttled_pct[0] = 15; /* both alike: they were timed in turn */
	expect(&of, &how, KP_AB_VERDICT_FASTER, KP_AB_DOUBT_NOTHING);
	assert_true(kp_ab_verdict(&of, &how).throttled);
	of.unsteady = 6;
	of.unsteady_pct = 5;
	expect(&of, &how, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_UNSTEADY);
	of.unsteady_pct = 0.5;
	expect(&of, &how, KP_AB_VERDICT_FASTER, KP_AB_DOUBT_NOTHING);
	of.known = false;
	expect(&of, &how, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_FEW);
	assert_true(isnan(kp_ab_verdict(&of, &how).excluded_pct));
	how.host_bound = true;
	expect(&of, &how, KP_AB_VERDICT_INCONCLUSIVE, KP_AB_DOUBT_HOST);
	of.known = true; /* what is left is enough */
	expect(&of, &how, KP_AB_VERDICT_FASTER, KP_AB_DOUBT_NOTHING);
	how.wrong = true;
	expect(&of, &how, KP_AB_VERDICT_WRONG, KP_AB_DOUBT_NOTHING);
}

static void test_ab_verdict_predicts_by_shares(void **unused)
{
	const struct kp_ab_part parts[] = {{40, -50, -53, -47}, {10, 20, 16, 24}};
	struct kp_ab_change change = kp_ab_predict(parts, 2);

	(void)unused;
	assert_true(fabs(change.change_pct + 18) < 1e-12);
	assert_true(fabs(change.high_pct - change.change_pct - hypot(1.2, 0.4)) < 1e-12);
	assert_true(fabs(change.low_pct - change.change_pct + hypot(1.2, 0.4)) < 1e-12);
	assert_true(fabs(kp_ab_speedup(-20) - 1.25) < 1e-12);
	change = kp_ab_predict(parts, 0);
	assert_true(change.change_pct == 0 && change.low_pct == 0 && change.high_pct == 0);
}

static void test_ab_verdict_compares_prediction_and_measurement(void **unused)
{
	const struct kp_ab_change measured = {-20, -21, -19};
	const struct {
		struct kp_ab_change predicted;
		enum kp_ab_agreement agreement;
	} rows[] = {
		{{-21.9, -22, -21.8}, KP_AB_AGREEMENT_AGREES},
		{{-18.1, -18.2, -18}, KP_AB_AGREEMENT_AGREES},
		{{-22.9, -23, -22}, KP_AB_AGREEMENT_UNCERTAIN},
		{{-24, -25, -23.9}, KP_AB_AGREEMENT_DISAGREES},
		{{-16, -16.1, -15}, KP_AB_AGREEMENT_DISAGREES},
		{{-10, -30, 10}, KP_AB_AGREEMENT_UNCERTAIN},
		{{5, 4, 6}, KP_AB_AGREEMENT_DISAGREES},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(
			kp_ab_agreement_key(kp_ab_compare(&rows[i].predicted, &measured)),
			kp_ab_agreement_key(rows[i].agreement));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_verdict_follows_the_interval),
		cmocka_unit_test(test_ab_verdict_doubts_what_circumstances_speak_against),
		cmocka_unit_test(test_ab_verdict_predicts_by_shares),
		cmocka_unit_test(test_ab_verdict_compares_prediction_and_measurement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
