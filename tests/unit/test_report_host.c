/* The host's side of reports: calls tied to kernels, with and without losses, and their times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/host_ties.h"
#include "tests/unit/report_trace.h"

#define LAUNCH_NS 1000 /* what each call takes */

/* What a small program did, while its trace is written. */
struct program {
	struct trace_file file;
	uint64_t calls, kernels, records;
	uint32_t id; /* CUPTI's last correlation id */
};

static void begin(struct program *program)
{
	memset(program, 0, sizeof(*program));
	trace_file_begin(&program->file, 1);
	describe_process(&program->file, "host");
}

/* A configuration of `x` blocks on a stream. */
static uint32_t config_of(struct program *program, const char *name, uint32_t stream, uint32_t x)
{
	struct kp_launch_config config = {
		.context = 1, .stream = stream, .grid = {x, 1, 1}, .block = {128, 1, 1}};
	uint32_t number;

	if (kp_writer_intern(program->file.writer, name, strlen(name), &config.name) != KP_OK ||
	    kp_writer_config(program->file.writer, &config, &number) != KP_OK)
		abort();
	return number;
}

static void put_call(struct program *program, struct kp_host_call call)
{
	call.start_ns += BASE_NS;
	call.end_ns = call.end_ns ? call.end_ns + BASE_NS : call.start_ns + LAUNCH_NS;
	program->calls++;
	program->kernels += call.kernels;
	if (kp_writer_host(program->file.writer, &call) != KP_OK)
		abort();
}

static struct kp_host_call call_of(uint64_t start_ns, uint32_t thread, uint32_t stream, uint32_t x)
{
	return (struct kp_host_call){.start_ns = start_ns,
				     .thread = thread,
				     .context = 1,
				     .stream = stream,
				     .kernels = 1,
				     .grid = {x, 1, 1},
				     .block = {128, 1, 1}};
}

static void put_record(struct program *program, uint32_t config, uint64_t start_ns, uint32_t id,
		       uint64_t node)
{
	struct kp_launch launch = {.start_ns = BASE_NS + start_ns,
				   .end_ns = BASE_NS + start_ns + 500,
				   .config = config,
				   .correlation = id,
				   .graph_node = node,
				   .graph = node != 0};

	program->records++;
	if (kp_writer_launch(program->file.writer, &launch) != KP_OK)
		abort();
}

/* The counts of a process that ended well; `lost`: calls that were not kept. */
static struct ranked finish(struct program *program, uint64_t dropped, uint64_t lost)
{
	struct kp_counts counts = {0};
	struct kp_end end = {0};

	KP_SET(&counts, COUNTS, kernels_recorded, program->records);
	KP_SET(&counts, COUNTS, records_dropped, dropped);
	KP_SET(&counts, COUNTS, host_calls, program->calls);
	KP_SET(&counts, COUNTS, host_kernels, program->kernels);
	KP_SET(&counts, COUNTS, host_calls_lost, lost);
	KP_SET(&end, END, way, KP_END_EXIT);
	if (kp_writer_flush(program->file.writer) != KP_OK ||
	    kp_writer_counts(program->file.writer, &counts) != KP_OK ||
	    kp_writer_end(program->file.writer, &end) != KP_OK)
		abort();
	return rank_files(&program->file, 1, false);
}

