/*
 * Reports of traces that were recorded in windows: what was looked at, estimates and their
 * intervals, and when there are none.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/estimate.h"
#include "inject/duty.h"
#include "tests/unit/report_trace.h"

#define SEEDS 200
#define SLOTS 2000 /* of a run, of SLOT_NS each */
#define SLOT_NS 1000000ULL
#define WINDOW_SLOTS 1
#define STRATUM 50 /* slots: --duty 2% */

static void window(struct trace_file *file, uint64_t number, uint64_t begin_ns, uint64_t end_ns,
		   enum kp_window_reason reason)
{
	struct kp_window_info window = {0};

	KP_SET(&window, WINDOW, number, number);
	KP_SET(&window, WINDOW, begin_ns, BASE_NS + begin_ns);
	KP_SET(&window, WINDOW, end_ns, BASE_NS + end_ns);
	KP_SET(&window, WINDOW, begin_reason, reason);
	if (kp_writer_window(file->writer, &window) != KP_OK)
		abort();
}

static void counts(struct trace_file *file, uint64_t issued, uint64_t out_of_window,
		   uint64_t unsampled_ns)
{
	struct kp_counts counts = {0};

	KP_SET(&counts, COUNTS, kernels_issued, issued);
	KP_SET(&counts, COUNTS, kernels_recorded, issued - out_of_window);
	KP_SET(&counts, COUNTS, kernels_out_of_window, out_of_window);
	if (unsampled_ns) {
		KP_SET(&counts, COUNTS, kernels_unsampled, out_of_window);
		KP_SET(&counts, COUNTS, unsampled_ns, unsampled_ns);
	}
	if (kp_writer_counts(file->writer, &counts) != KP_OK)
		abort();
}

/* Time between windows is neither busy nor idle. */
static void test_report_windows_are_the_span(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	trace_file_begin(&file, 1);
	config = trace_file_config(&file, "k", 0, 1);
	window(&file, 0, 0, 1000, KP_WINDOW_BY_RANGE);
	launch(&file, config, 100, 900); /* in the window */
	window(&file, 1, 1000000, 1000100, KP_WINDOW_BY_RANGE);
	launch(&file, config, 1000050, 1000150); /* begins in it, ends behind it */
	launch(&file, config, 1000150, 1000450);
	counts(&file, 10, 7, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->busy_ns, 1200);
	assert_int_equal(ranked.report->span_ns, 1000 + 400);
	assert_int_equal(ranked.report->windows.count, 2);
	assert_false(ranked.report->windows.sampled);
	assert_false(ranked.report->windows.scaled);
	assert_true(ranked.report->windows.reasons == 1ULL << KP_WINDOW_BY_RANGE);
	assert_int_equal(ranked.report->counts.out_of_window, 7);
	assert_true(ranked.report->kernels[0].estimate.total_ns == 0);
	ranked_end(&ranked);
}

/* The formula, by hand: three windows of 4, 2 and 4 launches, 30 in the whole run. */
static void test_report_windows_scale_up(void **state)
{
	static const unsigned launches[] = {4, 2, 4}, of_a[] = {3, 1, 2};
	struct trace_file file;
	struct ranked ranked;
	const struct kp_kernel_row *a;
	uint32_t config_a, config_b;

	(void)state;
	trace_file_begin(&file, 1);
	config_a = trace_file_config(&file, "a", 0, 1);
	config_b = trace_file_config(&file, "b", 0, 1);
	for (uint64_t i = 0; i < 3; i++) {
		window(&file, i, 1000000 * i, 1000000 * i + 1000, KP_WINDOW_BY_DUTY);
		for (unsigned k = 0; k < launches[i]; k++)
			launch(&file, k < of_a[i] ? config_a : config_b, 1000000 * i + 100 * k,
			       1000000 * i + 100 * k + 10);
	}
	counts(&file, 30, 20, 2997000);
	ranked = rank_files(&file, 1, true);
	a = find_kernel(ranked.report, "a");
	assert_true(ranked.report->windows.scaled);
	assert_int_equal(a->durations.total_ns, 60); /* what was recorded stays */
	assert_true(fabs(a->estimate.total_ns - 180) < 1e-9);
	assert_true(fabs(a->estimate.calls - 18) < 1e-9);
	/* R = 0.6; residuals 0.6, -0.2, -0.4; s² = 0.28; V = 900 · 2/3 · 3 · 0.28 / 100 */
	assert_true(fabs(a->estimate.calls_ci95 - 4.3027 * sqrt(5.04)) < 1e-3);
	assert_true(fabs(a->estimate.total_ci95_ns - 43.027 * sqrt(5.04)) < 1e-2);
	assert_true(fabs(a->estimate.total_by_time_ns - 60 * 3000000.0 / 3000) < 1e-6);
	assert_true(fabs(ranked.report->windows.kernel_time.total_ns - 300) < 1e-9);
	assert_true(ranked.report->windows.kernel_time.total_ci95_ns < 1e-6); /* all alike */
	assert_int_equal(ranked.report->operator_count, 1);
	assert_true(fabs(ranked.report->operators[0].estimate.calls - 30) < 1e-9);
	assert_int_equal(ranked.report->span_ns, 3000);
	ranked_end(&ranked);
}

