/* Reports of traces that lack something or lie, and what the closing sentence makes of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static void says(const struct kp_report *report, const char *part)
{
	if (!strstr(report->advice, part))
		fail_msg("«%s» does not say «%s»", report->advice, part);
}

static void does_not_say(const struct kp_report *report, const char *part)
{
	if (strstr(report->advice, part))
		fail_msg("«%s» says «%s»", report->advice, part);
}

static void test_report_of_an_empty_trace(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->kernel_count, 0);
	assert_int_equal(ranked.report->operator_count, 0);
	assert_int_equal(ranked.report->memop_count, 0);
	assert_int_equal(ranked.report->gpu_count, 0);
	assert_int_equal(ranked.report->process_count, 1);
	assert_int_equal(ranked.report->kernel_ns, 0);
	says(ranked.report, "No kernel ran on a GPU");
	ranked_end(&ranked);
}

/* Case 14: start = end = 0 is «not collected»: counted, no minimum of 0, no span from 1970. */
static void test_report_counts_untimed_kernels(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	const struct kp_kernel_row *row;
	uint32_t config;

	(void)state;
	trace_file_begin(&file, 1);
	config = trace_file_config(&file, "k", 0, 1);
	trace_file_launch(&file, config, 0, 0);
	launch(&file, config, 0, 100);
	trace_file_launch(&file, config, BASE_NS + 50, 0); /* still running when asked */
	ranked = rank_files(&file, 1, true);
	row = &ranked.report->kernels[0];
	assert_int_equal(ranked.report->counts.kernels, 3);
	assert_int_equal(ranked.report->counts.kernels_untimed, 2);
	assert_int_equal(ranked.report->counts.kernels_invalid, 0);
	assert_int_equal(ranked.report->gpus[0].kernels, 3);
	assert_int_equal(row->calls, 3);
	assert_int_equal(row->durations.timed, 1);
	assert_int_equal(row->durations.min_ns, 100);
	assert_int_equal(ranked.report->span_ns, 100);
	assert_int_equal(ranked.report->gpus[0].first_ns, BASE_NS);
	ranked_end(&ranked);
}

/* Case 15: sentinels and reversed times are invalid, are counted, and wrap nothing. */
static void test_report_counts_invalid_kernels(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	trace_file_begin(&file, 1);
	config = trace_file_config(&file, "k", 0, 1);
	trace_file_launch(&file, config, 0x8000000000000000ULL, 0x8000000000000000ULL);
	trace_file_launch(&file, config, BASE_NS, UINT64_MAX);
	trace_file_launch(&file, config, UINT64_MAX, UINT64_MAX);
	trace_file_launch(&file, config, BASE_NS, BASE_NS - 1);
	trace_file_launch(&file, config, 0, BASE_NS);
	trace_file_launch(&file, config, BASE_NS, BASE_NS + KP_DURATION_MAX_NS + 1);
	launch(&file, config, 0, 100);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->counts.kernels, 7);
	assert_int_equal(ranked.report->counts.kernels_invalid, 6);
	assert_int_equal(ranked.report->counts.kernels_timed, 1);
	assert_int_equal(ranked.report->kernel_ns, 100);
	assert_int_equal(ranked.report->busy_ns, 100);
	assert_int_equal(ranked.report->span_ns, 100);
	assert_int_equal(ranked.report->kernels[0].durations.max_ns, 100);
	ranked_end(&ranked);
}

static void test_report_without_any_times(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	trace_file_launch(&file, trace_file_config(&file, "k", 0, 1), 0, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->kernel_count, 1);
	assert_int_equal(ranked.report->kernels[0].calls, 1);
	assert_true(ranked.report->kernels[0].shares.kernel_pct == 0);
	assert_true(ranked.report->kernels[0].shares.busy_pct == 0);
	says(ranked.report, "None of the 1 kernels has usable times");
	ranked_end(&ranked);
}

/*
 * A kernel that runs from the start to the end is delivered behind all others, whose place in time
 * is open until then: of a sound trace all of it may wait.
 */
