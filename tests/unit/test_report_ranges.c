/* NVTX ranges own what was launched in them: by runs of launches, by time, and when in doubt. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/ranges.h"
#include "tests/unit/report_trace.h"

#define KERNEL_NS 500
#define OF_PROCESS UINT32_MAX

/* What a small program did, while its trace is written. */
struct program {
	struct trace_file file;
	uint64_t records, runs, run_kernels, begin_ns;
	uint32_t id; /* CUPTI's last correlation id */
	bool no_runs;
};

static void begin(struct program *program)
{
	memset(program, 0, sizeof(*program));
	trace_file_begin(&program->file, 1);
	describe_process(&program->file, "host");
}

static void put_range(struct program *program, const char *domain, const char *name,
		      uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	struct kp_range range = {
		.start_ns = BASE_NS + start_ns, .end_ns = BASE_NS + end_ns, .thread = thread};

	if (thread == OF_PROCESS)
		range.depth = OF_PROCESS;
	if (kp_writer_intern(program->file.writer, domain, strlen(domain), &range.domain) !=
		    KP_OK ||
	    kp_writer_intern(program->file.writer, name, strlen(name), &range.name) != KP_OK ||
	    kp_writer_range(program->file.writer, &range) != KP_OK)
		abort();
}

/* A run of launches of one block of 128 threads; or of graphs of so many kernels. */
static void put_run(struct program *program, uint64_t start_ns, uint32_t thread, uint32_t stream,
		    uint32_t launches, uint32_t kernels)
{
	const uint32_t grid[3] = {1, 1, 1}, block[3] = {128, 1, 1};
	struct kp_launch_run run = {.start_ns = BASE_NS + start_ns,
				    .end_ns = BASE_NS + start_ns,
				    .thread = thread,
				    .context = 1,
				    .stream = stream,
				    .launches = launches,
				    .kernels = kernels,
				    .kind = kernels > 1 ? KP_HOST_GRAPH : KP_HOST_LAUNCH};

	if (kernels == 1)
		run.shapes = launches * kp_launch_run_shape(grid, block);
	program->runs++;
	program->run_kernels += (uint64_t)launches * kernels;
	if (kp_writer_run(program->file.writer, &run) != KP_OK)
		abort();
}

static void put_record(struct program *program, uint32_t stream, uint64_t start_ns, uint32_t id,
		       uint64_t node)
{
	struct kp_launch launch = {.start_ns = BASE_NS + start_ns,
				   .end_ns = BASE_NS + start_ns + KERNEL_NS,
				   .config = trace_file_config(&program->file, "k", 0, stream),
				   .correlation = id,
				   .graph_node = node,
				   .graph = node != 0};

	program->records++;
	if (kp_writer_launch(program->file.writer, &launch) != KP_OK)
		abort();
}

/* Kernels of one launch each, one after another. */
static void put_records(struct program *program, uint32_t stream, uint64_t start_ns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_record(program, stream, start_ns + i * 1000, ++program->id, 0);
}

static struct ranked finish(struct program *program, uint64_t dropped)
{
	struct kp_counts counts = {0};
	struct kp_end end = {0};

	KP_SET(&counts, COUNTS, kernels_issued, program->records + dropped);
	KP_SET(&counts, COUNTS, kernels_recorded, program->records);
	KP_SET(&counts, COUNTS, records_dropped, dropped);
	if (!program->no_runs) {
		KP_SET(&counts, COUNTS, runs_begin_ns,
		       program->begin_ns ? BASE_NS + program->begin_ns : 0);
		KP_SET(&counts, COUNTS, run_records, program->runs);
		KP_SET(&counts, COUNTS, run_kernels, program->run_kernels);
		KP_SET(&counts, COUNTS, runs_lost, 0);
	}
	KP_SET(&end, END, way, KP_END_EXIT);
	if (kp_writer_flush(program->file.writer) != KP_OK ||
	    kp_writer_counts(program->file.writer, &counts) != KP_OK ||
	    kp_writer_end(program->file.writer, &end) != KP_OK)
		abort();
	return rank_files(&program->file, 1, false);
}

