/* The processes of a report: GPUs, busy time, what is missing, and how each ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static void put_info(struct trace_file *file, bool collected, uint64_t untraced)
{
	struct kp_process_info info = {0};

	KP_SET(&info, PROCESS, pid, 42);
	KP_SET(&info, PROCESS, host, text("host"));
	if (collected)
		KP_SET(&info, PROCESS, cupti_version, 130001);
	if (untraced)
		KP_SET(&info, PROCESS, untraced, untraced);
	assert_int_equal(kp_writer_process(file->writer, &info), KP_OK);
}

static void put_end(struct trace_file *file, enum kp_end_way way, bool forced)
{
	struct kp_end end = {0};

	KP_SET(&end, END, way, way);
	KP_SET(&end, END, forced, forced);
	if (way != KP_END_WITHDRAWN)
		KP_SET(&end, END, end_ns, BASE_NS);
	assert_int_equal(kp_writer_end(file->writer, &end), KP_OK);
}

static void put_counts(struct trace_file *file, uint64_t issued, uint64_t unwritten)
{
	struct kp_counts counts = {0};

	KP_SET(&counts, COUNTS, kernels_issued, issued);
	KP_SET(&counts, COUNTS, kernels_unwritten, unwritten);
	KP_SET(&counts, COUNTS, records_dropped, 0);
	assert_int_equal(kp_writer_counts(file->writer, &counts), KP_OK);
}

/* The one process of a file, written by `write`. */
static struct kp_process_row row_of(void (*write)(struct trace_file *file))
{
	struct trace_file file;
	struct ranked ranked;
	struct kp_process_row row;

	trace_file_begin(&file, 1);
	write(&file);
	ranked = rank_files(&file, 1, false);
	assert_int_equal(ranked.report->process_count, 1);
	row = ranked.report->processes[0];
	ranked_end(&ranked);
	return row;
}

static void write_ended(struct trace_file *file)
{
	put_info(file, true, 0);
	put_end(file, KP_END_EXIT, false);
}

static void write_early(struct trace_file *file)
{
	put_info(file, true, 0);
	put_end(file, KP_END_EXIT, true);
}

static void write_replaced(struct trace_file *file)
{
	put_info(file, true, 0);
	put_end(file, KP_END_EXEC, false);
}

static void write_withdrawn(struct trace_file *file)
{
	write_replaced(file);
	put_end(file, KP_END_WITHDRAWN, false);
}

static void write_withdrawn_and_ended(struct trace_file *file)
{
	write_withdrawn(file);
	put_end(file, KP_END_EXIT, false);
}

static void write_killed(struct trace_file *file)
{
	put_info(file, true, 0);
	put_counts(file, 10, 0);
}

static void write_unfinished(struct trace_file *file)
{
	put_info(file, true, 0);
}

static void write_refused(struct trace_file *file)
{
	put_info(file, false, 0);
	assert_int_equal(kp_writer_note(file->writer, KP_NOTE_ERROR, "no CUPTI"), KP_OK);
}

static void write_untraced(struct trace_file *file)
{
	put_info(file, false, 3);
	assert_int_equal(kp_writer_note(file->writer, KP_NOTE_INFO, "is static"), KP_OK);
}