static void test_report_waits_for_a_kernel_that_lasts(void **state)
{
	enum { LAUNCHES = 200000 };
	uint64_t at_ns = 10, random = 1;
	struct trace_file file;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	trace_file_begin(&file, 1);
	config = trace_file_config(&file, "short", 0, 1);
	for (int i = 0; i < LAUNCHES; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		launch(&file, config, at_ns, at_ns + 100 + (random >> 52));
		at_ns += 5000 + (random >> 40) % 4096; /* no two together, nor alike */
	}
	launch(&file, trace_file_config(&file, "long", 0, 2), 0, at_ns);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->counts.kernels_timed, LAUNCHES + 1);
	assert_int_equal(ranked.report->counts.displaced, 0);
	assert_int_equal(ranked.report->busy_ns, at_ns);
	ranked_end(&ranked);
}

/* Case 39: keyed by mangled name, grouped by what the function is, not by what it is made with. */
static void test_report_keys_kernels_by_mangled_name(void **state)
{
	static const char *const names[] = {
		"_Z5stageI13all_reduce_opEvPf", /* void stage<all_reduce_op>(float*) */
		"_Z5stageI13all_reduce_opEvPd",      "_ZN1a5stageI13all_reduce_opEEvPf",
		"_ZN5stageI13all_reduce_opEvPf",     /* broken: stays as it is */
		"void stage<all_reduce_op>(float*)", /* the same text, demangled by another tool */
	};
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	for (uint64_t i = 0; i < 5; i++)
		launch(&file, trace_file_config(&file, names[i], 0, 1), 10 * i, 10 * i + 5);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->kernel_count, 5);
	assert_int_equal(ranked.report->operator_count, 1);
	assert_string_equal(ranked.report->operators[0].name, "unknown");
	for (size_t i = 0; i < 5; i++) {
		assert_non_null(find_kernel(ranked.report, names[i]));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ranked.report->kernels[i].shortened,
						ranked.report->kernels[j].shortened);
	}
	ranked_end(&ranked);
}

/* Cases 36 and 37, and names that are none. */
static void test_report_keeps_strange_names_apart(void **state)
{
	static const char *const names[] = {"k\xff", "k\xfe", "k\\xff", "", " ", "\"", "a\nb"};
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	for (uint64_t i = 0; i < 7; i++)
		launch(&file, trace_file_config(&file, names[i], 0, 1), 10 * i, 10 * i + 5);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->kernel_count, 7);
	for (size_t i = 0; i < 7; i++) {
		const struct kp_kernel_row *row = find_kernel(ranked.report, names[i]);

		assert_non_null(row);
		for (const char *at = row->full; *at; at++)
			assert_true((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ranked.report->kernels[i].full,
						ranked.report->kernels[j].full);
	}
	ranked_end(&ranked);
}

static void add_counts(struct trace_file *file, uint64_t dropped, uint64_t unwritten)
{
	struct kp_counts counts = {0};

	KP_SET(&counts, COUNTS, records_dropped, dropped);
	KP_SET(&counts, COUNTS, kernels_unwritten, unwritten);
	KP_SET(&counts, COUNTS, records_unknown, 2);
	assert_int_equal(kp_writer_counts(file->writer, &counts), KP_OK);
}

/* Case 9: dropped and unknown are different; either is shown, and one unknown makes all unknown. */
static void test_report_says_what_was_dropped(void **state)
{
	struct trace_file files[2];
	struct kp_end end = {0};
	struct ranked ranked;

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		trace_file_begin(&files[i], 20 + i);
		launch(&files[i], trace_file_config(&files[i], "k", 0, 1), 0, 100);
	}
	add_counts(&files[0], 7, 3);
	KP_SET(&end, END, end_ns, BASE_NS + 1000);
	assert_int_equal(kp_writer_end(files[0].writer, &end), KP_OK);
	ranked = rank_files(files, 2, true);
	assert_int_equal(ranked.report->counts.dropped, 7);
	assert_false(ranked.report->counts.dropped_known);
	assert_int_equal(ranked.report->counts.unwritten, 3);
	assert_int_equal(ranked.report->counts.unknown_records, 2);
	assert_int_equal(ranked.report->counts.processes_unfinished, 1);
	says(ranked.report,
	     "7 records were dropped; 3 could not be written: the ranking is incomplete");
	ranked_end(&ranked);

	trace_file_begin(&files[0], 30);
	launch(&files[0], trace_file_config(&files[0], "k", 0, 1), 0, 100);
	add_counts(&files[0], 0, 0);
	ranked = rank_files(files, 1, true);
	assert_true(ranked.report->counts.dropped_known);
	assert_int_equal(ranked.report->counts.dropped, 0);
	does_not_say(ranked.report, "incomplete");
	ranked_end(&ranked);
}

