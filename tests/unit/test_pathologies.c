/*
 * Findings of the launch patterns of samples/pathologies, with the times, grids and names that an
 * H200 gives them, as far as they are known: each problem is named first, and its remedy is
 * promised about what the pattern without the problem saves.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

/* What the promise may be off by, of what the remedy saves. */
#define SLACK 0.2
#define UNKNOWN (-1.0)
#define ITERATIONS 300
/* Before the first iteration: a slow start, as libraries load. */
#define START_NS 20000000U

/* One launch, or with bytes one copy to the host, behind a wait of the GPU. */
struct step {
	const char *name; /* mangled or plain, as in the trace; ignored of a copy */
	uint64_t wait_ns, run_ns;
	uint32_t grid, block, registers, shared_bytes;
	uint64_t copy_bytes;
	bool synchronous;
	uint32_t device;
};

struct pattern {
	const struct step *steps;
	size_t count;
	unsigned repeat;    /* of the steps, an iteration; 0: once */
	double memory_gbps; /* counted the whole time; 0: nothing was counted */
	double tensor_pct;  /* likewise */
};

#define PATTERN(all) .steps = (all), .count = sizeof(all) / sizeof((all)[0])

/* ---- traces ---- */

static void describe_h200(struct trace_file *file, uint32_t number)
{
	char uuid[] = "GPU-0";
	struct kp_device_info device = {0};

	uuid[4] = (char)('0' + number);
	KP_SET(&device, DEVICE, device, number);
	KP_SET(&device, DEVICE, uuid, text(uuid));
	KP_SET(&device, DEVICE, name, text("NVIDIA H200"));
	KP_SET(&device, DEVICE, compute_major, 9);
	KP_SET(&device, DEVICE, compute_minor, 0);
	KP_SET(&device, DEVICE, sm_count, 132);
	KP_SET(&device, DEVICE, sm_clock_khz, 1980000);
	KP_SET(&device, DEVICE, threads_per_sm, 2048);
	KP_SET(&device, DEVICE, registers_per_sm, 65536);
	KP_SET(&device, DEVICE, shared_bytes_per_sm, 233472);
	KP_SET(&device, DEVICE, blocks_per_sm, 32);
	if (kp_writer_device(file->writer, &device) != KP_OK)
		abort();
}

static void put_launch(struct trace_file *file, const struct step *step, uint64_t start_ns)
{
	struct kp_launch_config config = {.device = step->device,
					  .context = 1 + step->device,
					  .stream = 7,
					  .grid = {step->grid, 1, 1},
					  .block = {step->block, 1, 1},
					  .registers = step->registers,
					  .dynamic_shared_bytes = step->shared_bytes};
	uint32_t number;

	if (kp_writer_intern(file->writer, step->name, strlen(step->name), &config.name) != KP_OK ||
	    kp_writer_config(file->writer, &config, &number) != KP_OK)
		abort();
	trace_file_launch(file, number, start_ns, start_ns + step->run_ns);
}

static void put_copy(struct trace_file *file, const struct step *step, uint64_t start_ns)
{
	const struct kp_memop memop = {.start_ns = start_ns,
				       .end_ns = start_ns + step->run_ns,
				       .bytes = step->copy_bytes,
				       .kind = KP_MEMOP_DEVICE_TO_HOST,
				       .device = step->device,
				       .context = 1 + step->device,
				       .stream = 7,
				       .flags = !step->synchronous};

	if (kp_writer_memop(file->writer, &memop) != KP_OK)
		abort();
}

/* Returns when the last iteration ends. */
static uint64_t put_iterations(struct trace_file *file, const struct pattern *pattern)
{
	uint64_t now_ns[2] = {BASE_NS + START_NS, BASE_NS + START_NS};
	size_t count = pattern->count * (pattern->repeat ? pattern->repeat : 1);

	for (unsigned i = 0; i < ITERATIONS; i++) {
		for (size_t s = 0; s < count; s++) {
			const struct step *step = &pattern->steps[s % pattern->count];
			uint64_t start_ns = now_ns[step->device] + step->wait_ns;

			if (step->copy_bytes)
				put_copy(file, step, start_ns);
			else
				put_launch(file, step, start_ns);
			now_ns[step->device] = start_ns + step->run_ns;
		}
	}
	return now_ns[0];
}