static void test_report_windows_refuse_a_single_one(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	window(&file, 0, 0, 1000, KP_WINDOW_BY_DUTY);
	launch(&file, trace_file_config(&file, "k", 0, 1), 100, 900);
	counts(&file, 50, 49, 1000000);
	ranked = rank_files(&file, 1, true);
	assert_true(ranked.report->windows.sampled);
	assert_false(ranked.report->windows.scaled);
	assert_true(ranked.report->kernels[0].estimate.total_ns == 0);
	ranked_end(&ranked);
}

/* A second process that was recorded throughout adds what it did, exactly. */
static void test_report_windows_add_whole_processes(void **state)
{
	struct trace_file files[2];
	struct ranked ranked;

	(void)state;
	trace_file_begin(&files[0], 1);
	for (uint64_t i = 0; i < 2; i++) {
		window(&files[0], i, 1000 * i, 1000 * i + 100, KP_WINDOW_BY_DUTY);
		launch(&files[0], trace_file_config(&files[0], "k", 0, 1), 1000 * i, 1000 * i + 10);
	}
	counts(&files[0], 20, 18, 1800);
	trace_file_begin(&files[1], 2);
	launch(&files[1], trace_file_config(&files[1], "k", 0, 1), 500, 507);
	ranked = rank_files(files, 2, true);
	assert_true(ranked.report->windows.scaled);
	assert_true(fabs(ranked.report->kernels[0].estimate.total_ns - 207) < 1e-9);
	assert_true(fabs(ranked.report->kernels[0].estimate.calls - 21) < 1e-9);
	ranked_end(&ranked);
}

/* A duty whose run was too short for any window says so. */
static void test_report_windows_may_be_none(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	counts(&file, 50, 50, 1000000);
	ranked = rank_files(&file, 1, true);
	assert_true(ranked.report->windows.any);
	assert_false(ranked.report->windows.scaled);
	assert_non_null(strstr(ranked.report->advice, "windows"));
	ranked_end(&ranked);
}

/* A window that was open when the process was killed holds what was recorded in it. */
static void test_report_windows_open_one(void **state)
{
	struct kp_window_info open = {0};
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	KP_SET(&open, WINDOW, begin_ns, BASE_NS);
	if (kp_writer_window(file.writer, &open) != KP_OK)
		abort();
	launch(&file, trace_file_config(&file, "k", 0, 1), 100, 900);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->windows.count, 1);
	assert_int_equal(ranked.report->span_ns, 800);
	ranked_end(&ranked);
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

/*
 * One synthetic run: every slot has a number of launches that varies, of two kernels, one of which
 * becomes rarer during the run and one whose work comes and goes with a period of its own. Returns
 * whether the truth lies in the interval of the first.
 */
static bool covers(uint64_t seed)
{
	uint64_t random = seed * 0x9e3779b97f4a7c15ULL + 1, issued = 0, inside = 0, number = 0;
	double truth_ns = 0;
	struct trace_file file;
	struct ranked ranked;
	const struct kp_kernel_row *row;
	uint32_t config[2];
	uint64_t chosen = 0;
	bool covered;

	trace_file_begin(&file, 1);
	config[0] = trace_file_config(&file, "first", 0, 1);
	config[1] = trace_file_config(&file, "second", 0, 1);
	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		unsigned launches = 20 + (unsigned)(draw(&random) % 20) + (slot % 37 < 9 ? 30 : 0);

		if (slot % STRATUM == 0)
			chosen = slot + draw(&random) % STRATUM;
		if (slot == chosen)
			window(&file, number++, slot * SLOT_NS, (slot + 1) * SLOT_NS,
			       KP_WINDOW_BY_DUTY);
		for (unsigned k = 0; k < launches; k++) {
			bool first = draw(&random) % SLOTS > slot / 2;
			uint64_t length_ns = 1000 + draw(&random) % (first ? 9000 : 500);
			uint64_t at_ns = slot * SLOT_NS + k * 12000;

			issued++;
			truth_ns += first ? (double)length_ns : 0;
			if (slot != chosen)
				continue;
			inside++;
			launch(&file, config[!first], at_ns, at_ns + length_ns);
		}
	}
	counts(&file, issued, issued - inside, (SLOTS - number) * SLOT_NS);
	ranked = rank_files(&file, 1, false);
	row = find_kernel(ranked.report, "first");
	covered = fabs(row->estimate.total_ns - truth_ns) <= row->estimate.total_ci95_ns;
	assert_true(fabs(row->estimate.total_ns - truth_ns) < 0.2 * truth_ns);
	assert_true(row->estimate.total_ci95_ns < 0.2 * truth_ns);
	ranked_end(&ranked);
	return covered;
}

