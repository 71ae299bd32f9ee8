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
		cmocka_unit_test(test_estimate_quantiles),
		cmocka_unit_test(test_estimate_survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