static void test_report_processes_fates(void **state)
{
	static const struct {
		void (*write)(struct trace_file *file);
		enum kp_process_fate fate;
		const char *reason;
	} cases[] = {
		{write_ended, KP_FATE_ENDED, ""},
		{write_early, KP_FATE_ENDED_EARLY, ""},
		{write_replaced, KP_FATE_REPLACED, ""},
		{write_withdrawn, KP_FATE_UNFINISHED, ""},
		{write_withdrawn_and_ended, KP_FATE_ENDED, ""},
		{write_killed, KP_FATE_KILLED, ""},
		{write_unfinished, KP_FATE_UNFINISHED, ""},
		{write_refused, KP_FATE_REFUSED, "no CUPTI"},
		{write_untraced, KP_FATE_UNTRACED, "is static"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kp_process_row row = row_of(cases[i].write);

		assert_int_equal(row.fate, cases[i].fate);
		assert_int_equal(row.reason.length, strlen(cases[i].reason));
	}
}

/* Programs that were never traced are no process that was lost. */
static void test_report_processes_untraced_lose_nothing(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	write_untraced(&file);
	ranked = rank_files(&file, 1, false);
	assert_int_equal(ranked.report->counts.processes_untraced, 1);
	assert_int_equal(ranked.report->counts.processes_refused, 0);
	assert_int_equal(ranked.report->counts.processes_unfinished, 0);
	assert_true(ranked.report->counts.dropped_known);
	ranked_end(&ranked);
}

static void write_ten_of_which_some_are_here(struct trace_file *file, bool ended)
{
	uint32_t config = trace_file_config(file, "k", 0, 1);

	put_info(file, true, 0);
	for (uint64_t i = 0; i < 4; i++)
		launch(file, config, 100 * i, 100 * i + 50);
	put_counts(file, 10, 2);
	if (ended)
		put_end(file, KP_END_EXIT, false);
}

static void write_ten_ended(struct trace_file *file)
{
	write_ten_of_which_some_are_here(file, true);
}

static void write_ten_killed(struct trace_file *file)
{
	write_ten_of_which_some_are_here(file, false);
}

/* Missing is what no count explains; absent all that is not here. */
static void test_report_processes_missing(void **state)
{
	(void)state;
	assert_int_equal(row_of(write_ten_ended).missing, 4);
	assert_int_equal(row_of(write_ten_killed).missing, 4);
	assert_int_equal(row_of(write_ten_killed).absent, 6);
	assert_true(row_of(write_ten_killed).missing_known);
	assert_false(row_of(write_unfinished).missing_known);
}

/* Two processes on one GPU at the same time, one of them on a second GPU as well. */
static void test_report_processes_busy(void **state)
{
	const struct kp_report_options options = {.threshold_pct = 30, .process_times = true};
	struct trace_file files[2];
	const char *paths[2];
	struct kp_reader *reader;
	struct kp_report *report;
	size_t bad;

	(void)state;
	for (int i = 0; i < 2; i++) {
		trace_file_begin(&files[i], (uint64_t)i + 1);
		put_info(&files[i], true, 0);
		describe_device(&files[i], 0, "GPU-a");
		describe_device(&files[i], 1, "GPU-b");
		paths[i] = files[i].path;
	}
	launch(&files[0], trace_file_config(&files[0], "k", 0, 1), 0, 100);
	launch(&files[0], trace_file_config(&files[0], "k", 0, 2), 50, 150);
	launch(&files[0], trace_file_config(&files[0], "k", 1, 1), 0, 30);
	launch(&files[1], trace_file_config(&files[1], "k", 0, 1), 20, 60);
	for (int i = 0; i < 2; i++)
		assert_int_equal(kp_writer_flush(files[i].writer), KP_OK);
	assert_int_equal(kp_reader_open(paths, 2, &reader, &bad), KP_OK);
	assert_int_equal(kp_report_build(reader, &options, &report), KP_OK);
	assert_int_equal(report->process_count, 2);
	assert_int_equal(report->processes[0].busy_ns, 180);
	assert_int_equal(report->processes[0].kernel_ns, 230);
	assert_int_equal(report->processes[0].gpu_count, 2);
	assert_int_equal(report->processes[1].busy_ns, 40);
	assert_int_equal(report->processes[1].gpu_count, 1);
	assert_int_equal(report->processes[1].gpus[0], report->processes[0].gpus[0]);
	assert_int_equal(report->busy_ns, 180);
	kp_report_destroy(report);
	kp_reader_close(reader);
	for (int i = 0; i < 2; i++)
		trace_file_end(&files[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_processes_fates),
		cmocka_unit_test(test_report_processes_untraced_lose_nothing),
		cmocka_unit_test(test_report_processes_missing),
		cmocka_unit_test(test_report_processes_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