/* Call and queue times, threads, and the totals. */
static void test_report_host_times(void **state)
{
	struct program program;
	struct ranked ranked;
	const struct kp_report_host *host;
	const struct kp_kernel_row *row;
	uint32_t a, b;

	(void)state;
	begin(&program);
	a = config_of(&program, "a", 7, 1);
	b = config_of(&program, "b", 9, 2);
	for (uint32_t i = 0; i < 100; i++) {
		struct kp_host_call call = call_of(10000 * i, 40 + i % 2, 7, 1);

		call.end_ns = call.start_ns + 1000 + i;
		put_call(&program, call);
		put_record(&program, a, call.end_ns + 2000, 2 * i + 1, 0);
		put_call(&program, call_of(10000 * i + 5000, 40, 9, 2));
		/* Before its call has returned. */
		put_record(&program, b, 10000 * i + 5500, 2 * i + 2, 0);
	}
	ranked = finish(&program, 0, 0);
	host = &ranked.report->host;
	assert_true(host->any);
	assert_int_equal(host->calls, 200);
	assert_int_equal(host->kernels_tied, 200);
	assert_int_equal(host->calls_tied, 200);
	assert_int_equal(host->kernels_untied, 0);
	assert_int_equal(host->call.total_ns, 100 * 1000 + 4950 + 100 * LAUNCH_NS);
	assert_int_equal(host->thread_count, 2);
	assert_int_equal(host->threads[0].thread, 40);
	assert_int_equal(host->threads[0].calls, 150);
	assert_int_equal(host->threads[1].total_ns, 50 * 1000 + 2500);
	row = find_kernel(ranked.report, "a");
	assert_int_equal(row->host.tied, 100);
	assert_int_equal(row->host.threads, 2);
	assert_int_equal(row->host.call.min_ns, 1000);
	assert_int_equal(row->host.call.max_ns, 1099);
	assert_true(fabs(row->host.call.median_ns - 1049.5) < 0.01);
	assert_true(fabs(row->host.call_p99_ns - 1098) < 0.01);
	assert_int_equal(row->host.queue.min_ns, 2000);
	assert_int_equal(row->host.queue.max_ns, 2000);
	row = find_kernel(ranked.report, "b");
	assert_int_equal(row->host.threads, 1);
	assert_int_equal(row->host.queue.timed, 100);
	assert_int_equal(row->host.queue.max_ns, 0);
	assert_int_equal(ranked.report->operator_count, 1);
	assert_int_equal(ranked.report->operators[0].host.tied, 200);
	assert_int_equal(ranked.report->operators[0].host.threads, 2);
	assert_int_equal(ranked.report->operators[0].host.call.total_ns, host->call.total_ns);
	ranked_end(&ranked);
}

/* Case 1: all kernels of one graph launch share its id, on whatever stream they run. */
static void test_report_host_ties_every_node(void **state)
{
	struct program program;
	struct ranked ranked;
	const struct kp_kernel_row *row;
	uint32_t node, branch, eager;

	(void)state;
	begin(&program);
	node = config_of(&program, "node", 7, 8);
	branch = config_of(&program, "branch", 99, 8); /* a stream that no call names */
	eager = config_of(&program, "eager", 7, 1);
	for (uint32_t i = 0; i < 10; i++) {
		struct kp_host_call call = call_of(100000 * i, 1, 7, 0);

		memset(call.block, 0, sizeof(call.block));
		call.kind = KP_HOST_GRAPH;
		call.kernels = 24;
		call.end_ns = call.start_ns + 2400;
		put_call(&program, call);
		for (uint32_t k = 0; k < 24; k++)
			put_record(&program, k % 3 == 2 ? branch : node,
				   100000 * i + 5000 + 1000 * k, 3 * i + 1, k + 1);
		put_call(&program, call_of(100000 * i + 50000, 1, 7, 1));
		put_record(&program, eager, 100000 * i + 60000, 3 * i + 2, 0);
	}
	ranked = finish(&program, 0, 0);
	assert_int_equal(ranked.report->host.kernels_tied, 250);
	assert_int_equal(ranked.report->host.calls_tied, 20);
	assert_int_equal(ranked.report->host.graph_calls, 10);
	row = find_kernel(ranked.report, "node");
	assert_int_equal(row->host.tied, 160);
	assert_int_equal(row->host.call.max_ns, 100); /* its part of the call */
	assert_int_equal(row->host.queue.timed, 10);  /* the first of each launch */
	assert_int_equal(row->host.queue.max_ns, 2600);
	row = find_kernel(ranked.report, "branch");
	assert_int_equal(row->host.tied, 80);
	assert_int_equal(row->host.queue.timed, 0);
	ranked_end(&ranked);
}

/* The GPU never catches up with a queue of 1000 launches: nothing balances, and all are tied. */
static void test_report_host_ties_a_long_queue(void **state)
{
	struct program program;
	struct ranked ranked;
	const struct kp_kernel_row *row;
	uint32_t config;

	(void)state;
	begin(&program);
	config = config_of(&program, "k", 7, 4);
	for (uint32_t i = 0; i < 100000; i++) {
		put_call(&program, call_of(4000 * (uint64_t)i, 1, 7, 4));
		put_record(&program, config, 4000 * (uint64_t)i + 4000000, i + 1, 0);
	}
	ranked = finish(&program, 0, 0);
	assert_int_equal(ranked.report->host.kernels_tied, 100000);
	row = find_kernel(ranked.report, "k");
	assert_int_equal(row->host.queue.min_ns, 4000000 - LAUNCH_NS);
	assert_int_equal(row->host.queue.max_ns, 4000000 - LAUNCH_NS);
	ranked_end(&ranked);
}