static void put_counters(struct trace_file *file, const struct pattern *pattern, uint64_t end_ns)
{
	static const uint64_t step_ns = 50000;
	struct kp_counters_info counters = {0};
	/* 132 SMs at 1.98 GHz. */
	double cycles = 132 * 1.98 * (double)step_ns * pattern->tensor_pct / 100;
	double bytes = pattern->memory_gbps * (double)step_ns;

	KP_SET(&counters, COUNTERS, number, 0);
	KP_SET(&counters, COUNTERS, device, 0);
	KP_SET(&counters, COUNTERS, metrics,
	       text("dram_read_bytes r byte\ndram_write_bytes w byte\n"
		    "tensor_active_cycles t cycle\n"));
	if (kp_writer_counters(file->writer, &counters) != KP_OK)
		abort();
	for (uint64_t at_ns = BASE_NS + START_NS; at_ns + step_ns <= end_ns; at_ns += step_ns) {
		const struct kp_counter_sample sample = {.begin_ns = at_ns,
							 .end_ns = at_ns + step_ns,
							 .values = {(uint64_t)(bytes * 2 / 3),
								    (uint64_t)(bytes / 3),
								    (uint64_t)cycles}};

		if (kp_writer_samples(file->writer, &sample, 1) != KP_OK)
			abort();
	}
}

static struct ranked rank(const struct pattern *pattern)
{
	static const struct step fill = {"_Z11fill_kernelPfm", 0, 5000, 1024, 256, 16, 0, 0, 0, 0};
	struct trace_file file;
	uint64_t end_ns;

	trace_file_begin(&file, 1);
	describe_h200(&file, 0);
	for (size_t i = 0; i < pattern->count; i++) {
		if (!pattern->steps[i].device)
			continue;
		describe_h200(&file, 1);
		break;
	}
	put_launch(&file, &fill, BASE_NS);
	end_ns = put_iterations(&file, pattern);
	if (pattern->memory_gbps > 0)
		put_counters(&file, pattern, end_ns);
	return rank_files(&file, 1, true);
}

/* ---- judging ---- */

static void show(const struct kp_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		print_message("  %zu %s: likely %.1f %% of the span, at most %.1f: %s\n", i + 1,
			      kp_finding_key(findings->items[i].id),
			      findings->items[i].win.span_likely_pct,
			      findings->items[i].win.span_bound_pct, findings->items[i].sentence);
}

/* The finding comes first, and promises `saved_ns` an iteration, over all GPUs, or nothing where
 * that is 0. */
static void judge(const char *name, const struct pattern *pattern, enum kp_finding_id id,
		  double saved_ns)
{
	struct ranked ranked = rank(pattern);
	const struct kp_findings *findings = &ranked.report->findings;
	const struct kp_finding *first = &findings->items[0];
	double likely_ns, bound_ns;

	assert_true(findings->count > 0);
	likely_ns = first->win.span_likely_ns / ITERATIONS;
	bound_ns = first->win.span_bound_ns / ITERATIONS;
	print_message("%s: promised %.1f µs an iteration, at most %.1f, saved %.1f\n", name,
		      likely_ns / 1e3, bound_ns / 1e3, saved_ns / 1e3);
	if (first->id != id)
		show(findings);
	assert_string_equal(kp_finding_key(first->id), kp_finding_key(id));
	if (saved_ns != UNKNOWN) {
		assert_true(fabs(likely_ns - saved_ns) <= SLACK * saved_ns);
		assert_true(saved_ns <= bound_ns * 1.02);
	}
	ranked_end(&ranked);
}

/* With the remedy the finding is gone. */
static void judge_remedy(const struct pattern *pattern, enum kp_finding_id id)
{
	struct ranked ranked = rank(pattern);
	const struct kp_findings *findings = &ranked.report->findings;

	for (size_t i = 0; i < findings->count; i++)
		assert_int_not_equal(findings->items[i].id, id);
	for (size_t i = 0; i < findings->held_count; i++)
		assert_int_not_equal(findings->held[i].finding.id, id);
	ranked_end(&ranked);
}

