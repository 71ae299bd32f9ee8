/*
 * The plan: its sums by hand, cards of small traces, what it refuses; and ids of rows. Figures of
 * docs/plan.md are recomputed in tests/launcher/test_plan.py.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/ids.h"
#include "analyzers/plan.h"
#include "tests/unit/report_trace.h"

#define GEMM "ampere_sgemm_128x64_tn"
#define SOFTMAX "softmax_kernel"

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected))))
		fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- sums ---- */

static void test_plan_amdahl(void **state)
{
	(void)state;
	assert_near(kp_plan_amdahl(0.45, 3), 1 / 0.7);
	assert_near(kp_plan_amdahl(0.45, INFINITY), 1 / 0.55);
	assert_near(kp_plan_amdahl(1, 3), 3);
	assert_true(isinf(kp_plan_amdahl(1, INFINITY)));
	assert_near(kp_plan_amdahl(0, INFINITY), 1);
	assert_near(kp_plan_inverse_amdahl(0.45, 1 / 0.7), 3);
	assert_true(isinf(kp_plan_inverse_amdahl(0.45, 1 / 0.55 + 1e-9)));
	for (int i = 1; i < 20; i++) {
		for (int k = 10; k < 200; k += 7)
			assert_near(kp_plan_inverse_amdahl(i / 20.0,
							   kp_plan_amdahl(i / 20.0, k / 10.0)),
				    k / 10.0);
	}
}

/* A third of 10,000 GPUs is 3,334; rounding of doubles adds none. */
static void test_plan_gpus_are_whole(void **state)
{
	(void)state;
	assert_near(kp_plan_gpus_needed(10000, 3), 3334);
	assert_near(kp_plan_gpus_needed(10000, kp_plan_amdahl(0.45, 3)), 7000);
	assert_near(kp_plan_gpus_needed(3, 1), 3);
	assert_near(kp_plan_gpus_needed(1, 100), 1);
	assert_near(kp_plan_gpus_needed(8, INFINITY), 1);
	for (int n = 1; n < 3000; n++)
		assert_near(kp_plan_gpus_needed(n, 1), n);
}

static const struct kp_plan_fleet priced = {
	.gpus = 100,
	.gpu_price = 30000,
	.gpu_hour = 2,
	.hours_per_year = 8760,
	.gpu_watts = 500,
	.kwh_price = 0.2,
	.units_per_s = {[KP_PLAN_UNIT_TOKENS] = 36000},
};

static void test_plan_money(void **state)
{
	static const double none[KP_PLAN_UNIT_COUNT];
	struct kp_plan_now now = kp_plan_now(&priced, none);
	struct kp_plan_outcome outcome = kp_plan_outcome(&priced, &now, 1.25, 70000);

	(void)state;
	assert_near(now.units_per_s_per_gpu[KP_PLAN_UNIT_TOKENS], 360);
	/* 2 and half a kilowatt at 0.2 an hour, in which 1.296 million tokens are made. */
	assert_near(now.cost_per_million[KP_PLAN_UNIT_TOKENS], 2.1 / 1.296);
	assert_true(isnan(now.units_per_s_per_gpu[KP_PLAN_UNIT_REQUESTS]));
	assert_true(isnan(now.cost_per_million[KP_PLAN_UNIT_REQUESTS]));
	assert_near(outcome.saved_pct, 20);
	assert_near(outcome.gpus_needed, 80);
	assert_near(outcome.purchase_saved, 600000);
	assert_near(outcome.running_saved_per_year, 20 * 2.1 * 8760);
	assert_near(outcome.break_even_weeks, 70000 / (20 * 2.1 * 8760) * 365 / 7);
	/* Three GPUs pay 70,000; of 15 a fifth is three. */
	assert_near(outcome.break_even_gpus, 15);
	assert_near(outcome.units_per_s_per_gpu[KP_PLAN_UNIT_TOKENS], 450);
	assert_near(outcome.cost_per_million[KP_PLAN_UNIT_TOKENS], 2.1 / 1.62);
}