/*
 * Three streams in three threads, every 64th launch waited for; `drop`: one record in so many is
 * missing. Each kernel waits for as long as its grid says, so that a wrong tie shows. Returns how
 * many were tied.
 */
static uint64_t run_streams(uint32_t kinds, uint32_t drop, bool with_ids, bool killed)
{
	struct program program;
	struct ranked ranked;
	uint64_t tied;
	uint32_t configs[3][8];
	uint64_t dropped = 0;

	begin(&program);
	for (uint32_t s = 0; s < 3; s++)
		for (uint32_t k = 0; k < kinds; k++) {
			char name[16];

			snprintf(name, sizeof(name), "s%uk%u", s, k);
			configs[s][k] = config_of(&program, name, 7 + s, k + 1);
		}
	for (uint32_t i = 0; i < 60000; i++) {
		uint32_t s = i % 3, kind = i / 3 * 7 % 11 % kinds;
		uint64_t at_ns = 5000 * (uint64_t)i + (i / 192) * 100000;
		struct kp_host_call call = call_of(at_ns, 40 + s, 7 + s, kind + 1);

		call.correlation = with_ids ? i + 1 : 0;
		put_call(&program, call);
		if (drop && i % drop == drop / 2) {
			dropped++;
			continue;
		}
		put_record(&program, configs[s][kind], at_ns + LAUNCH_NS + 100 * (kind + 1) + 40000,
			   i + 1, 0);
	}
	ranked = killed ? rank_files(&program.file, 1, false) : finish(&program, dropped, 0);
	tied = ranked.report->host.kernels_tied;
	assert_int_equal(tied + ranked.report->host.kernels_untied, program.records);
	for (size_t i = 0; i < ranked.report->kernel_count; i++) {
		const struct kp_kernel_row *row = &ranked.report->kernels[i];
		uint64_t waits_ns = 40000 + 100 * (uint64_t)(row->mangled[3] - '0' + 1);

		if (!row->host.tied)
			continue;
		assert_int_equal(row->host.queue.min_ns, waits_ns);
		assert_int_equal(row->host.queue.max_ns, waits_ns);
		assert_int_equal(row->host.threads, 1);
	}
	ranked_end(&ranked);
	return tied;
}

static void test_report_host_ties_nothing_wrongly(void **state)
{
	(void)state;
	assert_int_equal(run_streams(1, 0, false, false), 60000);
	assert_int_equal(run_streams(5, 0, false, false), 60000);
	/* Ended by a signal: no counts; tied is what was in balance, which is nearly all. */
	assert_in_range(run_streams(1, 0, false, true), 59000, 60000);
	/* Records are missing: shapes tell, where they differ, and ids always do. */
	assert_in_range(run_streams(5, 5000, false, false), 30000, 60000 - 12);
	assert_in_range(run_streams(1, 5000, false, false), 0, 60000 - 12);
	assert_in_range(run_streams(5, 5000, false, true), 0, 60000 - 12);
	assert_int_equal(run_streams(1, 50, true, false), 60000 - 1200);
	assert_int_equal(run_streams(3, 0, true, true), 60000);
}

/* More threads than any program has do not make the report hold more: the rest are one. */
static void test_report_host_bounds_threads(void **state)
{
	const uint32_t beyond = 10;
	struct program program;
	struct ranked ranked;
	const struct kp_report_host *host;
	uint64_t calls = 0;

	(void)state;
	begin(&program);
	for (uint32_t i = 0; i < KP_HOST_THREADS_MOST + beyond; i++)
		put_call(&program, call_of(2000 * i, i + 1, 7, 1));
	ranked = finish(&program, 0, 0);
	host = &ranked.report->host;
	assert_int_equal(host->calls, program.calls);
	assert_int_equal(host->thread_count, KP_HOST_THREADS_MOST + 1);
	for (size_t i = 0; i < host->thread_count; i++) {
		assert_int_equal(host->threads[i].calls, host->threads[i].thread ? 1 : beyond);
		calls += host->threads[i].calls;
	}
	assert_int_equal(calls, program.calls);
	ranked_end(&ranked);
}

