/*
 * Memory traffic in reports: of recorded runs against what ncu measured for the same launches, and
 * of small ones that are made up. See tests/recorded/README.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

/* Reads of a launch, bytes. A part of the mangled name and the grid say which kernel it is. */
struct truth {
	const char *name;
	uint32_t grid[2];
	double bytes;
};

// clang-format off
/* The findings on figures that cannot be: how many, and the first. */
static size_t claims(const struct kp_report *report)
{
	size_t count = 0;

	for (size_t i = 0; i < report->findings.count; i++)
		count += report->findings.items[i].id == KP_FINDING_ABOVE_PHYSICS;
	return count;
}

static const struct kp_finding *first_claim(const struct kp_report *report)
{
	size_t i = 0;

	while (report->findings.items[i].id != KP_FINDING_ABOVE_PHYSICS)
		i++;
	return &report->findings.items[i];
}

static const struct truth truths[] = {
	{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", {4, 22}, 23.077e6},
	{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", {4, 24}, 25.183e6},
	{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", {4, 8}, 8.390e6},
	{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", {4, 24}, 23.085e6},
	{"cudnn_generated_fort_native_sdpa", {1, 16}, 9.863e6},
	{"splitKreduce_kernel", {64, 1}, 0.009e6},
	{"reduce_kernelILi512ELi1E", {1, 1}, 0.058e6},
	{"BinaryFunctorIN3c108BFloat16ES5_S5_NS0_15binary_internal10MulFunctor", {16, 1}, 0.021e6},
	{"BinaryFunctorIfffNS0_15binary_internal10MulFunctor", {32, 1}, 0.014e6},
	{"BinaryFunctorIN3c108BFloat16", {22, 1}, 0.007e6},
	{"CUDAFunctor_add", {8, 1}, 0.018e6},
	{"bfloat16_copy_kernel", {8, 1}, 0.004e6},
	{"rsqrt_kernel", {1, 1}, 0.006e6},
	{"CUDAFunctorOnSelf_add", {1, 1}, 0.005e6},
	{"pow_tensor_scalar", {8, 1}, 0.005e6},
	{"silu_kernel", {22, 1}, 0.013e6},
	{"unrolled_elementwise_kernel", {16, 1}, 0.030e6},
};
// clang-format on

#define TRUTHS (sizeof(truths) / sizeof(*truths))

static struct ranked rank_recorded(const char *name)
{
	const struct kp_report_options options = {.threshold_pct = 30};
	char path[512];
	const char *paths[] = {path};
	struct ranked ranked;
	size_t bad;

	snprintf(path, sizeof(path), "%s/%s.kprof", RECORDED, name);
	assert_int_equal(kp_reader_open(paths, 1, &ranked.reader, &bad), KP_OK);
	assert_int_equal(kp_report_build(ranked.reader, &options, &ranked.report), KP_OK);
	return ranked;
}

static const struct kp_shape_row *find_shape(const struct kp_report *report,
					     const struct truth *truth)
{
	for (size_t k = 0; k < report->kernel_count; k++) {
		const struct kp_kernel_row *kernel = &report->kernels[k];

		for (size_t i = 0; i < kernel->shape_count; i++) {
			if (strstr(kernel->mangled, truth->name) &&
			    kernel->shapes[i].grid[0] == truth->grid[0] &&
			    kernel->shapes[i].grid[1] == truth->grid[1])
				return &kernel->shapes[i];
		}
	}
	return NULL;
}

/* Large kernels within a part of the truth, all within their errors, and hardly any byte left. */
static void judge(const char *name, double part)
{
	struct ranked ranked = rank_recorded(name);
	unsigned known = 0, covered = 0;

	assert_true(ranked.report->traffic.any);
	for (size_t i = 0; i < TRUTHS; i++) {
		const struct kp_shape_row *shape = find_shape(ranked.report, &truths[i]);
		assert_non_null(shape);
		const struct kp_traffic *read = &shape->traffic.metrics[KP_METRIC_DRAM_READ];
		double off = fabs(read->mean - truths[i].bytes);

		if (truths[i].bytes > 5e6)
			assert_int_not_equal(read->source, KP_TRAFFIC_UNKNOWN);
		if (read->source == KP_TRAFFIC_UNKNOWN)
			continue;
		known++;
		covered += off <= read->ci95;
		if (off > part * truths[i].bytes && off > 0.2e6)
			print_error("%s: %s: %g ± %g, truth %g\n", name, truths[i].name, read->mean,
				    read->ci95, truths[i].bytes);
		assert_true(off <= part * truths[i].bytes || off <= 0.2e6);
		assert_true(truths[i].bytes < 5e6 || read->ci95 < 0.05 * truths[i].bytes);
	}
	print_message("%s: %u of %zu known, %u covered\n", name, known, TRUTHS, covered);
	assert_true(covered >= 0.9 * known);
	const struct kp_attribution_totals *totals =
		&ranked.report->gpus[0].traffic->totals[KP_METRIC_DRAM_READ];
	assert_true(fabs(totals->unattributed) < 0.02 * totals->sampled);
	ranked_end(&ranked);
}

static void test_report_traffic_agrees_with_ncu_in_eager_runs(void **state)
{
	(void)state;
	judge("decode_eager_10us", 0.01);
	judge("decode_eager_50us", 0.01);
}

static void test_report_traffic_agrees_with_ncu_in_graphs(void **state)
{
	(void)state;
	judge("decode_graph_10us", 0.02);
	judge("decode_graph_50us", 0.02);
}

static void test_report_traffic_names_what_limits(void **state)
{
	struct ranked ranked = rank_recorded("decode_eager_50us");
	const struct kp_kernel_row *first =
		&ranked.report->kernels[ranked.report->kernels_by_time[0]];

	(void)state;
	assert_int_equal(first->traffic.source, KP_TRAFFIC_ESTIMATED);
	assert_int_equal(first->traffic.peak_source, KP_CEILING_DATASHEET);
	assert_true(first->traffic.peak_pct > 50 && first->traffic.peak_pct < 60);
	/* Tensor pipes were not sampled: what keeps it from memory's limit cannot be told. */
	assert_true(isnan(first->traffic.headroom));
	assert_int_equal(first->traffic.bound, KP_BOUND_UNKNOWN);
	assert_int_equal(claims(ranked.report), 0);
	assert_true(isnan(first->traffic.tensor_pct));
	ranked_end(&ranked);
}

/* ---- made up ---- */

/* A GPU whose memory gives 1000 GB/s. */
static void find_ceilings(void *context, const struct kp_device_info *device,
			  const struct kp_text *driver_name, struct kp_ceilings *out)
{
	(void)context;
	(void)device;
	(void)driver_name;
	*out = (struct kp_ceilings){0};
	out->of[KP_CEILING_READ] = out->of[KP_CEILING_WRITE] = out->of[KP_CEILING_COPY] =
		(struct kp_ceiling){KP_CEILING_MEASURED, 1000, 1000, 1000};
	out->of[KP_CEILING_TENSOR_BF16] = (struct kp_ceiling){KP_CEILING_MEASURED, 100, 100, 100};
}

/* Launches of 100 µs one after the other, samples of 10 µs that all read so many bytes. */
static struct ranked rank_metrics(const char *metrics, uint64_t read_bytes, uint64_t tensor_cycles)
{
	const struct kp_ceilings_finder finder = {.find = find_ceilings};
	const struct kp_report_options options = {.threshold_pct = 30, .ceilings = &finder};
	struct kp_counters_info counters = {0};
	struct kp_device_info device = {0};
	struct trace_file file;
	struct ranked ranked;
	const char *path;
	size_t bad;

	trace_file_begin(&file, 1);
	path = file.path;
	KP_SET(&device, DEVICE, device, 0);
	KP_SET(&device, DEVICE, sm_count, 10);
	KP_SET(&device, DEVICE, sm_clock_khz, 1000000);
	assert_int_equal(kp_writer_device(file.writer, &device), KP_OK);
	uint32_t config = trace_file_config(&file, "steady", 0, 7);
	for (uint64_t i = 0; i < 50; i++)
		launch(&file, config, i * 100000, i * 100000 + 100000);
	KP_SET(&counters, COUNTERS, number, 0);
	KP_SET(&counters, COUNTERS, device, 0);
	KP_SET(&counters, COUNTERS, metrics, text(metrics));
	assert_int_equal(kp_writer_counters(file.writer, &counters), KP_OK);
	for (uint64_t i = 0; i < 500; i++) {
		struct kp_counter_sample sample = {.begin_ns = BASE_NS + i * 10000,
						   .end_ns = BASE_NS + i * 10000 + 10000,
						   .values = {read_bytes, 0, tensor_cycles}};
		assert_int_equal(kp_writer_samples(file.writer, &sample, 1), KP_OK);
	}
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	assert_int_equal(kp_reader_open(&path, 1, &ranked.reader, &bad), KP_OK);
	assert_int_equal(kp_report_build(ranked.reader, &options, &ranked.report), KP_OK);
	trace_file_end(&file);
	return ranked;
}

static struct ranked rank_steady(uint64_t read_bytes, uint64_t tensor_cycles)
{
	return rank_metrics("dram_read_bytes r byte\ndram_write_bytes w byte\n"
			    "tensor_active_cycles t cycle\n",
			    read_bytes, tensor_cycles);
}

static void test_report_traffic_measures_bandwidth_and_intensity(void **state)
{
	/* 8 MB in 10 µs are 800 GB/s; 10 SMs at 1 GHz have 100,000 cycles then. */
	struct ranked ranked = rank_steady(8000000, 25000);
	const struct kp_row_traffic *traffic = &ranked.report->kernels[0].traffic;

	(void)state;
	assert_int_equal(traffic->source, KP_TRAFFIC_MEASURED);
	assert_true(fabs(traffic->gbps - 800) < 8);
	assert_true(fabs(traffic->peak_pct - 80) < 1);
	assert_true(fabs(traffic->tensor_pct - 25) < 0.3);
	/* A quarter of 100 TFLOP/s at 800 GB/s. */
	assert_true(fabs(traffic->flop_per_byte - 25e3 / 800) < 0.5);
	assert_int_equal(traffic->bound, KP_BOUND_MEMORY);
	ranked_end(&ranked);
	ranked = rank_steady(1000000, 90000);
	assert_int_equal(ranked.report->kernels[0].traffic.bound, KP_BOUND_COMPUTE);
	assert_true(fabs(ranked.report->kernels[0].traffic.headroom - 100 / 90.0) < 0.02);
	ranked_end(&ranked);
}

/* What moves nothing is as far from memory's limit as can be, not unknown. */
static void test_report_traffic_takes_nothing_for_an_answer(void **state)
{
	struct ranked ranked = rank_steady(0, 50000);
	const struct kp_row_traffic *traffic = &ranked.report->kernels[0].traffic;

	(void)state;
	assert_true(traffic->gbps == 0 && traffic->peak_pct == 0);
	assert_int_equal(traffic->bound, KP_BOUND_LATENCY);
	assert_true(fabs(traffic->headroom - 2) < 0.02);
	ranked_end(&ranked);
	ranked = rank_steady(0, 90000);
	assert_int_equal(ranked.report->kernels[0].traffic.bound, KP_BOUND_COMPUTE);
	ranked_end(&ranked);
}

/* What lies above the ceiling is a finding, and no number of it is told. */
static void test_report_traffic_rejects_what_cannot_be(void **state)
{
	struct ranked ranked = rank_steady(33600000, 0);
	const struct kp_row_traffic *traffic = &ranked.report->kernels[0].traffic;

	(void)state;
	assert_int_equal(traffic->source, KP_TRAFFIC_UNKNOWN);
	assert_int_equal(traffic->metrics[KP_METRIC_DRAM_READ].source, KP_TRAFFIC_UNKNOWN);
	assert_true(isnan(traffic->gbps) && isnan(traffic->bytes) && isnan(traffic->peak_pct));
	assert_int_equal(claims(ranked.report), 1);
	assert_non_null(strstr(first_claim(ranked.report)->sentence, "336 %"));
	ranked_end(&ranked);
}

/* Reads alone, too, where writes were not sampled. */
static void test_report_traffic_rejects_reads_that_cannot_be(void **state)
{
	struct ranked ranked = rank_metrics("dram_read_bytes r byte\n", 33600000, 0);
	const struct kp_row_traffic *traffic = &ranked.report->kernels[0].traffic;

	(void)state;
	assert_int_equal(traffic->metrics[KP_METRIC_DRAM_READ].source, KP_TRAFFIC_UNKNOWN);
	assert_true(fabs(traffic->claimed_pct - 336) < 1);
	assert_int_equal(claims(ranked.report), 1);
	ranked_end(&ranked);
	ranked = rank_metrics("dram_read_bytes r byte\n", 8000000, 0);
	assert_int_equal(ranked.report->kernels[0].traffic.metrics[KP_METRIC_DRAM_READ].source,
			 KP_TRAFFIC_MEASURED);
	assert_int_equal(claims(ranked.report), 0);
	ranked_end(&ranked);
}

static void test_report_traffic_is_absent_without_samples(void **state)
{
	struct kp_counters_info counters = {0};
	struct trace_file file;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	launch(&file, trace_file_config(&file, "alone", 0, 7), 0, 1000);
	KP_SET(&counters, COUNTERS, number, 0);
	KP_SET(&counters, COUNTERS, absent, text("not permitted"));
	assert_int_equal(kp_writer_counters(file.writer, &counters), KP_OK);
	ranked = rank_files(&file, 1, false);
	assert_false(ranked.report->traffic.any);
	assert_int_equal(ranked.report->traffic.absent.length, strlen("not permitted"));
	assert_null(ranked.report->gpus[0].traffic);
	assert_int_equal(ranked.report->kernels[0].traffic.source, KP_TRAFFIC_UNKNOWN);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_traffic_agrees_with_ncu_in_eager_runs),
		cmocka_unit_test(test_report_traffic_agrees_with_ncu_in_graphs),
		cmocka_unit_test(test_report_traffic_names_what_limits),
		cmocka_unit_test(test_report_traffic_measures_bandwidth_and_intensity),
		cmocka_unit_test(test_report_traffic_takes_nothing_for_an_answer),
		cmocka_unit_test(test_report_traffic_rejects_what_cannot_be),
		cmocka_unit_test(test_report_traffic_rejects_reads_that_cannot_be),
		cmocka_unit_test(test_report_traffic_is_absent_without_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
