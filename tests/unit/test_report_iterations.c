/*
 * Iterations and phases: what repeats is found and what does not is left alone, on sequences made
 * by hand; lengths, warm-up, outliers; NVTX ranges.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/iterations.h"
#include "analyzers/phases.h"
#include "tests/unit/report_trace.h"

#define KINDS 16
#define LAYERS 12
#define LAYER 8                   /* kernels */
#define STEP (LAYERS * LAYER + 3) /* kernels of a step */
#define KERNEL_NS 1000
#define GAP_NS 500

static struct trace_file file;
static uint32_t config[KINDS], correlation;
static uint64_t now;

static void begin(void)
{
	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	for (unsigned i = 0; i < KINDS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel_%c", 'a' + (int)i);
		config[i] = trace_file_config(&file, name, 0, 7);
	}
	now = correlation = 0;
}

static void put(unsigned kind, uint32_t id, uint64_t node)
{
	struct kp_launch one = {.start_ns = BASE_NS + now,
				.end_ns = BASE_NS + now + KERNEL_NS,
				.config = config[kind],
				.correlation = id,
				.graph_node = node,
				.graph = node != 0};

	if (kp_writer_launch(file.writer, &one) != KP_OK)
		abort();
	now += KERNEL_NS + GAP_NS;
}

static void eager(unsigned kind)
{
	put(kind, ++correlation, 0);
}

/* A step of a model: embedding, layers, head, sampling. */
static void put_step(void)
{
	eager(8);
	for (unsigned i = 0; i < LAYERS * LAYER; i++)
		eager(i % LAYER);
	eager(9);
	eager(10);
}

static void put_range(const char *name, uint64_t begin_ns, uint64_t end_ns, uint32_t thread)
{
	struct kp_range range = {
		.start_ns = BASE_NS + begin_ns, .end_ns = BASE_NS + end_ns, .thread = thread};

	if (kp_writer_intern(file.writer, "", 0, &range.domain) != KP_OK ||
	    kp_writer_intern(file.writer, name, strlen(name), &range.name) != KP_OK ||
	    kp_writer_range(file.writer, &range) != KP_OK)
		abort();
}

static struct ranked finish(const char *iterations)
{
	const struct kp_report_options options = {
		.threshold_pct = 30, .timeline = true, .iterations = iterations};
	const char *path = file.path;
	struct ranked ranked;
	size_t bad;

	if (kp_writer_flush(file.writer) != KP_OK ||
	    kp_reader_open(&path, 1, &ranked.reader, &bad) != KP_OK ||
	    kp_report_build(ranked.reader, &options, &ranked.report) != KP_OK)
		abort();
	trace_file_end(&file);
	return ranked;
}

static const struct kp_iteration_row *only_row(const struct ranked *ranked)
{
	assert_int_equal(ranked->report->timeline->iteration_count, 1);
	return &ranked->report->timeline->iterations[0];
}

/* Steps, not their layers; the last is open, for its end is not known. */
static void test_iterations_are_steps(void **state)
{
	const struct kp_iteration_row *row;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 50; i++)
		put_step();
	ranked = finish(NULL);
	row = only_row(&ranked);
	assert_int_equal(row->count, 49);
	assert_int_equal(row->warmup, 0);
	assert_int_equal(row->irregular, 0);
	assert_false(row->by_range);
	assert_int_equal(row->kernels.min, STEP);
	assert_int_equal(row->kernels.max, STEP);
	assert_int_equal(row->wall.min, STEP * (KERNEL_NS + GAP_NS));
	assert_int_equal(row->wall.max, STEP * (KERNEL_NS + GAP_NS));
	assert_int_equal(row->busy.max, STEP * KERNEL_NS);
	assert_int_equal(row->wall_total_ns, 49 * STEP * (KERNEL_NS + GAP_NS));
	assert_int_equal(row->outlier_count, 0);
	assert_false(row->launch_bound);
	ranked_end(&ranked);
}

/* Set-up before, strays in between, and a kernel that comes with every eighth step. */
static void test_iterations_bear_noise(void **state)
{
	const struct kp_iteration_row *row;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 300; i++)
		eager(11 + i % 2);
	for (unsigned i = 0; i < 200; i++) {
		put_step();
		if (i % 8 == 7)
			eager(13);
		if (i % 29 == 3)
			eager(i % 11);
	}
	ranked = finish(NULL);
	row = only_row(&ranked);
	assert_true(row->count >= 195 && row->count <= 200);
	assert_true(row->kernels.min >= STEP - 2 && row->kernels.max <= STEP + 2);
	ranked_end(&ranked);
}

