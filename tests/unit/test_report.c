/* The ranking of synthetic traces whose numbers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static void close_to(double found, double expected)
{
	if (!(fabs(found - expected) < 1e-9))
		fail_msg("%.17g is not %.17g", found, expected);
}

/* Whatever the trace: tables are consistent, and shares of time add up to 100. */
static void check_consistent(const struct kp_report *report)
{
	double kernel_pct = 0, busy_pct = 0, operator_pct = 0;
	uint64_t calls = 0, previous_ns = UINT64_MAX;
	size_t kernels = 0;

	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		assert_int_equal(row->first_kernel, kernels);
		assert_true(row->durations.total_ns <= previous_ns);
		previous_ns = row->durations.total_ns;
		kernels += row->kernel_count;
		operator_pct += row->shares.busy_pct;
		for (size_t k = row->first_kernel; k < kernels; k++)
			assert_int_equal(report->kernels[k].operator_index, i);
	}
	assert_int_equal(kernels, report->kernel_count);
	previous_ns = UINT64_MAX;
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *row = &report->kernels[report->kernels_by_time[i]];

		assert_true(row->durations.total_ns <= previous_ns);
		previous_ns = row->durations.total_ns;
		kernel_pct += row->shares.kernel_pct;
		busy_pct += row->shares.busy_pct;
		calls += row->calls;
	}
	assert_int_equal(calls, report->counts.kernels);
	assert_int_equal(report->counts.kernels, report->counts.kernels_timed +
							 report->counts.kernels_untimed +
							 report->counts.kernels_invalid);
	if (report->kernel_ns) {
		close_to(kernel_pct, 100);
		close_to(busy_pct, report->options.busy_shares ? 100 : 0);
		close_to(operator_pct, report->options.busy_shares ? 100 : 0);
	}
	assert_non_null(report->advice);
	assert_true(strlen(report->advice) > 0);
}

/* Case 12: [0,100] on one stream and [50,150] on another: 50/50, busy 150, span 150. */
static void test_report_divides_overlapping_streams(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	const struct kp_kernel_row *a, *b;

	(void)state;
	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "a_kernel", 0, 1), 0, 100);
	launch(&file, trace_file_config(&file, "b_kernel", 0, 2), 50, 150);
	ranked = rank_files(&file, 1, true);
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->kernel_ns, 200);
	assert_int_equal(ranked.report->busy_ns, 150);
	assert_int_equal(ranked.report->span_ns, 150);
	a = find_kernel(ranked.report, "a_kernel");
	b = find_kernel(ranked.report, "b_kernel");
	close_to(a->shares.kernel_pct, 50);
	close_to(b->shares.kernel_pct, 50);
	close_to(a->shares.busy_pct, 50);
	close_to(b->shares.span_pct, 50);
	ranked_end(&ranked);
}

/* The cheap path: the same totals, no shares of busy time. */
static void test_report_without_shares_keeps_the_union(void **state)
{
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "a_kernel", 0, 1), 0, 100);
	launch(&file, trace_file_config(&file, "b_kernel", 0, 2), 50, 150);
	launch(&file, trace_file_config(&file, "b_kernel", 0, 2), 200, 250);
	ranked = rank_files(&file, 1, false);
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->busy_ns, 200);
	assert_int_equal(ranked.report->span_ns, 250);
	assert_true(ranked.report->kernels[0].shares.span_pct == 0);
	ranked_end(&ranked);
}

static void add_memop(struct trace_file *file, enum kp_memop_kind kind, uint64_t start_ns,
		      uint64_t end_ns, uint64_t bytes)
{
	struct kp_memop memop = {.start_ns = BASE_NS + start_ns,
				 .end_ns = BASE_NS + end_ns,
				 .bytes = bytes,
				 .kind = kind,
				 .stream = 7};

	assert_int_equal(kp_writer_memop(file->writer, &memop), KP_OK);
}

/* Case 13: a range and a synchronisation over the same span are not kernels. */
static void test_report_ranges_are_not_kernels(void **state)
{
	struct trace_file file;
	struct kp_range range = {.start_ns = BASE_NS, .end_ns = BASE_NS + 100};
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	assert_int_equal(kp_writer_intern(file.writer, "step", 4, &range.name), KP_OK);
	assert_int_equal(kp_writer_intern(file.writer, "", 0, &range.domain), KP_OK);
	assert_int_equal(kp_writer_range(file.writer, &range), KP_OK);
	launch(&file, trace_file_config(&file, "a_kernel", 0, 1), 0, 100);
	ranked = rank_files(&file, 1, true);
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->range_count, 1);
	assert_int_equal(ranked.report->counts.kernels, 1);
	assert_int_equal(ranked.report->kernel_ns, 100);
	assert_int_equal(ranked.report->busy_ns, 100);
	ranked_end(&ranked);
}