/* What was not given is not told, and no gain never pays. */
static void test_plan_money_unknown(void **state)
{
	static const struct kp_plan_fleet bare = {.hours_per_year = 8760};
	static const double none[KP_PLAN_UNIT_COUNT];
	struct kp_plan_now now = kp_plan_now(&bare, none);
	struct kp_plan_outcome outcome = kp_plan_outcome(&bare, &now, 2, NAN);

	(void)state;
	assert_near(outcome.saved_pct, 50);
	assert_true(isnan(outcome.gpus_needed) && isnan(outcome.gpus_saved));
	assert_true(isnan(outcome.purchase_saved) && isnan(outcome.running_saved_per_year));
	assert_true(isnan(outcome.break_even_weeks) && isnan(outcome.break_even_gpus));
	now = kp_plan_now(&priced, none);
	outcome = kp_plan_outcome(&priced, &now, 1, 70000);
	assert_near(outcome.gpus_saved, 0);
	assert_near(outcome.running_saved_per_year, 0);
	assert_true(isnan(outcome.break_even_weeks) && isnan(outcome.break_even_gpus));
}

/* The fleet that is named is the smallest that pays, by trying all. */
static void test_plan_break_even_fleet(void **state)
{
	static const double none[KP_PLAN_UNIT_COUNT];
	struct kp_plan_fleet fleet = {.gpus = 1, .gpu_price = 10, .hours_per_year = 8760};
	struct kp_plan_now now = kp_plan_now(&fleet, none);

	(void)state;
	for (int i = 103; i < 400; i += 11) {
		for (int effort = 1; effort < 100; effort += 13) {
			double speedup = i / 100.0;
			double said =
				kp_plan_outcome(&fleet, &now, speedup, effort).break_even_gpus;
			double gpus = 1;
			while ((gpus - kp_plan_gpus_needed(gpus, speedup)) * 10 < effort)
				gpus++;
			assert_near(said, gpus);
		}
	}
}

/* ---- cards ---- */

/* 1000 ns: gemm for 400 alone, 100 with softmax beside, softmax for 100 alone, idle from 600. */
static struct ranked rank_overlap(void)
{
	struct trace_file file;
	uint32_t gemm, softmax;

	trace_file_begin(&file, 1);
	gemm = trace_file_config(&file, GEMM, 0, 1);
	softmax = trace_file_config(&file, SOFTMAX, 0, 2);
	launch(&file, gemm, 0, 500);
	launch(&file, softmax, 400, 600);
	launch(&file, softmax, 990, 1000);
	return rank_files(&file, 1, true);
}

static struct kp_plan_inputs inputs_of(const struct kp_plan_wish *wishes, size_t count)
{
	return (struct kp_plan_inputs){.wishes = wishes,
				       .wish_count = count,
				       .realistic_pct = 80,
				       .fleet = {.hours_per_year = 8760},
				       .units_per_range = 1};
}

static const struct kp_plan_card *card_of(const struct kp_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->card_count; i++) {
		if (strcmp(plan->cards[i].name, name) == 0)
			return &plan->cards[i];
	}
	fail_msg("no card of %s", name);
	return NULL;
}

/* Exclusive time ÷ span: not the share of kernel time, which is 70 %. */
static void test_plan_shares_are_of_wall_time(void **state)
{
	const struct kp_plan_wish wish = {.name = "gemm", .target = 4};
	struct kp_plan_inputs inputs = inputs_of(&wish, 1);
	struct ranked ranked = rank_overlap();
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *plan;

	(void)state;
	assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
	const struct kp_plan_card *card = card_of(plan, "gemm");
	assert_near(card->share_pct, 40);
	assert_true(isnan(card->limit) && card->goal == KP_PLAN_GOAL_TARGET);
	assert_near(card->outcomes[KP_PLAN_GOAL].speedup, 1 / 0.7);
	assert_near(card->outcomes[KP_PLAN_REALISTIC].operator_speedup, 3.4);
	assert_near(card->outcomes[KP_PLAN_REALISTIC].speedup, 1 / (0.6 + 0.4 / 3.4));
	assert_near(card->outcomes[KP_PLAN_BOUND].speedup, 1 / 0.6);
	assert_false(card->has[KP_PLAN_LIMIT]);
	assert_near(plan->busy_pct, 61);
	assert_int_equal(plan->together_count, 1);
	kp_plan_destroy(plan);
	ranked_end(&ranked);
}