/* More streams than any program has: nothing is tied by order any more. */
static void test_report_host_bounds_streams(void **state)
{
	struct program program;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	begin(&program);
	config = config_of(&program, "k", 7, 4);
	for (uint32_t i = 0; i <= KP_TIES_LANES_MOST; i++)
		put_call(&program, call_of(2000 * i, 1, 100 + i, 4));
	for (uint32_t i = 1; i <= 10; i++) {
		put_call(&program, call_of(2000 * (KP_TIES_LANES_MOST + i), 1, 7, 4));
		put_record(&program, config, 2000 * (KP_TIES_LANES_MOST + i) + 1500, i, 0);
	}
	ranked = finish(&program, KP_TIES_LANES_MOST + 1, 0);
	assert_int_equal(ranked.report->host.kernels_tied, 0);
	assert_int_equal(ranked.report->host.kernels_untied, 10);
	ranked_end(&ranked);
}

/* Calls that were not kept: the order of the others says nothing any more. */
static void test_report_host_distrusts_lost_calls(void **state)
{
	struct program program;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	begin(&program);
	config = config_of(&program, "k", 7, 4);
	for (uint32_t i = 0; i < 10; i++) {
		if (i != 4)
			put_call(&program, call_of(10000 * i, 1, 7, 4));
		put_record(&program, config, 10000 * i + 5000, i + 1, 0);
	}
	ranked = finish(&program, 0, 1);
	assert_int_equal(ranked.report->host.kernels_untied, 10);
	assert_int_equal(ranked.report->host.calls_tied, 0);
	assert_int_equal(ranked.report->host.calls_lost, 1);
	assert_int_equal(ranked.report->host.call.total_ns, 9 * LAUNCH_NS);
	ranked_end(&ranked);
}

/* Two threads in calls on one stream at the same time: who was first is not known. */
static void test_report_host_leaves_contended_calls(void **state)
{
	struct program program;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	begin(&program);
	config = config_of(&program, "k", 7, 4);
	for (uint32_t i = 0; i < 10; i++) {
		struct kp_host_call call = call_of(10000 * i, 40 + i % 2, 7, 4);

		call.end_ns = call.start_ns + (i == 4 ? 11000 : 1000);
		put_call(&program, call);
		put_record(&program, config, 10000 * i + 5000, i + 1, 0);
	}
	ranked = finish(&program, 0, 0);
	assert_int_equal(ranked.report->host.kernels_tied, 8);
	assert_int_equal(ranked.report->host.kernels_untied, 2);
	ranked_end(&ranked);
}

/* Case 44: an id of 0 is «not attributed», and is never one of many. */
static void test_report_host_ties_no_id_of_zero(void **state)
{
	struct program program;
	struct ranked ranked;
	uint32_t config;

	(void)state;
	begin(&program);
	config = config_of(&program, "k", 7, 4);
	for (uint32_t i = 0; i < 10; i++) {
		put_call(&program, call_of(10000 * i, 1, 7, 4));
		put_record(&program, config, 10000 * i + 5000, 0, 0);
	}
	ranked = finish(&program, 0, 0);
	assert_int_equal(ranked.report->host.kernels_tied, 0);
	assert_int_equal(ranked.report->host.kernels_untied, 10);
	ranked_end(&ranked);
}

/* Without --host nothing of it is there. */
static void test_report_host_absent(void **state)
{
	struct program program;
	struct ranked ranked;

	(void)state;
	begin(&program);
	put_record(&program, config_of(&program, "k", 7, 4), 5000, 1, 0);
	ranked = finish(&program, 0, 0);
	assert_false(ranked.report->host.any);
	assert_int_equal(ranked.report->host.kernels_untied, 0);
	assert_int_equal(ranked.report->kernels[0].host.tied, 0);
	ranked_end(&ranked);
}

static const struct kp_gap_part *part(const struct ranked *ranked, enum kp_gap_cause cause)
{
	return &ranked->report->timeline->idle[0].parts[cause];
}