/* ---- the patterns ---- */

/* Names of PyTorch's and cuBLAS's kernels, as recorded; see tests/operators. */
#define SGEMM                                                                                      \
	"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_"       \
	"aligna4_alignc4_execute_kernel__5x_cublas"
#define SGEMM_CUTLASS                                                                              \
	"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE"
#define TF32_GEMM                                                                                  \
	"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_stage4_warpsize2x2x1_"          \
	"tensor16x8x8_aligna4_alignc4_execute_kernel__5x_cublas"
#define FUSED_NORM                                                                                 \
	"_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIN3c108BFloat16EfLb1EEEviT0_"    \
	"PKT_S7_S7_PS4_S8_PS5_"
#define BF16_GEMM "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNN"
#define SOFTMAX                                                                                    \
	"_ZN43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6320softmax_warp_forwardIfffLi11ELb0ELb0"   \
	"EEEvPT0_PKT_iiiPKbib"
#define FLOAT_CAST                                                                                 \
	"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"         \
	"18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23"              \
	"TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1" \
	"EEEEEviT_T0_T2_T3_T4_T5_"
#define VECTORIZED4 "_ZN2at6native29vectorized_elementwise_kernelILi4E"
#define BF16_CAST                                                                                  \
	"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_kernel_cudaERNS_"   \
	"18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_"
#define SCALE                                                                                      \
	VECTORIZED4                                                                                \
	"NS0_13AUnaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEESt5arrayIPcLm2EEEEviT0_T1_"
#define POW                                                                                        \
	VECTORIZED4                                                                                \
	"ZNS0_51_GLOBAL__N__b1108092_12_PowKernel_cu_751192d7_2139629pow_tensor_scalar_kernel_"    \
	"implIffEEvRNS_18TensorIteratorBaseET0_EUlfE_St5arrayIPcLm2EEEEviS6_T1_"
#define MEAN                                                                                       \
	"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEv" \
	"T1_"
#define ADD_EPS VECTORIZED4 "NS0_21CUDAFunctorOnSelf_addIfEESt5arrayIPcLm2EEEEviT0_T1_"
#define RSQRT                                                                                      \
	VECTORIZED4                                                                                \
	"ZZZNS0_17rsqrt_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE0_clEvEUlfE_St5"  \
	"arrayIPcLm2EEEEviT0_T1_"
#define MUL_ROW                                                                                    \
	"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_13Binary"   \
	"FunctorIfffNS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_" \
	"EEviT1_"
#define MUL_WEIGHT                                                                                 \
	"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_13Binary"   \
	"FunctorIN3c108BFloat16ES5_S5_NS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18Tensor"      \
	"IteratorBaseERKT_EUliE_EEviT1_"
#define ALL_REDUCE "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE"

/* Between projections. Flash takes 0.13 of what the products take in fp32, as recorded in
 * attention_backends.kprof. */
static void test_pathologies_math_attention(void **state)
{
	static const struct step steps[] = {
		{BF16_GEMM, 1000, 950000, 132, 384, 168, 200000, 0, 0, 0},
		{FLOAT_CAST, 1000, 110000, 65536, 128, 32, 0, 0, 0, 0},
		{FLOAT_CAST, 1000, 110000, 65536, 128, 32, 0, 0, 0, 0},
		{SCALE, 1000, 80000, 65536, 128, 32, 0, 0, 0, 0},
		{SCALE, 1000, 80000, 65536, 128, 32, 0, 0, 0, 0},
		{SGEMM, 1000, 3300000, 32768, 128, 128, 40000, 0, 0, 0},
		{SOFTMAX, 1000, 1100000, 65536, 128, 64, 0, 0, 0, 0},
		{SGEMM, 1000, 2600000, 2048, 128, 128, 40000, 0, 0, 0},
		{BF16_CAST, 1000, 60000, 65536, 128, 32, 0, 0, 0, 0},
		{BF16_GEMM, 1000, 300000, 132, 384, 168, 200000, 0, 0, 0},
	};
	static const struct pattern pattern = {PATTERN(steps)};

	(void)state;
	judge("math attention", &pattern, KP_FINDING_MATH_ATTENTION,
	      110e3 * 2 + 80e3 * 2 + 3300e3 + 1100e3 + 2600e3 + 60e3 - 0.13 * 5900e3);
}