static const struct kp_range_row *find(const struct kp_report *report, const char *name)
{
	for (size_t i = 0; i < report->ranges->row_count; i++)
		if (strcmp(report->ranges->rows[i].name, name) == 0)
			return &report->ranges->rows[i];
	fail_msg("no range %s", name);
	return NULL;
}

static void check_row(const struct kp_report *report, const char *name, uint64_t calls,
		      uint64_t kernels, uint64_t own)
{
	const struct kp_range_row *row = find(report, name);

	assert_int_equal(row->calls, calls);
	assert_int_equal(row->kernels, kernels);
	assert_int_equal(row->own_kernels, own);
	assert_int_equal(row->kernel_ns, kernels * KERNEL_NS);
}

/* What kernels were launched in adds up to what the ranges own. */
static void check_callers(const struct kp_report *report)
{
	const struct kp_report_ranges *ranges = report->ranges;

	for (size_t i = 0; i < ranges->row_count; i++) {
		uint64_t calls = 0, total_ns = 0;
		for (size_t k = 0; k < ranges->caller_count; k++) {
			const struct kp_range_caller *caller = &ranges->callers[k];
			assert_true(caller->kernel < report->kernel_count);
			assert_true(k == 0 || caller[-1].kernel <= caller->kernel);
			calls += caller->range == i ? caller->calls : 0;
			total_ns += caller->range == i ? caller->total_ns : 0;
		}
		assert_int_equal(calls, ranges->rows[i].own_kernels);
		assert_int_equal(total_ns, ranges->rows[i].own_kernel_ns);
	}
}

static void check_totals(const struct kp_report *report, enum kp_ownership by, uint64_t owned,
			 uint64_t outside, uint64_t unattributed)
{
	assert_int_equal(report->ranges->by, by);
	assert_int_equal(report->ranges->owned, owned);
	assert_int_equal(report->ranges->outside, outside);
	assert_int_equal(report->ranges->unattributed, unattributed);
	check_callers(report);
}

/* Kernels run long after their ranges: two of a name, one nested, another domain, none. */
static void test_ranges_own_by_launch(void **state)
{
	struct program program;
	struct ranked ranked;
	const struct kp_range_row *row;

	(void)state;
	begin(&program);
	for (uint64_t i = 0; i < 2; i++) {
		put_range(&program, "", "step", 7, 1000 + i * 1000, 1800 + i * 1000);
		put_range(&program, "", "inner", 7, 1200 + i * 1000, 1500 + i * 1000);
		put_run(&program, 1050 + i * 1000, 7, 3, 2, 1);
		put_run(&program, 1250 + i * 1000, 7, 3, 3, 1);
		put_run(&program, 1850 + i * 1000, 7, 3, 1, 1);
	}
	put_range(&program, "lib", "op", 7, 1100, 1300);
	put_records(&program, 3, 100000, 12);
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 10, 2, 0);
	check_row(ranked.report, "step", 2, 10, 4);
	check_row(ranked.report, "inner", 2, 6, 6);
	check_row(ranked.report, "op", 1, 3, 3);
	row = find(ranked.report, "inner");
	assert_ptr_equal(&ranked.report->ranges->rows[row->parent], find(ranked.report, "step"));
	/* Three kernels, 1 µs apart, in each; 500 ns idle between them. */
	assert_int_equal(row->busy_ns, 6 * KERNEL_NS);
	assert_int_equal(row->idle_ns, 4 * 500);
	assert_int_equal(row->host_ns, 600);
	assert_string_equal(find(ranked.report, "op")->domain, "lib");
	ranked_end(&ranked);
}

/* What was launched before there were runs is told apart, though it runs among the others. */
static void test_ranges_own_nothing_from_before(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	program.begin_ns = 5000;
	put_records(&program, 3, 1000, 4);
	put_records(&program, 3, 6000, 5);
	put_records(&program, 4, 30000, 2); /* launched before, too: runs late */
	put_range(&program, "", "step", 7, 5000, 5900);
	put_run(&program, 5100, 7, 3, 3, 1);
	put_run(&program, 5200, 7, 4, 2, 1);
	put_records(&program, 3, 12000, 3);
	put_records(&program, 4, 40000, 2);
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 5, 11, 0);
	check_row(ranked.report, "step", 1, 5, 5);
	ranked_end(&ranked);
}

