/* Prefill and decode by their attention kernels: told where that is clear, and else not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/phase_pattern.h"
#include "tests/unit/report_trace.h"

struct sequence {
	struct kp_phase_pattern pattern;
	uint64_t at_ns;
};

/* One layer: two kernels of 100 ns and one of attention of 200 ns, 50 ns apart. */
static void layer(struct sequence *sequence, enum kp_pattern_kernel says)
{
	const enum kp_pattern_kernel kernels[] = {KP_PATTERN_OTHER, says, KP_PATTERN_OTHER};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t length_ns = i == 1 ? 200 : 100;

		kp_phase_pattern_add(&sequence->pattern, kernels[i], sequence->at_ns,
				     sequence->at_ns + length_ns);
		sequence->at_ns += length_ns + 50;
	}
}

static void layers(struct sequence *sequence, enum kp_pattern_kernel says, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		layer(sequence, says);
}

static void test_phase_pattern_tells_both(void **state)
{
	struct kp_pattern_sum sums[KP_PHASE_COUNT];
	struct sequence sequence = {.at_ns = 1000};

	(void)state;
	for (unsigned request = 0; request < 2; request++) {
		layers(&sequence, KP_PATTERN_PREFILL, 32);
		layers(&sequence, KP_PATTERN_DECODE, 320);
	}
	assert_true(kp_phase_pattern_result(&sequence.pattern, sums));
	assert_int_equal(sums[KP_PHASE_PREFILL].attention, 64);
	assert_int_equal(sums[KP_PHASE_PREFILL].stretches, 2);
	/* From the first attention kernel of a stretch to its last. */
	assert_int_equal(sums[KP_PHASE_PREFILL].kernels, 2 * (32 + 31 * 2));
	assert_int_equal(sums[KP_PHASE_DECODE].kernels, 2 * (320 + 319 * 2));
	assert_int_equal(sums[KP_PHASE_DECODE].kernel_ns, 2 * (320 * 200 + 319 * 200));
	assert_int_equal(sums[KP_PHASE_DECODE].wall_ns, 2 * (319 * 550 + 200));
}

static void test_phase_pattern_tells_no_mixture(void **state)
{
	struct kp_pattern_sum sums[KP_PHASE_COUNT];
	struct sequence mixed = {.at_ns = 1000}, unclear = {.at_ns = 1000}, few = {.at_ns = 1000};
	struct sequence none = {.at_ns = 1000};

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		layer(&mixed, KP_PATTERN_PREFILL);
		layer(&mixed, KP_PATTERN_DECODE);
	}
	assert_false(kp_phase_pattern_result(&mixed.pattern, sums));
	layers(&unclear, KP_PATTERN_DECODE, 100);
	layers(&unclear, KP_PATTERN_UNCLEAR, 100);
	assert_false(kp_phase_pattern_result(&unclear.pattern, sums));
	layers(&few, KP_PATTERN_DECODE, 15);
	assert_false(kp_phase_pattern_result(&few.pattern, sums));
	layers(&none, KP_PATTERN_OTHER, 100);
	assert_false(kp_phase_pattern_result(&none.pattern, sums));
}

/* The rules' variants, through a report; a range that says so comes first. */
static struct ranked rank_serving(bool with_range)
{
	struct trace_file file;
	uint32_t other, prefill, decode;
	uint64_t at_ns = 0;

	trace_file_begin(&file, 1);
	describe_process(&file, "host");
	other = trace_file_config(&file, "gemm_kernel", 0, 3);
	prefill = trace_file_config(&file, "BatchPrefillWithPagedKVCacheKernel", 0, 3);
	decode = trace_file_config(&file, "BatchDecodeWithPagedKVCacheKernel", 0, 3);
	for (unsigned i = 0; i < 200; i++) {
		launch(&file, other, at_ns, at_ns + 1000);
		launch(&file, i < 40 ? prefill : decode, at_ns + 2000, at_ns + 3000);
		at_ns += 4000;
	}
	if (with_range) {
		struct kp_range range = {.start_ns = BASE_NS, .end_ns = BASE_NS + 160000};

		assert_int_equal(kp_writer_intern(file.writer, "", 0, &range.domain), KP_OK);
		assert_int_equal(kp_writer_intern(file.writer, "prefill", 7, &range.name), KP_OK);
		assert_int_equal(kp_writer_range(file.writer, &range), KP_OK);
	}
	return rank_files(&file, 1, false);
}

static void test_phase_pattern_in_a_report(void **state)
{
	struct ranked ranked = rank_serving(false);
	const struct kp_timeline *timeline = ranked.report->timeline;

	(void)state;
	assert_int_equal(timeline->phase_count, 2);
	assert_string_equal(timeline->phases[0].name, "prefill");
	assert_true(timeline->phases[0].by_pattern);
	assert_int_equal(timeline->phases[0].kernels, 40 + 39);
	assert_int_equal(timeline->phases[1].kernels, 160 + 159);
	ranked_end(&ranked);
	ranked = rank_serving(true);
	timeline = ranked.report->timeline;
	assert_int_equal(timeline->phase_count, 1);
	assert_false(timeline->phases[0].by_pattern);
	assert_int_equal(timeline->phases[0].ranges, 1);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phase_pattern_tells_both),
		cmocka_unit_test(test_phase_pattern_tells_no_mixture),
		cmocka_unit_test(test_phase_pattern_in_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