/* 8192 rows of 4096, and a projection; the fused kernel reads and writes bf16 once, as the last
 * one here does. */
static void test_pathologies_norm_chain(void **state)
{
	static const struct step steps[] = {
		{FLOAT_CAST, 1000, 50000, 65536, 128, 32, 0, 0, 0, 0},
		{POW, 1000, 67000, 32768, 128, 32, 0, 0, 0, 0},
		{MEAN, 1000, 34000, 2048, 512, 32, 16, 0, 0, 0},
		{ADD_EPS, 1000, 2000, 16, 128, 32, 0, 0, 0, 0},
		{RSQRT, 1000, 2000, 16, 128, 32, 0, 0, 0, 0},
		{MUL_ROW, 1000, 75000, 65536, 128, 32, 0, 0, 0, 0},
		{BF16_CAST, 1000, 50000, 32768, 128, 32, 0, 0, 0, 0},
		{MUL_WEIGHT, 1000, 38000, 65536, 128, 32, 0, 0, 0, 0},
		{BF16_GEMM, 1000, 70000, 132, 384, 168, 200000, 0, 0, 0},
	};
	static const struct pattern pattern = {PATTERN(steps), .repeat = 4};

	(void)state;
	judge("norm chain", &pattern, KP_FINDING_UNFUSED_CHAIN, 4 * (318e3 + 7 * 1e3 - 38e3));
}

/* Launches every 12 µs; in a graph a kernel begins 1 µs behind the other. */
static void test_pathologies_launch_bound(void **state)
{
	static const struct step steps[] = {
		{"_Z11step_kernelPfif", 9800, 2200, 32, 256, 16, 0, 0, 0, 0}};
	static const struct pattern pattern = {PATTERN(steps), .repeat = 64};

	(void)state;
	judge("launch-bound", &pattern, KP_FINDING_LAUNCH_BOUND, 64 * 8800);
}

/* 537 MB of weights by tiles of 16 x 16, then at 88 % of 4.8 TB/s. */
static void test_pathologies_skinny_gemm(void **state)
{
	static const struct step steps[] = {{"_Z10gemm_16x16PK13__nv_bfloat16S1_Pfiii", 1000,
					     488000, 1024, 256, 40, 0, 0, 0, 0}};
	static const struct pattern pattern = {PATTERN(steps), .memory_gbps = 1100};

	(void)state;
	judge("skinny gemm", &pattern, KP_FINDING_SKINNY_GEMM, 488e3 * (1 - 1100 / 4224.0));
}

/* The host waits for 256 KiB, reads them, and launches again; then while kernels run, but the
 * copies stay in their stream. */
static void test_pathologies_synchronous_copies(void **state)
{
	static const struct step steps[] = {
		{"_Z12score_kernelPKfPfi", 85000, 150000, 1024, 256, 32, 0, 0, 0, 0},
		{NULL, 4000, 45000, 0, 0, 0, 0, 262144, true, 0},
	};
	static const struct pattern pattern = {PATTERN(steps)};

	(void)state;
	judge("synchronous copies", &pattern, KP_FINDING_SYNC_COPIES, 85e3 + 4e3 - 8e3);
}

/*
 * Two warps an SM, each with a load in flight, 190 GB/s; then 64 of them at the memory's limit.
 * What more warps win is only known where the bandwidth was counted.
 */
static void test_pathologies_low_occupancy(void **state)
{
	static const struct step steps[] = {
		{"_Z11walk_kernelPKjPjm", 1000, 2000000, 8192, 64, 32, 220000, 0, 0, 0}};
	struct pattern pattern = {PATTERN(steps)};

	(void)state;
	judge("low occupancy", &pattern, KP_FINDING_LOW_OCCUPANCY, UNKNOWN);
	pattern.memory_gbps = 190;
	judge("low occupancy, counted", &pattern, KP_FINDING_LOW_OCCUPANCY,
	      2000e3 * (1 - 190 / 4300.0));
}