/* Requests of equal length are the larger unit; of unequal length steps are all that repeats. */
static void test_iterations_of_requests(void **state)
{
	struct ranked ranked;

	(void)state;
	for (unsigned equal = 0; equal < 2; equal++) {
		begin();
		for (unsigned request = 0; request < 12; request++) {
			eager(15); /* prefill */
			for (unsigned i = 0; i < 59; i++)
				eager(12 + i % 3);
			for (unsigned i = 0; i < (equal ? 40 : 30 + request * 7 % 12); i++)
				put_step();
		}
		ranked = finish(NULL);
		if (equal)
			assert_int_equal(only_row(&ranked)->kernels.max, 60 + 40 * STEP);
		else
			assert_true(fabs(only_row(&ranked)->kernels.median - STEP) < 1);
		ranked_end(&ranked);
	}
}

/* No repetition is found where there is none, and none of a single kernel. */
static void test_iterations_are_not_invented(void **state)
{
	uint64_t random = 88172645463325252ULL;
	struct ranked ranked;

	(void)state;
	for (unsigned kinds = 1; kinds <= KINDS; kinds += 5) {
		begin();
		for (unsigned i = 0; i < 5000; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			eager((unsigned)(random >> 11) % kinds);
		}
		ranked = finish(NULL);
		assert_int_equal(ranked.report->timeline->iteration_count, 0);
		ranked_end(&ranked);
	}
	begin();
	ranked = finish(NULL);
	assert_int_equal(ranked.report->timeline->iteration_count, 0);
	ranked_end(&ranked);
}

/* Case 42: graphs are looked at by node, and a launch of one is an iteration. */
static void test_iterations_of_graphs(void **state)
{
	const struct kp_iteration_row *row;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 40; i++) {
		correlation++;
		for (unsigned k = 0; k < 50; k++)
			put(0, correlation, k + 1); /* all alike: only the launch tells */
		now += 20000;
	}
	ranked = finish(NULL);
	row = only_row(&ranked);
	assert_null(row->anchor);
	assert_int_equal(row->count, 39);
	assert_int_equal(row->kernels.max, 50);
	assert_int_equal(row->gain.gaps, 0);
	assert_true(row->gain.node_measured);
	assert_true(row->gain.node_low_ns == GAP_NS);
	ranked_end(&ranked);
}

/* Nothing but layers in a graph: the launch is the unit, not the layer. */
static void test_iterations_of_graphs_of_layers(void **state)
{
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 40; i++) {
		correlation++;
		for (unsigned k = 0; k < LAYERS * LAYER; k++)
			put(k % LAYER, correlation, k + 1);
	}
	ranked = finish(NULL);
	assert_null(only_row(&ranked)->anchor);
	assert_int_equal(only_row(&ranked)->kernels.max, LAYERS * LAYER);
	ranked_end(&ranked);
}

/* A long slow stretch is not called warm-up. */
static void test_iterations_without_end_of_warmup(void **state)
{
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 200; i++) {
		put_step();
		now += i < 80 ? 100000 : 0;
	}
	ranked = finish(NULL);
	assert_int_equal(only_row(&ranked)->warmup, 0);
	assert_int_equal(only_row(&ranked)->count, 199);
	ranked_end(&ranked);
}

/* The first are slow, one later is: warm-up is trimmed, the outlier told with its longest gap. */
static void test_iterations_warmup_and_outliers(void **state)
{
	const struct kp_iteration_row *row;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 40; i++) {
		put_step();
		now += i < 3 ? 100000 : 0;
		if (i == 20)
			now += 2000000;
	}
	ranked = finish(NULL);
	row = only_row(&ranked);
	assert_int_equal(row->warmup, 3);
	assert_int_equal(row->count, 36);
	assert_int_equal(row->outlier_count, 1);
	assert_int_equal(row->outliers_shown, 1);
	assert_int_equal(row->outliers[0].number, 20);
	assert_int_equal(row->outliers[0].wall_ns, STEP * (KERNEL_NS + GAP_NS) + 2000000);
	assert_int_equal(row->outliers[0].busy_ns, STEP * KERNEL_NS);
	assert_int_equal(row->outliers[0].longest_gap_ns, 2000000 + GAP_NS);
	assert_int_equal(row->outliers[0].longest_gap_cause, KP_GAP_UNKNOWN);
	assert_int_equal(row->wall.max, row->outliers[0].wall_ns);
	ranked_end(&ranked);
}

/* What launches hold up: the share, and what a graph would save at least and at most. */
static void test_iterations_launch_bound(void **state)
{
	const struct kp_iteration_row *row;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 40; i++)
		for (unsigned k = 0; k < KINDS; k++) {
			eager(k);
			now += k == KINDS - 1 ? 50000 : 4000; /* 4.5 µs each, and a pause */
		}
	ranked = finish(NULL);
	row = only_row(&ranked);
	assert_true(row->launch_bound);
	assert_true(row->launch_inferred);
	assert_true(fabs(row->launch_ns - 15 * 4500) < 1000);
	assert_int_equal(row->gain.gaps, KINDS - 1); /* without the pause between two */
	assert_true(fabs(row->gain.high_ns - 15 * (4500 - 400)) < 1);
	assert_true(fabs(row->gain.low_ns - 15 * (4500 - 1000)) < 1000);
	assert_false(row->gain.node_measured);
	ranked_end(&ranked);
}