/* What calls say of gaps: kernels of 500 ns, one cause after the other, 20 times over. */
static void test_report_host_gaps(void **state)
{
	struct program program;
	struct ranked ranked;
	uint32_t k, id = 0;
	uint64_t now = 1000000;

	(void)state;
	begin(&program);
	k = config_of(&program, "k", 7, 1);
	put_call(&program, call_of(0, 40, 7, 1));
	put_record(&program, k, now, ++id, 0);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t idle = now + 500;

		put_call(&program, call_of(idle - 1500, 40, 7, 1)); /* in time: 3 µs is the GPU's */
		now = idle + 3000;
		put_record(&program, k, now, ++id, 0);
		idle = now + 500;
		put_call(&program, call_of(idle - 2000, 40, 7, 1)); /* in time, but late */
		now = idle + 40000;
		put_record(&program, k, now, ++id, 0);
		idle = now + 500;
		put_call(&program, call_of(idle - 500, 40, 7, 1));  /* under way when it ran dry */
		put_call(&program, call_of(idle + 6000, 40, 7, 1)); /* and right behind that */
		put_record(&program, k, idle + 2000, ++id, 0);
		put_record(&program, k, idle + 9000, ++id, 0);
		idle += 9500;
		put_call(&program, call_of(idle + 400000, 40, 7, 1)); /* something else was done */
		now = idle + 403000;
		put_record(&program, k, now, ++id, 0);
	}
	ranked = finish(&program, 0, 0);
	assert_int_equal(ranked.report->host.kernels_untied, 0);
	assert_int_equal(part(&ranked, KP_GAP_OWN)->total_ns, 20 * 3000);
	assert_int_equal(part(&ranked, KP_GAP_DEVICE)->total_ns, 20 * 40000);
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->total_ns, 20 * (2000 + 6500));
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->gaps, 40);
	assert_int_equal(part(&ranked, KP_GAP_HOST)->total_ns, 20 * 403000);
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		assert_int_equal(part(&ranked, (enum kp_gap_cause)i)->inferred_ns, 0);
	assert_int_equal(part(&ranked, KP_GAP_UNKNOWN)->total_ns, 0);
	assert_int_equal(ranked.report->timeline->idle[0].idle_ns,
			 ranked.report->span_ns - ranked.report->busy_ns);
	ranked_end(&ranked);
}

/* A kernel whose call is not known keeps what was inferred. */
static void test_report_host_gaps_untied(void **state)
{
	struct program program;
	struct ranked ranked;
	uint32_t k;

	(void)state;
	begin(&program);
	k = config_of(&program, "k", 7, 1);
	put_call(&program, call_of(0, 40, 9, 3)); /* of another stream */
	for (uint32_t i = 0; i < 50; i++)
		put_record(&program, k, 5000 * i + 2000, i + 1, 0);
	ranked = finish(&program, 0, 3);
	assert_int_equal(ranked.report->host.kernels_tied, 0);
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->gaps, 49 - KP_GAP_REGULAR);
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->inferred_ns,
			 part(&ranked, KP_GAP_LAUNCH)->total_ns);
	ranked_end(&ranked);
}

/* An iteration's share is measured too, when the trace is read again. */
static void test_report_host_gaps_of_iterations(void **state)
{
	const struct kp_iteration_row *row;
	struct program program;
	struct ranked ranked;
	uint32_t k[2];

	(void)state;
	begin(&program);
	k[0] = config_of(&program, "a", 7, 1);
	k[1] = config_of(&program, "b", 7, 2);
	for (uint32_t i = 0; i < 100; i++) {
		put_call(&program, call_of(5000 * i, 40, 7, 1 + i % 2));
		put_record(&program, k[i % 2], 5000 * i + 1500, i + 1, 0);
	}
	ranked = finish(&program, 0, 0);
	assert_int_equal(ranked.report->timeline->iteration_count, 1);
	row = &ranked.report->timeline->iterations[0];
	assert_int_equal(row->kernels.max, 2);
	assert_true(row->launch_bound);
	assert_false(row->launch_inferred);
	assert_true(fabs(row->launch_ns - 4500) < 1); /* of the two, the one within */
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_host_gaps),
		cmocka_unit_test(test_report_host_gaps_untied),
		cmocka_unit_test(test_report_host_gaps_of_iterations),
		cmocka_unit_test(test_report_host_times),
		cmocka_unit_test(test_report_host_ties_every_node),
		cmocka_unit_test(test_report_host_ties_a_long_queue),
		cmocka_unit_test(test_report_host_ties_nothing_wrongly),
		cmocka_unit_test(test_report_host_bounds_threads),
		cmocka_unit_test(test_report_host_bounds_streams),
		cmocka_unit_test(test_report_host_distrusts_lost_calls),
		cmocka_unit_test(test_report_host_leaves_contended_calls),
		cmocka_unit_test(test_report_host_ties_no_id_of_zero),
		cmocka_unit_test(test_report_host_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