/* 8192 cubed at 50 TFLOP/s, in tf32 at 400. */
static void test_pathologies_tensor_cores_unused(void **state)
{
	static const struct step xmma[] = {{SGEMM, 1000, 22000000, 4096, 128, 128, 40000, 0, 0, 0}};
	static const struct step cutlass[] = {
		{SGEMM_CUTLASS, 1000, 22000000, 2048, 256, 218, 74000, 0, 0, 0}};
	struct pattern pattern = {PATTERN(xmma)};

	(void)state;
	judge("fp32 products", &pattern, KP_FINDING_TENSOR_CORES_UNUSED, 22e6 - 2.75e6);
	pattern.steps = cutlass;
	judge("fp32 products, cutlass", &pattern, KP_FINDING_TENSOR_CORES_UNUSED, 22e6 - 2.75e6);
	pattern.memory_gbps = 150;
	judge("fp32 products, counted", &pattern, KP_FINDING_TENSOR_CORES_UNUSED, 22e6 - 2.75e6);
}

/* Nothing can be won. */
static void test_pathologies_at_the_limit(void **state)
{
	static const struct step steps[] = {
		{"_Z12triad_kernelPfPKfS1_fm", 1000, 700000, 1056, 256, 24, 0, 0, 0, 0}};
	static const struct pattern pattern = {PATTERN(steps), .memory_gbps = 4350};

	(void)state;
	judge("at the limit", &pattern, KP_FINDING_NEAR_LIMIT, 0);
}

/* Work of 1.5 and 0.5 ms, then 1 ms each; the time of both GPUs counts. */
static void test_pathologies_imbalance(void **state)
{
	static const struct step steps[] = {
		{BF16_GEMM, 1000, 500000, 132, 384, 168, 200000, 0, 0, 0},
		{BF16_GEMM, 1000, 500000, 132, 384, 168, 200000, 0, 0, 0},
		{BF16_GEMM, 1000, 500000, 132, 384, 168, 200000, 0, 0, 0},
		{ALL_REDUCE, 10, 30000, 4, 512, 96, 0, 0, 0, 0},
		{BF16_GEMM, 1000, 500000, 132, 384, 168, 200000, 0, 0, 1},
		{ALL_REDUCE, 10, 1030000, 4, 512, 96, 0, 0, 0, 1},
	};
	static const struct pattern pattern = {PATTERN(steps)};

	(void)state;
	judge("imbalance", &pattern, KP_FINDING_GPU_IMBALANCE, 2 * 500e3);
}

/* The kernels of the remedies, one each. */
static void test_pathologies_remedies(void **state)
{
	static const struct {
		struct step step;
		double memory_gbps;
		enum kp_finding_id id;
	} remedies[] = {
		{{"_Z9gemv_rowsPK13__nv_bfloat16S1_Pf", 1000, 127000, 512, 256, 54, 0, 0, 0, 0},
		 4224,
		 KP_FINDING_SKINNY_GEMM},
		{{"_Z11walk_kernelPKjPjm", 1000, 70000, 4224, 64, 14, 256, 0, 0, 0},
		 4300,
		 KP_FINDING_LOW_OCCUPANCY},
		{{TF32_GEMM, 1000, 2750000, 1024, 128, 128, 40000, 0, 0, 0},
		 0,
		 KP_FINDING_TENSOR_CORES_UNUSED},
		{{FUSED_NORM, 1000, 38000, 8192, 128, 32, 64, 0, 0, 0},
		 0,
		 KP_FINDING_UNFUSED_CHAIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		const struct pattern pattern = {.steps = &remedies[i].step,
						.count = 1,
						.memory_gbps = remedies[i].memory_gbps};

		judge_remedy(&pattern, remedies[i].id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pathologies_math_attention),
		cmocka_unit_test(test_pathologies_norm_chain),
		cmocka_unit_test(test_pathologies_launch_bound),
		cmocka_unit_test(test_pathologies_skinny_gemm),
		cmocka_unit_test(test_pathologies_synchronous_copies),
		cmocka_unit_test(test_pathologies_low_occupancy),
		cmocka_unit_test(test_pathologies_tensor_cores_unused),
		cmocka_unit_test(test_pathologies_at_the_limit),
		cmocka_unit_test(test_pathologies_imbalance),
		cmocka_unit_test(test_pathologies_remedies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