/* Ranges that are asked for are the iterations; kernels count where they start. */
static void test_iterations_by_range(void **state)
{
	const struct kp_iteration_row *row;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 10; i++) {
		uint64_t from = now;

		for (unsigned k = 0; k < 5; k++)
			eager(k);
		put_range("turn", from, now - 1000, 1); /* ends in the gap behind the fifth */
		eager(6);
		now += 10000;
	}
	put_range("turn", 100, 200, 2);                /* within the first */
	put_range("turn", UINT64_MAX - 5000000, 5, 2); /* nonsense */
	ranked = finish("turn");
	row = only_row(&ranked);
	assert_true(row->by_range);
	assert_string_equal(row->anchor, "turn");
	assert_int_equal(row->count, 10);
	assert_int_equal(row->kernels.min, 5);
	assert_int_equal(row->kernels.max, 5);
	assert_int_equal(row->wall.min, 5 * (KERNEL_NS + GAP_NS) - 1000);
	assert_int_equal(row->busy.min, 5 * KERNEL_NS - 500);
	assert_int_equal(ranked.report->timeline->ranges_found, 12);
	assert_int_equal(ranked.report->timeline->ranges_left_out, 2);
	ranked_end(&ranked);
	begin();
	put_step();
	ranked = finish("nowhere");
	assert_int_equal(ranked.report->timeline->iteration_count, 0);
	assert_int_equal(ranked.report->timeline->ranges_found, 0);
	ranked_end(&ranked);
}

/* Phases by ranges, joined where they nest; busy time is cut at their borders. */
static void test_iterations_phases(void **state)
{
	const struct kp_timeline *timeline;
	struct ranked ranked;

	(void)state;
	begin();
	for (unsigned i = 0; i < 10; i++)
		eager(i); /* each 1000 of 1500 ns */
	put_range("Prefill", 0, 3000, 1);
	put_range("decode step 1", 3000, 9500, 1);
	put_range("decode", 4000, 9000, 1);
	put_range("decode_attention", 9500, 14000, 1);
	ranked = finish(NULL);
	timeline = ranked.report->timeline;
	assert_int_equal(timeline->phase_count, 2);
	assert_string_equal(timeline->phases[0].name, "prefill");
	assert_int_equal(timeline->phases[0].ranges, 1);
	assert_int_equal(timeline->phases[0].wall_ns, 3000);
	assert_int_equal(timeline->phases[0].kernels, 2);
	assert_int_equal(timeline->phases[0].busy_ns, 2000);
	assert_string_equal(timeline->phases[1].name, "decode");
	assert_int_equal(timeline->phases[1].ranges, 2);
	assert_int_equal(timeline->phases[1].wall_ns, 6500);
	assert_int_equal(timeline->phases[1].kernels, 5);
	assert_int_equal(timeline->phases[1].busy_ns, 4000 + 500);
	ranked_end(&ranked);
}

static void test_iterations_phase_names(void **state)
{
	(void)state;
	assert_int_equal(kp_phase_of(text("prefill")), KP_PHASE_PREFILL);
	assert_int_equal(kp_phase_of(text("DECODE-17")), KP_PHASE_DECODE);
	assert_int_equal(kp_phase_of(text("model forward: decode")), KP_PHASE_DECODE);
	assert_int_equal(kp_phase_of(text("prefill+decode")), KP_PHASE_COUNT);
	assert_int_equal(kp_phase_of(text("decode attention")), KP_PHASE_COUNT);
	assert_int_equal(kp_phase_of(text("decoder")), KP_PHASE_COUNT);
	assert_int_equal(kp_phase_of(text("")), KP_PHASE_COUNT);
	assert_int_equal(kp_phase_of(text("step 7")), KP_PHASE_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iterations_are_steps),
		cmocka_unit_test(test_iterations_bear_noise),
		cmocka_unit_test(test_iterations_of_requests),
		cmocka_unit_test(test_iterations_are_not_invented),
		cmocka_unit_test(test_iterations_of_graphs),
		cmocka_unit_test(test_iterations_of_graphs_of_layers),
		cmocka_unit_test(test_iterations_without_end_of_warmup),
		cmocka_unit_test(test_iterations_warmup_and_outliers),
		cmocka_unit_test(test_iterations_launch_bound),
		cmocka_unit_test(test_iterations_by_range),
		cmocka_unit_test(test_iterations_phases),
		cmocka_unit_test(test_iterations_phase_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