/* Without a goal there is the bound, and nothing else. */
static void test_plan_without_goal(void **state)
{
	struct kp_plan_inputs inputs = inputs_of(NULL, 0);
	struct ranked ranked = rank_overlap();
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *plan;

	(void)state;
	assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
	const struct kp_plan_card *card = card_of(plan, "gemm");
	assert_true(card->goal == KP_PLAN_NO_GOAL);
	assert_true(card->has[KP_PLAN_BOUND]);
	assert_false(card->has[KP_PLAN_GOAL] || card->has[KP_PLAN_REALISTIC] ||
		     card->has[KP_PLAN_LIMIT]);
	assert_int_equal(plan->together_count, 0);
	kp_plan_destroy(plan);
	ranked_end(&ranked);
}

static void test_plan_together(void **state)
{
	const struct kp_plan_wish wishes[] = {{.name = "all", .target = 9},
					      {.name = "gemm", .target = 2},
					      {.name = "softmax", .whole_target = 1.1}};
	struct kp_plan_inputs inputs = inputs_of(wishes, 3);
	struct ranked ranked = rank_overlap();
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *plan;

	(void)state;
	assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
	assert_null(plan->cards[0].row);
	assert_near(plan->cards[0].outcomes[KP_PLAN_GOAL].speedup, 9);
	const struct kp_plan_card *softmax = card_of(plan, "softmax");
	assert_near(softmax->share_pct, 11);
	assert_near(softmax->outcomes[KP_PLAN_GOAL].speedup, 1.1);
	/* The whole is no operator: it is not among those that are added up. */
	assert_int_equal(plan->together_count, 2);
	assert_near(plan->together_goal.speedup, 1 / (1 - 0.2 - (1 - 1 / 1.1)));
	kp_plan_destroy(plan);
	ranked_end(&ranked);
}

/* ---- refusals ---- */

static void refuse(const struct kp_report *report, const struct kp_plan_inputs *inputs,
		   const char *part)
{
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *plan;

	assert_int_equal(kp_plan_build(report, inputs, &plan, error), KP_INVALID);
	assert_null(plan);
	if (!strstr(error, part))
		fail_msg("«%s» says nothing of «%s»", error, part);
}

static void test_plan_refuses_wishes(void **state)
{
	static const struct {
		struct kp_plan_wish wish;
		const char *part;
	} rows[] = {
		{{.name = "gemm", .target = 0.5}, "slower"},
		{{.name = "gemm", .target = -3}, "1 or more"},
		{{.name = "gemm", .target = NAN}, "1 or more"},
		{{.name = "gemm", .target = INFINITY}, "1 or more"},
		{{.name = "gemm", .whole_target = 0.9}, "at least as fast"},
		{{.name = "gemm", .whole_target = 1 / 0.6}, "1.67 times"},
		{{.name = "gemm", .whole_target = 5}, "40.0 %"},
		{{.name = "gemm", .target = 2, .whole_target = 1.1}, "one of the whole"},
		{{.name = "gemm", .share_pct = 101}, "at most 100 %"},
		{{.name = "gemm", .share_pct = -1}, "at most 100 %"},
		{{.name = "gemm", .share_pct = NAN}, "at most 100 %"},
		{{.name = "gemm", .fewer_bytes = 0.5}, "times fewer"},
		{{.name = "gemm", .fewer_bytes = 2}, "nothing is known"},
		{{.name = "gemm", .engineer_weeks = NAN}, "engineer-weeks"},
		{{.name = "attention", .target = 2}, "it has gemm, softmax"},
		{{.name = "all", .target = 2, .share_pct = 50}, "100 %"},
		{{.name = "gemm", .target = 5e1 * 1.01}, "as short as an empty kernel"},
		{{.name = "gemm", .target = 1.01e2, .fewer_launches = 1}, "--fewer-launches"},
		{{.name = "gemm", .fewer_launches = 0.5}, "times fewer"},
		{{.name = "gemm", .fewer_launches = NAN}, "times fewer"},
		{{.name = "gemm", .fewer_launches = 2}, "1 launches"},
		{{.name = "all", .target = 100}, "the whole: 100.00 times"},
	};
	struct ranked ranked = rank_overlap();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kp_plan_inputs inputs = inputs_of(&rows[i].wish, 1);
		refuse(ranked.report, &inputs, rows[i].part);
	}
	ranked_end(&ranked);
}