/* The kernels of a graph's launch are the range's of the launch, on whatever stream they ran. */
static void test_ranges_own_graphs(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	put_range(&program, "", "replay", 7, 1000, 1100);
	put_run(&program, 1010, 7, 3, 2, 3);
	put_run(&program, 1200, 7, 3, 1, 1);
	for (uint32_t i = 0; i < 2; i++) {
		program.id++;
		put_record(&program, 3, 2000 + 5000 * i, program.id, 101);
		put_record(&program, 9, 2600 + 5000 * i, program.id, 102);
		put_record(&program, 3, 3600 + 5000 * i, program.id, 103);
	}
	put_records(&program, 3, 20000, 1);
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 6, 1, 0);
	check_row(ranked.report, "replay", 1, 6, 6);
	ranked_end(&ranked);
}

/* A run whose grids are not those of the records at its place is nobody's; the next one is. */
static void test_ranges_check_shapes(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	put_range(&program, "", "a", 7, 1000, 1100);
	put_range(&program, "", "b", 7, 2000, 2100);
	put_run(&program, 1010, 7, 3, 2, 1);
	put_run(&program, 2010, 7, 3, 2, 1);
	for (uint32_t i = 0; i < 4; i++) {
		struct kp_launch_config config = {.context = 1,
						  .stream = 3,
						  .grid = {i == 1 ? 2 : 1, 1, 1},
						  .block = {128, 1, 1}};
		struct kp_launch launch = {.start_ns = BASE_NS + 5000 + i * 1000,
					   .end_ns = BASE_NS + 5500 + i * 1000,
					   .correlation = i + 1};

		assert_int_equal(kp_writer_intern(program.file.writer, "k", 1, &config.name),
				 KP_OK);
		assert_int_equal(kp_writer_config(program.file.writer, &config, &launch.config),
				 KP_OK);
		assert_int_equal(kp_writer_launch(program.file.writer, &launch), KP_OK);
		program.records++;
	}
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 2, 0, 2);
	check_row(ranked.report, "a", 1, 0, 0);
	check_row(ranked.report, "b", 1, 2, 2);
	ranked_end(&ranked);
}

/* Threads on one stream: each owns its own, unless their launches overlap. */
static void test_ranges_of_threads(void **state)
{
	struct program program;
	struct ranked ranked;
	struct kp_launch_run run;

	(void)state;
	begin(&program);
	put_range(&program, "", "main", 7, 1000, 9000);
	put_range(&program, "", "helper", 8, 1000, 9000);
	put_run(&program, 1100, 7, 3, 2, 1);
	put_run(&program, 1200, 8, 3, 3, 1);
	put_run(&program, 1300, 7, 3, 1, 1);
	/* Thread 8 takes its turn while thread 7 is in a launch. */
	run = (struct kp_launch_run){
		.start_ns = BASE_NS + 2000,
		.end_ns = BASE_NS + 2100,
		.thread = 7,
		.context = 1,
		.stream = 3,
		.launches = 1,
		.kernels = 1,
		.shapes = kp_launch_run_shape((uint32_t[]){1, 1, 1}, (uint32_t[]){128, 1, 1})};
	assert_int_equal(kp_writer_run(program.file.writer, &run), KP_OK);
	program.runs++;
	program.run_kernels++;
	put_run(&program, 2050, 8, 3, 1, 1);
	put_run(&program, 2200, 8, 3, 1, 1);
	put_records(&program, 3, 20000, 9);
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 7, 0, 2);
	check_row(ranked.report, "main", 1, 3, 3);
	check_row(ranked.report, "helper", 1, 4, 4);
	ranked_end(&ranked);
}

/* A range of the process owns launches of all threads; the one that began last, of one name. */
static void test_ranges_of_the_process(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	put_range(&program, "", "request", OF_PROCESS, 1000, 5000);
	put_range(&program, "", "request", OF_PROCESS, 2000, 3000);
	put_range(&program, "", "work", 7, 1000, 1500);
	put_run(&program, 1100, 7, 3, 2, 1);
	put_run(&program, 2100, 8, 4, 3, 1);
	put_run(&program, 4000, 8, 4, 1, 1);
	put_run(&program, 6000, 8, 4, 1, 1);
	put_records(&program, 3, 20000, 2);
	put_records(&program, 4, 30000, 5);
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 6, 1, 0);
	check_row(ranked.report, "request", 2, 6, 6);
	check_row(ranked.report, "work", 1, 2, 2);
	assert_true(find(ranked.report, "request")->of_process);
	assert_true(ranked.report->ranges->of_process);
	ranked_end(&ranked);
}