static void test_report_windows_intervals_cover_the_truth(void **state)
{
	unsigned covered = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		covered += covers(seed);
	print_message("%u of %d seeds covered\n", covered, SEEDS);
	assert_true(covered >= SEEDS * 90 / 100);
}

/* ---- windows that begin and end where the program waits for the GPU ---- */

#define STEPS 20000
#define MS_NS 1000000ULL

/* A kernel that was still running when its window ended stands for nothing. */
static void test_report_windows_leave_out_what_was_cut(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	trace_file_begin(&file, 1);
	config = trace_file_config(&file, "k", 0, 1);
	for (uint64_t i = 0; i < 2; i++) {
		window(&file, i, 1000000 * i, 1000000 * i + 1000, KP_WINDOW_BY_DUTY);
		for (uint64_t k = 0; k < 4; k++)
			launch(&file, config, 1000000 * i + 100 * k, 1000000 * i + 100 * k + 10);
		trace_file_launch(&file, config, BASE_NS + 1000000 * i + 500, 0);
	}
	counts(&file, 100, 90, 1998000);
	ranked = rank_files(&file, 1, true);
	assert_true(fabs(ranked.report->kernels[0].estimate.total_ns - 1000) < 1e-9);
	assert_true(fabs(ranked.report->kernels[0].estimate.calls - 100) < 1e-9);
	ranked_end(&ranked);
}

/* A run: steps one after the other, at the end of each of which the program waits. */
struct steps {
	uint64_t end_ns[STEPS];
	bool first[STEPS]; /* of a request: long, with kernels of its own */
};

/* Requests: a first step of 8 to 60 ms, then 4 to 40 of 2 to 9 ms. */
static void make_steps(struct steps *steps, uint64_t *random)
{
	uint64_t now_ns = 0, left = 0;

	for (int i = 0; i < STEPS; i++) {
		steps->first[i] = left == 0;
		left = left ? left - 1 : 4 + draw(random) % 37;
		now_ns += steps->first[i] ? (8 + draw(random) % 52) * MS_NS
					  : (2 + draw(random) % 7) * MS_NS;
		steps->end_ns[i] = now_ns;
	}
}

/* By what rule windows begin and end. */
enum rule { AT_DOORS, AT_ONCE_AND_AT_A_DOOR };

/* When a window that is due may begin or end: the first waiting call, or after the patience. */
static uint64_t door(const struct steps *steps, uint64_t due_ns)
{
	uint64_t at_ns = due_ns + KP_DUTY_PATIENCE_NS;

	for (int low = 0, high = STEPS - 1; low <= high;) {
		int middle = (low + high) / 2;

		if (kp_duty_may(due_ns, steps->end_ns[middle], true)) {
			at_ns = steps->end_ns[middle] < at_ns ? steps->end_ns[middle] : at_ns;
			high = middle - 1;
		} else {
			low = middle + 1;
		}
	}
	assert_true(kp_duty_may(due_ns, at_ns, at_ns < due_ns + KP_DUTY_PATIENCE_NS));
	return at_ns;
}

/* The kernels of a step, one a millisecond; returns their time, of those of first steps only. */
static double run_step(struct trace_file *file, const uint32_t *config, const struct steps *steps,
		       int i, const uint64_t *seen_ns, uint64_t *random, uint64_t *inside)
{
	uint64_t at_ns = i ? steps->end_ns[i - 1] : 0;
	double first_ns = 0;

	for (; at_ns < steps->end_ns[i]; at_ns += MS_NS) {
		uint64_t length_ns = 100000 + draw(random) % (steps->first[i] ? 800000 : 300000);

		first_ns += steps->first[i] ? (double)length_ns : 0;
		if (at_ns < seen_ns[0] || at_ns >= seen_ns[1])
			continue;
		++*inside;
		launch(file, config[steps->first[i]], at_ns, at_ns + length_ns);
	}
	return first_ns;
}