static void test_plan_refuses_fleets(void **state)
{
	static const struct {
		struct kp_plan_fleet fleet;
		const char *part;
	} rows[] = {
		{{.gpus = -1}, "GPUs"},
		{{.gpus = NAN}, "GPUs"},
		{{.gpus = 2.5}, "whole number"},
		{{.gpu_price = -1}, "price"},
		{{.gpu_hour = INFINITY}, "price"},
		{{.units_per_s = {5}}, "of how many GPUs"},
		{{.engineer_week = 5000}, "engineer-weeks"},
		{{.kwh_price = 0.2}, "power"},
		{{.gpu_watts = 500}, "power"},
	};
	struct ranked ranked = rank_overlap();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kp_plan_inputs inputs = inputs_of(NULL, 0);
		inputs.fleet = rows[i].fleet;
		inputs.fleet.hours_per_year = 8760;
		refuse(ranked.report, &inputs, rows[i].part);
	}
	struct kp_plan_inputs inputs = inputs_of(NULL, 0);
	inputs.fleet.hours_per_year = 9000;
	refuse(ranked.report, &inputs, "8,760");
	inputs = inputs_of(NULL, 0);
	inputs.realistic_pct = 120;
	refuse(ranked.report, &inputs, "realistic");
	inputs = inputs_of(NULL, 0);
	inputs.unit_range = "token";
	refuse(ranked.report, &inputs, "no NVTX range");
	ranked_end(&ranked);
}

static void test_plan_refuses_empty_traces(void **state)
{
	struct kp_plan_inputs inputs = inputs_of(NULL, 0);
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	ranked = rank_files(&file, 1, true);
	refuse(ranked.report, &inputs, "nothing to plan by");
	ranked_end(&ranked);
}

/* ---- limits ---- */

static struct ranked rank_recorded(const char *name)
{
	const struct kp_report_options options = {
		.threshold_pct = 0, .busy_shares = true, .timeline = true};
	char path[512];
	const char *paths[] = {path};
	struct ranked ranked;
	size_t bad;

	snprintf(path, sizeof(path), "%s/%s.kprof", RECORDED, name);
	assert_int_equal(kp_reader_open(paths, 1, &ranked.reader, &bad), KP_OK);
	assert_int_equal(kp_report_build(ranked.reader, &options, &ranked.report), KP_OK);
	return ranked;
}

/* Counters give a limit; beyond it is physics, unless fewer bytes are moved. */
static void test_plan_limits(void **state)
{
	struct ranked ranked = rank_recorded("traffic_alternating");
	struct kp_plan_inputs inputs = inputs_of(NULL, 0);
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *plan;

	(void)state;
	assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
	const struct kp_plan_card *card = &plan->cards[0];
	double limit = card->limit, ceiling = card->ceiling;
	const char *name = card->name;
	assert_near(limit, card->row->traffic.headroom);
	assert_true(card->limited_by == KP_BOUND_MEMORY && card->goal == KP_PLAN_GOAL_LIMIT);
	assert_true(limit <= ceiling && ceiling < 1.1 * limit);
	assert_near(card->outcomes[KP_PLAN_LIMIT].speedup,
		    kp_plan_amdahl(card->share_pct / 100, limit));
	/* 80 % of a limit this near is slower than now: no gain is the least. */
	assert_near(card->outcomes[KP_PLAN_REALISTIC].operator_speedup, fmax(1, 0.8 * limit));
	kp_plan_destroy(plan);

	struct kp_plan_wish wish = {.name = name, .target = 1.5 * ceiling};
	inputs = inputs_of(&wish, 1);
	refuse(ranked.report, &inputs, "beyond physics");
	wish.fewer_bytes = 2;
	assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
	assert_near(card_of(plan, name)->limit, 2 * limit);
	kp_plan_destroy(plan);
	wish.target = 2.5 * ceiling;
	refuse(ranked.report, &inputs, "fewer bytes");
	ranked_end(&ranked);
}