/* An old trace: by time, and what may be of two threads is nobody's. */
static void test_ranges_own_by_time(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	program.no_runs = true;
	put_range(&program, "", "first", 7, 1000, 5000);
	put_range(&program, "", "second", 8, 4000, 9000);
	put_records(&program, 3, 1000, 10);
	ranked = finish(&program, 0);
	/* From 1000 to 3000, at 4000, from 5000 to 8000, 9000 and 10000. */
	check_totals(ranked.report, KP_OWNED_BY_TIME, 7, 2, 1);
	check_row(ranked.report, "first", 1, 3, 3);
	check_row(ranked.report, "second", 1, 4, 4);
	assert_non_null(strstr(ranked.report->ranges->why_time, "does not say"));
	ranked_end(&ranked);
}

static void test_ranges_with_records_missing(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	put_range(&program, "", "step", 7, 1000, 1500);
	put_run(&program, 1100, 7, 3, 4, 1);
	put_records(&program, 3, 1200, 3);
	ranked = finish(&program, 1);
	check_totals(ranked.report, KP_OWNED_BY_TIME, 1, 2, 0);
	assert_non_null(strstr(ranked.report->ranges->why_time, "--host"));
	ranked_end(&ranked);
}

static void test_ranges_are_counted(void **state)
{
	struct program program;
	struct kp_range_count count;
	struct ranked ranked;

	(void)state;
	begin(&program);
	for (uint64_t i = 0; i < 10; i++) {
		put_range(&program, "", i % 2 ? "request 1" : "request 2", 7, i * 1000000,
			  i * 1000000 + 500000);
		put_range(&program, "lib", "token", 8, i * 1000000, i * 1000000 + 1000);
	}
	put_run(&program, 100, 7, 3, 1, 1);
	put_records(&program, 3, 1200, 1);
	ranked = finish(&program, 0);
	assert_true(kp_ranges_count(ranked.report, "request*", &count));
	assert_int_equal(count.count, 10);
	assert_true(fabs(count.per_second - 10 / 0.0095) < 1e-6);
	assert_true(kp_ranges_count(ranked.report, "token", &count));
	assert_int_equal(count.count, 10);
	assert_false(kp_ranges_count(ranked.report, "request", &count));
	assert_int_equal(count.count, 0);
	assert_true(isnan(count.per_second));
	ranked_end(&ranked);
}

/* Ranges deeper than any program nests them, and such as overlap: no crash, nothing twice. */
static void test_ranges_of_a_broken_trace(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	for (uint64_t i = 0; i < 500; i++)
		put_range(&program, "", "deep", 7, 1000 + i, 9000 - i);
	put_range(&program, "", "over", 8, 1000, 2000);
	put_range(&program, "", "lap", 8, 1500, 2500);
	put_run(&program, 5000, 7, 3, 1, 1);
	put_run(&program, 5001, 8, 3, 1, 1);
	put_records(&program, 3, 20000, 2);
	ranked = finish(&program, 0);
	check_totals(ranked.report, KP_OWNED_BY_LAUNCH, 1, 1, 0);
	for (size_t i = 0; i < ranked.report->ranges->row_count; i++)
		assert_true(ranked.report->ranges->rows[i].kernels <= 1);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_own_by_launch),
		cmocka_unit_test(test_ranges_own_nothing_from_before),
		cmocka_unit_test(test_ranges_own_graphs),
		cmocka_unit_test(test_ranges_check_shapes),
		cmocka_unit_test(test_ranges_of_threads),
		cmocka_unit_test(test_ranges_of_the_process),
		cmocka_unit_test(test_ranges_own_by_time),
		cmocka_unit_test(test_ranges_with_records_missing),
		cmocka_unit_test(test_ranges_are_counted),
		cmocka_unit_test(test_ranges_of_a_broken_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