static void test_report_memory_operations_have_rows_of_their_own(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	const struct kp_report *report;

	(void)state;
	trace_file_begin(&file, 1);
	add_memop(&file, KP_MEMOP_SET, 0, 10, 64);
	add_memop(&file, KP_MEMOP_HOST_TO_DEVICE, 10, 110, 4096);
	add_memop(&file, KP_MEMOP_HOST_TO_DEVICE, 300, 500, 4096);
	launch(&file, trace_file_config(&file, "a_kernel", 0, 1), 100, 200);
	ranked = rank_files(&file, 1, true);
	report = ranked.report;
	check_consistent(report);
	assert_int_equal(report->memop_count, 2);
	assert_string_equal(report->memops[0].name, "copy host to device");
	assert_int_equal(report->memops[0].calls, 2);
	assert_int_equal(report->memops[0].bytes, 8192);
	assert_int_equal(report->memops[0].durations.total_ns, 300);
	assert_int_equal(report->memops[1].kind, KP_MEMOP_SET);
	assert_int_equal(report->kernel_ns, 100);
	assert_int_equal(report->busy_ns, 100);
	assert_int_equal(report->span_ns, 500);
	close_to(report->kernels[0].shares.span_pct, 20);
	ranked_end(&ranked);
}

static void test_report_groups_kernels_by_operator(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	const struct kp_report *report;

	(void)state;
	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "nvjet_tst_128x64_64x6_2x1_v_bz_TNN", 0, 1), 0, 500);
	launch(&file, trace_file_config(&file, "ampere_sgemm_32x32_sliced1x4_tn", 0, 1), 500, 600);
	launch(&file, trace_file_config(&file, "triton_poi_fused_add_0", 0, 1), 600, 850);
	launch(&file, trace_file_config(&file, "triton_poi_fused_mul_1", 0, 1), 850, 1000);
	ranked = rank_files(&file, 1, true);
	report = ranked.report;
	check_consistent(report);
	assert_int_equal(report->operator_count, 2);
	assert_string_equal(report->operators[0].name, "gemm");
	assert_int_equal(report->operators[0].durations.total_ns, 600);
	assert_int_equal(report->operators[0].durations.max_ns, 500);
	assert_true(report->operators[0].durations.median_ns == 300);
	close_to(report->operators[0].shares.kernel_pct, 60);
	assert_true(report->operators[0].above_threshold);
	assert_true(report->operators[1].above_threshold);
	assert_true(report->kernels[0].above_threshold);
	assert_false(report->kernels[1].above_threshold);
	assert_string_equal(report->kernels[2].shortened, "triton_poi_fused_add_0");
	assert_int_equal(report->kernels_by_time[1], 2);
	ranked_end(&ranked);
}

/* The same operator and kernel with equal times: names decide, whatever came first. */
static void test_report_breaks_ties_by_name(void **state)
{
	static const char *const names[] = {"c_thing", "a_thing", "d_thing", "b_thing"};

	(void)state;
	for (int turn = 0; turn < 4; turn++) {
		struct trace_file file;
		struct ranked ranked;

		trace_file_begin(&file, 1);
		for (uint64_t i = 0; i < 4; i++)
			launch(&file,
			       trace_file_config(&file, names[(i + (uint64_t)turn) % 4], 0, 1),
			       100 * i, 100 * i + 50);
		ranked = rank_files(&file, 1, true);
		check_consistent(ranked.report);
		assert_string_equal(ranked.report->kernels[0].mangled, "a_thing");
		assert_string_equal(ranked.report->kernels[3].mangled, "d_thing");
		assert_int_equal(ranked.report->kernels_by_time[2], 2);
		ranked_end(&ranked);
	}
}