/* One operator with a share of the kernel time, in a span that is busy or not. */
static struct ranked rank_shares(uint64_t attention_ns, uint64_t rest_ns, uint64_t idle_ns,
				 bool busy_shares)
{
	struct trace_file file;
	uint64_t at = attention_ns;

	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "flash_attention_kernel", 0, 1), 0, at);
	launch(&file, trace_file_config(&file, "gemm_kernel", 0, 1), at, at + rest_ns / 2);
	at += rest_ns / 2 + idle_ns;
	launch(&file, trace_file_config(&file, "softmax_kernel", 0, 1), at, at + rest_ns / 2);
	return rank_files(&file, 1, busy_shares);
}

static void test_advice_names_the_top_operator_and_its_bound(void **state)
{
	(void)state;
	for (int busy_shares = 0; busy_shares < 2; busy_shares++) {
		struct ranked ranked = rank_shares(6000, 4000, 2000, busy_shares);

		says(ranked.report, "Start with attention, 60.0 % of kernel time");
		says(ranked.report, "flash_attention_kernel");
		/* 6000 of 12000 ns: twice as fast at most */
		says(ranked.report, "2.00 times as fast at most");
		ranked_end(&ranked);
	}
}

static void test_advice_looks_at_waiting_first(void **state)
{
	struct ranked ranked = rank_shares(6000, 4000, 30000, true);

	(void)state;
	says(ranked.report, "Kernels run only 25.0 % of the time");
	says(ranked.report, "kprof --host"); /* why it waits is not known */
	does_not_say(ranked.report, "attention");
	ranked_end(&ranked);
}

static void test_advice_does_not_blame_copies_on_launches(void **state)
{
	struct trace_file file;
	struct kp_memop memop = {.start_ns = BASE_NS + 100,
				 .end_ns = BASE_NS + 1000,
				 .bytes = 4096,
				 .kind = KP_MEMOP_HOST_TO_DEVICE};
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "k", 0, 1), 0, 100);
	assert_int_equal(kp_writer_memop(file.writer, &memop), KP_OK);
	ranked = rank_files(&file, 1, true);
	says(ranked.report, "Memory copies and sets take 90.0 % of the time");
	does_not_say(ranked.report, "CUDA graph");
	ranked_end(&ranked);
}

static void test_advice_admits_that_nothing_stands_out(void **state)
{
	static const char *const names[] = {"attention_kernel", "gemm_kernel", "softmax_kernel",
					    "rope_kernel"};
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	for (uint64_t i = 0; i < 4; i++)
		launch(&file, trace_file_config(&file, names[i], 0, 1), 100 * i, 100 * i + 100);
	ranked = rank_files(&file, 1, true);
	says(ranked.report, "No operator takes more than 30 % of kernel time");
	says(ranked.report, "25.0 %");
	ranked_end(&ranked);
}

static void test_advice_names_a_kernel_where_no_operator_is_known(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "_Z8mysteryAPf", 0, 1), 0, 100);
	launch(&file, trace_file_config(&file, "_Z8mysteryBPf", 0, 1), 100, 120);
	ranked = rank_files(&file, 1, true);
	says(ranked.report, "Start with the kernel that takes 83.3 % of kernel time, mysteryA:");
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_of_an_empty_trace),
		cmocka_unit_test(test_report_counts_untimed_kernels),
		cmocka_unit_test(test_report_counts_invalid_kernels),
		cmocka_unit_test(test_report_without_any_times),
		cmocka_unit_test(test_report_waits_for_a_kernel_that_lasts),
		cmocka_unit_test(test_report_keys_kernels_by_mangled_name),
		cmocka_unit_test(test_report_keeps_strange_names_apart),
		cmocka_unit_test(test_report_says_what_was_dropped),
		cmocka_unit_test(test_advice_names_the_top_operator_and_its_bound),
		cmocka_unit_test(test_advice_looks_at_waiting_first),
		cmocka_unit_test(test_advice_does_not_blame_copies_on_launches),
		cmocka_unit_test(test_advice_admits_that_nothing_stands_out),
		cmocka_unit_test(test_advice_names_a_kernel_where_no_operator_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