/* A target may quote a ceiling as it is printed, with two decimals; the goal is then the ceiling.
 */
static void test_plan_quotes_the_ceiling(void **state)
{
	struct ranked ranked = rank_recorded("traffic_alternating");
	struct kp_plan_inputs inputs = inputs_of(NULL, 0);
	char error[KP_PLAN_ERROR_BYTES];
	struct kp_plan *plan;

	(void)state;
	assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
	double ceiling = plan->cards[0].ceiling, share = plan->cards[0].share_pct / 100;
	const char *name = plan->cards[0].name;
	struct kp_plan_wish target = {.name = name, .target = ceiling + 0.004};
	struct kp_plan_wish whole = {.name = name,
				     .whole_target = kp_plan_amdahl(share, ceiling) + 0.004};
	kp_plan_destroy(plan);

	const struct kp_plan_wish *quotes[] = {&target, &whole};
	for (size_t i = 0; i < 2; i++) {
		inputs = inputs_of(quotes[i], 1);
		assert_int_equal(kp_plan_build(ranked.report, &inputs, &plan, error), KP_OK);
		assert_near(card_of(plan, name)->outcomes[KP_PLAN_GOAL].operator_speedup, ceiling);
		kp_plan_destroy(plan);
	}
	target.target = ceiling + 0.006;
	inputs = inputs_of(&target, 1);
	refuse(ranked.report, &inputs, "beyond physics");
	whole.whole_target += 0.002;
	inputs = inputs_of(&whole, 1);
	refuse(ranked.report, &inputs, "beyond physics");
	ranked_end(&ranked);
}

/* ---- ids ---- */

/* The same kernel has one id in any trace; other kernels have others. */
static void test_plan_ids_are_stable(void **state)
{
	struct ranked first = rank_overlap(), second;
	struct trace_file file;

	(void)state;
	trace_file_begin(&file, 7);
	launch(&file, trace_file_config(&file, "other", 0, 1), 0, 9000);
	launch(&file, trace_file_config(&file, GEMM, 0, 1), 10000, 10001);
	second = rank_files(&file, 1, false);
	struct kp_id id = kp_id_of_kernel(find_kernel(first.report, GEMM));
	assert_string_equal(id.text, kp_id_of_kernel(find_kernel(second.report, GEMM)).text);
	assert_string_not_equal(id.text, kp_id_of_kernel(find_kernel(first.report, SOFTMAX)).text);
	/* Whatever else changes, this does not: reports of other versions are compared by it. */
	assert_string_equal(id.text, "k-e648e239a31ae147");
	assert_string_equal(kp_id_of_operator(&first.report->operators[0]), "gemm");
	ranked_end(&first);
	ranked_end(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_amdahl),
		cmocka_unit_test(test_plan_gpus_are_whole),
		cmocka_unit_test(test_plan_money),
		cmocka_unit_test(test_plan_money_unknown),
		cmocka_unit_test(test_plan_break_even_fleet),
		cmocka_unit_test(test_plan_shares_are_of_wall_time),
		cmocka_unit_test(test_plan_without_goal),
		cmocka_unit_test(test_plan_together),
		cmocka_unit_test(test_plan_refuses_wishes),
		cmocka_unit_test(test_plan_refuses_fleets),
		cmocka_unit_test(test_plan_refuses_empty_traces),
		cmocka_unit_test(test_plan_limits),
		cmocka_unit_test(test_plan_quotes_the_ceiling),
		cmocka_unit_test(test_plan_ids_are_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