static void test_report_counts_configurations(void **state)
{
	struct trace_file file;
	struct kp_launch_config config = {.grid = {8, 1, 1}, .block = {64, 1, 1}, .registers = 40};
	uint32_t small, small_elsewhere, large;
	struct ranked ranked;
	const struct kp_kernel_row *row;

	(void)state;
	trace_file_begin(&file, 1);
	assert_int_equal(kp_writer_intern(file.writer, "k", 1, &config.name), KP_OK);
	assert_int_equal(kp_writer_config(file.writer, &config, &small), KP_OK);
	config.stream = 9; /* another stream is not another configuration */
	assert_int_equal(kp_writer_config(file.writer, &config, &small_elsewhere), KP_OK);
	config.grid[0] = 800;
	config.dynamic_shared_bytes = 1024;
	assert_int_equal(kp_writer_config(file.writer, &config, &large), KP_OK);
	launch(&file, small, 0, 60);
	launch(&file, large, 100, 200);
	launch(&file, small_elsewhere, 300, 350);
	ranked = rank_files(&file, 1, true);
	row = &ranked.report->kernels[0];
	assert_int_equal(ranked.report->kernel_count, 1);
	assert_int_equal(row->calls, 3);
	assert_int_equal(row->config_count, 2);
	assert_int_equal(row->grid[0], 8); /* 110 ns on two streams outweigh 100 */
	assert_int_equal(row->block[0], 64);
	assert_int_equal(row->registers, 40);
	assert_int_equal(row->dynamic_shared_bytes, 0);
	ranked_end(&ranked);
}

/* Case 1 and 44: graph nodes count one by one; correlation ids, also 0, merge nothing. */
static void test_report_counts_graph_nodes(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	trace_file_begin(&file, 1);
	config = trace_file_config(&file, "node_kernel", 0, 1);
	for (uint64_t i = 0; i < 24; i++) {
		struct kp_launch node = {.start_ns = BASE_NS + 10 * i,
					 .end_ns = BASE_NS + 10 * i + 5,
					 .graph_node = 100 + i,
					 .config = config,
					 .correlation = i < 12 ? 9 : 0,
					 .graph = 3};

		assert_int_equal(kp_writer_launch(file.writer, &node), KP_OK);
	}
	launch(&file, config, 400, 405); /* correlation 0, no graph */
	launch(&file, config, 410, 415);
	ranked = rank_files(&file, 1, true);
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->counts.kernels, 26);
	assert_int_equal(ranked.report->counts.graph_kernels, 24);
	assert_int_equal(ranked.report->kernels[0].calls, 26);
	assert_int_equal(ranked.report->kernels[0].graph_calls, 24);
	assert_int_equal(ranked.report->kernel_ns, 130);
	ranked_end(&ranked);
}

static void test_report_keeps_gpus_apart(void **state)
{
	struct trace_file file;
	struct ranked ranked;
	const struct kp_report *report;

	(void)state;
	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	describe_device(&file, 0, "GPU-a");
	describe_device(&file, 1, "GPU-b");
	describe_device(&file, 2, "GPU-never-used");
	launch(&file, trace_file_config(&file, "k", 0, 1), 0, 100);
	launch(&file, trace_file_config(&file, "k", 1, 1), 50, 250);
	launch(&file, trace_file_config(&file, "k", 0, 1), 300, 400);
	ranked = rank_files(&file, 1, true);
	report = ranked.report;
	check_consistent(report);
	assert_int_equal(report->gpu_count, 2);
	assert_string_equal(report->gpus[0].info->uuid.bytes, "GPU-a");
	assert_int_equal(report->gpus[0].kernels, 2);
	assert_int_equal(report->gpus[0].busy_ns, 200);
	assert_int_equal(report->gpus[0].span_ns, 400);
	assert_int_equal(report->gpus[0].first_ns, BASE_NS);
	assert_int_equal(report->gpus[1].device, 1);
	assert_int_equal(report->gpus[1].busy_ns, 200);
	assert_int_equal(report->gpus[1].span_ns, 200);
	assert_int_equal(report->busy_ns, 400); /* no overlap across GPUs */
	assert_int_equal(report->span_ns, 600);
	close_to(report->kernels[0].shares.busy_pct, 100);
	ranked_end(&ranked);
}

/* Two processes, each with one kernel at the same time on device 0. */
static struct ranked rank_two_processes(const char *host_a, const char *host_b, const char *uuid_a,
					const char *uuid_b, uint64_t clock_b_ns)
{
	struct trace_file files[2];

	for (uint64_t i = 0; i < 2; i++) {
		trace_file_begin(&files[i], 10 + i);
		describe_process(&files[i], i ? host_b : host_a);
		describe_clock(&files[i], 5000000000ULL + (i ? clock_b_ns : 0));
		if (uuid_a)
			describe_device(&files[i], 0, i ? uuid_b : uuid_a);
		launch(&files[i], trace_file_config(&files[i], i ? "b" : "a", 0, 1), 50 * i,
		       50 * i + 100);
	}
	return rank_files(files, 2, true);
}

