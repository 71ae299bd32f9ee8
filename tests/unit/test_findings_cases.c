/*
 * Findings of whole traces: public faults that concern them (lost launches, overlapping and
 * stepping times, names within names, graph replays, correlation id 0), each by its kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static struct trace_file file;

static void put(uint32_t config, uint64_t start_ns, uint64_t end_ns, uint32_t correlation,
		uint64_t node)
{
	struct kp_launch launch = {.start_ns = BASE_NS + start_ns,
				   .end_ns = BASE_NS + end_ns,
				   .config = config,
				   .correlation = correlation,
				   .graph_node = node,
				   .graph = node != 0};

	if (kp_writer_launch(file.writer, &launch) != KP_OK)
		abort();
}

static uint32_t begin(const char *name)
{
	trace_file_begin(&file, 1);
	return trace_file_config(&file, name, 0, 7);
}

static const struct kp_finding *told(const struct ranked *ranked, enum kp_finding_id id)
{
	for (size_t i = 0; i < ranked->report->findings.count; i++)
		if (ranked->report->findings.items[i].id == id)
			return &ranked->report->findings.items[i];
	return NULL;
}

static const struct kp_finding_held *held(const struct ranked *ranked, enum kp_finding_id id)
{
	for (size_t i = 0; i < ranked->report->findings.held_count; i++)
		if (ranked->report->findings.held[i].finding.id == id)
			return &ranked->report->findings.held[i];
	return NULL;
}

static void issue(uint64_t issued, uint64_t recorded)
{
	struct kp_counts counts = {0};

	KP_SET(&counts, COUNTS, kernels_issued, issued);
	KP_SET(&counts, COUNTS, kernels_recorded, recorded);
	KP_SET(&counts, COUNTS, records_dropped, 0);
	if (kp_writer_counts(file.writer, &counts) != KP_OK)
		abort();
}

/* Only the first iteration of a loop in a graph is recorded: the rest is not idle (case 2). */
static void test_findings_case_02_under_recorded_is_not_idle(void **state)
{
	struct ranked ranked;

	(void)state;
	uint32_t k = begin("loop_body_kernel");
	for (uint32_t i = 0; i < 10; i++)
		put(k, i * 100000, i * 100000 + 1000, i + 1, 1);
	issue(1000, 10);
	ranked = rank_files(&file, 1, true);
	assert_non_null(told(&ranked, KP_FINDING_INCOMPLETE));
	assert_null(told(&ranked, KP_FINDING_GPU_IDLE));
	assert_int_equal(held(&ranked, KP_FINDING_GPU_IDLE)->by, KP_FINDING_INCOMPLETE);
	assert_null(strstr(ranked.report->advice, "Kernels run only"));
	ranked_end(&ranked);
	k = begin("loop_body_kernel"); /* all of them are there: then it is idle */
	for (uint32_t i = 0; i < 10; i++)
		put(k, i * 100000, i * 100000 + 1000, i + 1, 1);
	issue(10, 10);
	ranked = rank_files(&file, 1, true);
	assert_null(told(&ranked, KP_FINDING_INCOMPLETE));
	assert_non_null(told(&ranked, KP_FINDING_GPU_IDLE));
	ranked_end(&ranked);
}

/* A duration that runs past the next kernel of its stream: raw and clipped (case 18). */
static void test_findings_case_18_overlap_on_one_stream(void **state)
{
	struct ranked ranked;

	(void)state;
	uint32_t k = begin("k");
	put(k, 0, 1500000, 1, 0);
	put(k, 1000000, 2000000, 2, 0);
	ranked = rank_files(&file, 1, true);
	assert_non_null(told(&ranked, KP_FINDING_BROKEN_TIMES));
	assert_non_null(
		strstr(told(&ranked, KP_FINDING_BROKEN_TIMES)->sentence, "2.000 ms of 2.500 ms"));
	/* What may be won never exceeds the time that went by. */
	for (size_t i = 0; i < ranked.report->findings.count; i++)
		assert_false(ranked.report->findings.items[i].win.span_bound_pct > 100.001);
	ranked_end(&ranked);
	k = begin("k");
	put(k, 0, 1000000, 1, 0);
	put(k, 1000000, 2000000, 2, 0);
	ranked = rank_files(&file, 1, true);
	assert_null(told(&ranked, KP_FINDING_BROKEN_TIMES));
	ranked_end(&ranked);
}