/* Estimate ÷ truth of the time of first steps; *covered: the truth lies in the interval. */
static double estimated(uint64_t seed, enum rule rule, bool *covered)
{
	static struct steps steps;
	uint64_t random = seed * 0x9e3779b97f4a7c15ULL + 1, issued, inside = 0, number = 0;
	uint64_t now_ns = 0, seen_ns[2] = {0, 0}, inside_ns = 0;
	const uint32_t *config;
	uint32_t configs[2];
	const struct kp_kernel_row *row;
	struct trace_file file;
	struct ranked ranked;
	struct kp_duty duty;
	double truth_ns = 0, got;

	make_steps(&steps, &random);
	trace_file_begin(&file, 1);
	configs[0] = trace_file_config(&file, "later", 0, 1);
	configs[1] = trace_file_config(&file, "first", 0, 1);
	config = configs;
	kp_duty_init(&duty, 0.02, draw(&random), 0);
	for (int i = 0; i < STEPS; i++) {
		while (seen_ns[1] <= (i ? steps.end_ns[i - 1] : 0)) {
			uint64_t due_ns = kp_duty_next(&duty, now_ns);

			seen_ns[0] = rule == AT_DOORS ? door(&steps, due_ns) : due_ns;
			seen_ns[1] = now_ns = door(&steps, due_ns + duty.window_ns);
			if (seen_ns[1] > steps.end_ns[STEPS - 1])
				break;
			window(&file, number++, seen_ns[0], seen_ns[1], KP_WINDOW_BY_DUTY);
			inside_ns += seen_ns[1] - seen_ns[0];
		}
		truth_ns += run_step(&file, config, &steps, i, seen_ns, &random, &inside);
	}
	issued = steps.end_ns[STEPS - 1] / MS_NS;
	counts(&file, issued, issued - inside, steps.end_ns[STEPS - 1] - inside_ns);
	ranked = rank_files(&file, 1, false);
	row = find_kernel(ranked.report, "first");
	*covered = fabs(row->estimate.total_ns - truth_ns) <= row->estimate.total_ci95_ns;
	got = row->estimate.total_ns / truth_ns;
	ranked_end(&ranked);
	return got;
}

/* Whole steps are in windows as often as they are in the run, however long they are. */
static void test_report_windows_of_whole_steps_are_unbiased(void **state)
{
	double mean[2] = {0, 0};
	unsigned covered[2] = {0, 0};

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		for (int rule = 0; rule < 2; rule++) {
			bool holds;

			mean[rule] += estimated(seed, (enum rule)rule, &holds) / SEEDS;
			covered[rule] += holds;
		}
	}
	print_message("at doors: %.4f of the truth, %u of %d covered; else %.4f, %u\n", mean[0],
		      covered[0], SEEDS, mean[1], covered[1]);
	assert_true(covered[0] >= SEEDS * 90 / 100);
	assert_true(fabs(mean[0] - 1) < 0.02);
	assert_true(mean[1] > 1.05); /* this can tell */
}

static void test_estimate_quantiles(void **state)
{
	(void)state;
	assert_true(fabs(kp_student_t975(1) - 12.706) < 0.001);
	assert_true(fabs(kp_student_t975(4) - 2.776) < 0.001);
	assert_true(fabs(kp_student_t975(7) - 2.365) < 0.003);
	assert_true(fabs(kp_student_t975(10) - 2.228) < 0.002);
	assert_true(fabs(kp_student_t975(30) - 2.042) < 0.001);
	assert_true(fabs(kp_student_t975(1e9) - 1.960) < 0.001);
	assert_true(kp_student_t975(0.1) == kp_student_t975(1));
}

/* What hostile traces can say gives numbers, and no division by nothing. */
static void test_estimate_survives_nonsense(void **state)
{
	const struct kp_sample none = {.n = 5}, one = {.n = 1, .x = 3, .xx = 9, .whole_x = 0};
	const struct kp_sample_row row = {.y = 7, .yy = 49, .xy = 21};
	struct kp_estimation sum = {0};

	(void)state;
	kp_estimation_add(&sum, &none, &row);
	kp_estimation_add(&sum, &one, &row);
	assert_true(sum.total == 14);
	assert_true(kp_estimation_ci95(&sum) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_windows_are_the_span),
		cmocka_unit_test(test_report_windows_scale_up),
		cmocka_unit_test(test_report_windows_refuse_a_single_one),
		cmocka_unit_test(test_report_windows_add_whole_processes),
		cmocka_unit_test(test_report_windows_may_be_none),
		cmocka_unit_test(test_report_windows_open_one),
		cmocka_unit_test(test_report_windows_intervals_cover_the_truth),
		cmocka_unit_test(test_report_windows_leave_out_what_was_cut),
		cmocka_unit_test(test_report_windows_of_whole_steps_are_unbiased),
		cmocka_unit_test(test_estimate_quantiles),
		cmocka_unit_test(test_estimate_survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