static void test_report_processes_share_a_gpu(void **state)
{
	struct ranked ranked = rank_two_processes("host", "host", "GPU-a", "GPU-a", 1000);

	(void)state;
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->gpu_count, 1);
	assert_int_equal(ranked.report->process_count, 2);
	assert_int_equal(ranked.report->processes[1].kernels, 1);
	assert_int_equal(ranked.report->processes[1].kernel_ns, 100);
	assert_int_equal(ranked.report->busy_ns, 150);
	assert_int_equal(ranked.report->span_ns, 150);
	close_to(find_kernel(ranked.report, "a")->shares.busy_pct, 50);
	ranked_end(&ranked);
}

static void test_report_tells_timelines_apart(void **state)
{
	struct ranked ranked[] = {
		rank_two_processes("host", "other", "GPU-a", "GPU-a", 0),         /* two hosts */
		rank_two_processes("host", "host", "MIG-a", "MIG-b", 0),          /* two slices */
		rank_two_processes("host", "host", NULL, NULL, 0),                /* unknown GPUs */
		rank_two_processes("host", "host", "GPU-a", "GPU-a", 1ULL << 50), /* started anew */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ranked) / sizeof(ranked[0]); i++) {
		check_consistent(ranked[i].report);
		assert_int_equal(ranked[i].report->gpu_count, 2);
		assert_int_equal(ranked[i].report->busy_ns, 200);
		assert_int_equal(ranked[i].report->span_ns, 200);
		ranked_end(&ranked[i]);
	}
}

static void test_report_merges_kernels_of_processes(void **state)
{
	struct trace_file files[2];
	struct ranked ranked;

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		trace_file_begin(&files[i], 10 + i);
		trace_file_config(&files[i], i ? "padding" : "k", 0, 1);
		launch(&files[i], trace_file_config(&files[i], "k", 0, 1), 1000 * i, 1000 * i + 10);
	}
	ranked = rank_files(files, 2, true);
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->kernel_count, 1);
	assert_int_equal(ranked.report->kernels[0].calls, 2);
	assert_int_equal(ranked.report->kernels[0].config_count, 1);
	ranked_end(&ranked);
}

/* Many chunks and overlapping streams: streaming gives what was put in. */
static void test_report_streams_many_launches(void **state)
{
	enum { COUNT = 300000 };
	struct trace_file file;
	struct ranked ranked;
	uint32_t configs[3];

	(void)state;
	trace_file_begin(&file, 1);
	configs[0] = trace_file_config(&file, "k0", 0, 1);
	configs[1] = trace_file_config(&file, "k1", 0, 2);
	configs[2] = trace_file_config(&file, "k2", 0, 3);
	for (uint64_t i = 0; i < COUNT; i++) /* each overlaps half of the next */
		launch(&file, configs[i % 3], 100 * i, 100 * i + 150);
	ranked = rank_files(&file, 1, true);
	check_consistent(ranked.report);
	assert_int_equal(ranked.report->counts.kernels, COUNT);
	assert_int_equal(ranked.report->kernel_ns, 150ULL * COUNT);
	assert_int_equal(ranked.report->busy_ns, 100ULL * COUNT + 50);
	assert_int_equal(ranked.report->counts.displaced, 0);
	assert_int_equal(ranked.report->kernels[0].calls, COUNT / 3);
	assert_true(ranked.report->kernels[0].durations.median_ns == 150);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_divides_overlapping_streams),
		cmocka_unit_test(test_report_without_shares_keeps_the_union),
		cmocka_unit_test(test_report_ranges_are_not_kernels),
		cmocka_unit_test(test_report_memory_operations_have_rows_of_their_own),
		cmocka_unit_test(test_report_groups_kernels_by_operator),
		cmocka_unit_test(test_report_breaks_ties_by_name),
		cmocka_unit_test(test_report_counts_configurations),
		cmocka_unit_test(test_report_counts_graph_nodes),
		cmocka_unit_test(test_report_keeps_gpus_apart),
		cmocka_unit_test(test_report_processes_share_a_gpu),
		cmocka_unit_test(test_report_tells_timelines_apart),
		cmocka_unit_test(test_report_merges_kernels_of_processes),
		cmocka_unit_test(test_report_streams_many_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