/* The clock steps back two seconds: flagged, and gaps are not judged (case 21). */
static void test_findings_case_21_clock_step(void **state)
{
	const uint64_t second_ns = 1000000000;
	struct ranked ranked;

	(void)state;
	uint32_t k = begin("k");
	for (uint32_t i = 0; i < 100; i++)
		put(k, 10 * second_ns + i * 1000000, 10 * second_ns + i * 1000000 + 1000, i + 1, 0);
	for (uint32_t i = 100; i < 200; i++)
		put(k, 8 * second_ns + i * 1000000, 8 * second_ns + i * 1000000 + 1000, i + 1, 0);
	ranked = rank_files(&file, 1, true);
	assert_non_null(told(&ranked, KP_FINDING_BROKEN_TIMES));
	assert_non_null(strstr(told(&ranked, KP_FINDING_BROKEN_TIMES)->sentence, "went back"));
	assert_null(told(&ranked, KP_FINDING_GPU_IDLE));
	assert_int_equal(held(&ranked, KP_FINDING_GPU_IDLE)->by, KP_FINDING_BROKEN_TIMES);
	ranked_end(&ranked);
}

/* A word within somebody's template arguments raises nothing (case 39). */
static void test_findings_case_39_names_within_names(void **state)
{
	struct ranked ranked;

	(void)state;
	/* mine<sgemm_ffma, tf32_64x8>(float*) */
	uint32_t a = begin("_Z4mineI10sgemm_ffma9tf32_64x8EvPf");
	uint32_t b = trace_file_config(&file, "_Z5otherI4rope3addEvPf", 0, 7);
	put(a, 0, 600000, 1, 0);
	put(b, 600000, 1000000, 2, 0);
	ranked = rank_files(&file, 1, true);
	assert_null(told(&ranked, KP_FINDING_TENSOR_CORES_UNUSED));
	assert_null(told(&ranked, KP_FINDING_WIDE_TYPE));
	assert_null(told(&ranked, KP_FINDING_SKINNY_GEMM));
	/* Two kernels of one short name stay two: the larger one is the candidate, alone. */
	assert_int_equal(told(&ranked, KP_FINDING_CANDIDATE)->kernel_ns, 600000);
	ranked_end(&ranked);
}

/* Replays of a graph: the node with the time is named, not the launch (case 42). */
static void test_findings_case_42_graph_nodes(void **state)
{
	struct ranked ranked;
	uint64_t now = 0;

	(void)state;
	uint32_t big = begin("flash_attention_kernel");
	uint32_t small = trace_file_config(&file, "rope_kernel", 0, 7);
	for (uint32_t replay = 0; replay < 50; replay++) {
		for (uint64_t node = 1; node <= 4; node++) {
			uint64_t ns = node == 2 ? 60000 : 10000;

			put(node == 2 ? big : small, now, now + ns, replay + 1, node);
			now += ns;
		}
	}
	ranked = rank_files(&file, 1, true);
	assert_int_equal(ranked.report->findings.items[0].id, KP_FINDING_CANDIDATE);
	assert_string_equal(ranked.report->findings.items[0].subject, "attention");
	assert_int_equal(ranked.report->findings.items[0].kernel_ns, 50 * 60000);
	assert_null(told(&ranked, KP_FINDING_LAUNCH_BOUND));
	ranked_end(&ranked);
}

/* Correlation id 0 is «unattributed»: such kernels are no graph launch, and all count (case 44). */
static void test_findings_case_44_correlation_zero(void **state)
{
	struct ranked ranked;

	(void)state;
	uint32_t k = begin("flash_attention_kernel");
	for (uint32_t i = 0; i < 100; i++)
		put(k, i * 10000, i * 10000 + 9000, 0, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(told(&ranked, KP_FINDING_CANDIDATE)->kernel_ns, 100 * 9000);
	assert_null(told(&ranked, KP_FINDING_INCOMPLETE));
	ranked_end(&ranked);
}

/* The closing advice is the first finding's. */
static void test_findings_advice_is_the_first_finding(void **state)
{
	struct ranked ranked;

	(void)state;
	uint32_t k = begin("flash_attention_kernel");
	put(k, 0, 1000000, 1, 0);
	ranked = rank_files(&file, 1, true);
	const char *sentence = ranked.report->findings.items[0].sentence;
	assert_int_equal(strncmp(ranked.report->advice, sentence, strlen(sentence)), 0);
	assert_non_null(strstr(ranked.report->advice, ranked.report->findings.items[0].remedy));
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings_case_02_under_recorded_is_not_idle),
		cmocka_unit_test(test_findings_case_18_overlap_on_one_stream),
		cmocka_unit_test(test_findings_case_21_clock_step),
		cmocka_unit_test(test_findings_case_39_names_within_names),
		cmocka_unit_test(test_findings_case_42_graph_nodes),
		cmocka_unit_test(test_findings_case_44_correlation_zero),
		cmocka_unit_test(test_findings_advice_is_the_first_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
