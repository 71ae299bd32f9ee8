/* Findings about kernels: each raised, and just not raised; their wins, done by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/findings_occupancy.h"
#include "tests/unit/findings_report.h"

static struct made made;

/* A share of kernel time, percent, of 1000 µs; and three small operators for the rest. */
static struct kp_kernel_row *put(const char *operator_name, const char *name, uint64_t pct)
{
	return made_kernel(&made, operator_name, name, 10, pct * 1000);
}

static void put_rest(uint64_t pct)
{
	put("embedding", "rest_a", pct / 3);
	put("sampling", "rest_b", pct / 3);
	put("ssm", "rest_c", pct - pct / 3 * 2);
}

static bool raises(enum kp_finding_id id)
{
	bool is;

	made_find(&made, 95);
	is = found(&made, id);
	made_end(&made);
	return is;
}

static void test_findings_math_attention(void **state)
{
	struct kp_kernel_row *products, *softmax;
	const struct kp_finding *finding;

	(void)state;
	made_begin(&made);
	products = put("attention", "sgemm_128x128_ffma", 10);
	softmax = put("attention", "softmax_warp_forward", 10);
	products->variant = softmax->variant = "math";
	products->dtype = "fp32";
	put_rest(80);
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_MATH_ATTENTION);
	assert_non_null(finding);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_HIGH);
	assert_true(near_to(finding->win.kernel_bound_pct, 20));
	/* The softmax goes; products keep twice fp32 ÷ tf32 of their time. */
	assert_true(finding->win.kernel_likely_pct > 10 && finding->win.kernel_likely_pct < 20);
	made_end(&made);

	made_begin(&made);
	put("attention", "flash_fwd", 20)->variant = "flash";
	put_rest(80);
	assert_false(raises(KP_FINDING_MATH_ATTENTION));
	made_begin(&made);
	put("attention", "softmax", 4)->variant = "math";
	put_rest(96);
	assert_false(raises(KP_FINDING_MATH_ATTENTION));
}

static void put_typed(const char *name, const char *dtype, uint64_t pct)
{
	made_begin(&made);
	put("gemm", name, pct)->dtype = dtype;
	put_rest(100 - pct);
}

static void test_findings_tensor_cores(void **state)
{
	(void)state;
	put_typed("ampere_sgemm_128x64_tn", "fp32", 20);
	assert_true(raises(KP_FINDING_TENSOR_CORES_UNUSED));
	put_typed("ampere_sgemm_128x64_tn", "fp32", 4);
	assert_false(raises(KP_FINDING_TENSOR_CORES_UNUSED));
	put_typed("sm80_xmma_gemm_f32f32_tf32f32_f32_tn", "tf32", 20);
	assert_false(raises(KP_FINDING_TENSOR_CORES_UNUSED));
	put_typed("ampere_bf16_s16816gemm", "bf16", 20);
	assert_false(raises(KP_FINDING_TENSOR_CORES_UNUSED));
	put_typed("ampere_dgemm", "fp64", 20);
	assert_false(raises(KP_FINDING_TENSOR_CORES_UNUSED));
}

/* Counters know better than names. */
static void test_findings_tensor_cores_measured(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_typed("matmul_kernel", NULL, 20);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(20, 0);
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_TENSOR_CORES_UNUSED);
	assert_non_null(finding);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_HIGH);
	made_end(&made);
	put_typed("sgemm_kernel", "fp32", 20);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(20, 40);
	assert_false(raises(KP_FINDING_TENSOR_CORES_UNUSED));
	put_typed("gemm_16x16", "bf16", 20); /* few rows: memory is their limit */
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(20, 0);
	assert_false(raises(KP_FINDING_TENSOR_CORES_UNUSED));
}

static void test_findings_wide_type(void **state)
{
	(void)state;
	put_typed("sm80_xmma_gemm_f32f32_tf32f32_f32_tn", "tf32", 20);
	assert_true(raises(KP_FINDING_WIDE_TYPE));
	put_typed("sm80_xmma_gemm_f32f32_tf32f32_f32_tn", "tf32", 4);
	assert_false(raises(KP_FINDING_WIDE_TYPE));
	put_typed("ampere_sgemm_128x64_tn", "fp32", 20); /* that is the other finding */
	assert_false(raises(KP_FINDING_WIDE_TYPE));
	put_typed("ampere_fp16_s16816gemm", "fp16", 20);
	assert_false(raises(KP_FINDING_WIDE_TYPE));
}

static void test_findings_skinny_gemm(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_typed("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "bf16", 40);
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_SKINNY_GEMM);
	assert_non_null(finding);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_LOW);
	assert_non_null(strstr(finding->sentence, "was not measured"));
	assert_true(isnan(finding->win.span_likely_ns));
	made_end(&made);
	put_typed("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_TNT", "bf16", 40);
	assert_false(raises(KP_FINDING_SKINNY_GEMM));
}

/* From 70 % of the memory's peak on there is little to win. */
static void test_findings_skinny_gemm_measured(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_typed("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "bf16", 40);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(40, 5);
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_SKINNY_GEMM);
	assert_non_null(finding);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_HIGH);
	assert_true(near_to(finding->win.kernel_bound_pct, 40 * 0.6));
	assert_true(near_to(finding->win.kernel_likely_pct, 40 * 0.5));
	made_end(&made);
	put_typed("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "bf16", 40);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(71, 5);
	assert_false(raises(KP_FINDING_SKINNY_GEMM));
}

static const struct kp_fusion_member members[] = {{.kernel = 0, .total_ns = 60000},
						  {.kernel = 1, .total_ns = 20000}};

/* A chain of two kernels, 20 times, in 1000 µs of kernel time. */
static struct kp_fusion_row chain(uint64_t kernel_ns)
{
	made_begin(&made);
	made_kernel(&made, "elementwise", "mul", 20, 3000);
	made_kernel(&made, "norm", "rms", 20, 1000);
	made_kernel(&made, "embedding", "rest", 1, 920000);
	return (struct kp_fusion_row){.name = "RMSNorm",
				      .known = true,
				      .confidence = KP_FUSION_HIGH,
				      .members = members,
				      .member_count = 2,
				      .runs = 20,
				      .kernel_ns = kernel_ns,
				      .alone_pct = 100,
				      .kernel_gain = {20000, 60000},
				      .gap_gain = {5000, 10000},
				      .gain = {25000, 70000}};
}

static bool raises_chain(struct kp_fusion_row row)
{
	made.report.fusion.rows = &row;
	made.report.fusion.count = 1;
	return raises(KP_FINDING_UNFUSED_CHAIN);
}

static void test_findings_unfused_chain(void **state)
{
	const struct kp_fusion_row row = chain(80000);
	const struct kp_finding *finding;
	struct kp_fusion_row other;

	(void)state;
	made.report.fusion.rows = &row;
	made.report.fusion.count = 1;
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_UNFUSED_CHAIN);
	assert_non_null(finding);
	/* What Fusion says, so that the two never disagree. */
	assert_true(near_to(finding->win.kernel_likely_ns, 40000));
	assert_true(near_to(finding->win.kernel_bound_ns, 60000));
	assert_true(near_to(finding->win.span_likely_ns, 47500));
	assert_true(near_to(finding->win.span_bound_ns, 70000));
	assert_string_equal(made.operators[finding->operator_index].name, "elementwise");
	made_end(&made);
	assert_false(raises_chain(chain(49000)));
	other = chain(80000);
	other.known = false; /* neighbours only */
	assert_false(raises_chain(other));
	other = chain(80000);
	other.absorbed = true; /* a product's matter */
	assert_false(raises_chain(other));
}

/* A chain within attention that is written out wins nothing that attention does not win. */
static void test_findings_chain_of_math_attention(void **state)
{
	struct kp_fusion_row row = chain(80000);
	const struct kp_finding *finding;

	(void)state;
	made_end(&made);
	made_begin(&made);
	made_kernel(&made, "attention", "scale", 20, 3000)->variant = "math";
	made_kernel(&made, "norm", "rms", 20, 1000);
	made_kernel(&made, "embedding", "rest", 1, 920000);
	made.report.fusion.rows = &row;
	made.report.fusion.count = 1;
	made_find(&made, 95);
	assert_non_null(told(&made, KP_FINDING_MATH_ATTENTION));
	finding = told(&made, KP_FINDING_UNFUSED_CHAIN);
	assert_non_null(finding);
	assert_true(near_to(finding->win.kernel_bound_ns, 15000)); /* a quarter: the norm */
	assert_true(near_to(finding->win.span_bound_ns, 17500));
	made_end(&made);
}

/* Copies within a chain are promised by it. */
static void test_findings_copies_of_a_chain(void **state)
{
	struct kp_fusion_row row = chain(80000);
	const struct kp_finding *finding;

	(void)state;
	made_end(&made);
	made_begin(&made);
	made_kernel(&made, "copy", "cast", 30, 3000);
	made_kernel(&made, "norm", "rms", 20, 1000);
	made_kernel(&made, "embedding", "rest", 1, 890000);
	made.report.fusion.rows = &row;
	made.report.fusion.count = 1;
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_COPIES_AND_CASTS);
	assert_non_null(finding);
	assert_true(near_to(finding->kernel_ns, 90000));
	/* The chain promises three quarters of its 60 µs. */
	assert_true(near_to(finding->win.kernel_bound_ns, 45000));
	made_end(&made);
}

/* Tiny kernels in a chain that has this much of their 4 ms; its gaps are long. */
static void put_tiny_chain(uint64_t chained_ns)
{
	static struct kp_fusion_member member[2];
	static struct kp_fusion_row row;

	member[0] = (struct kp_fusion_member){.kernel = 0, .total_ns = chained_ns / 2};
	member[1] = (struct kp_fusion_member){.kernel = 1, .total_ns = chained_ns / 2};
	made_begin(&made);
	made_kernel(&made, "rope", "tiny", 1000, 2000);
	made_kernel(&made, "norm", "small", 1000, 2000);
	made_kernel(&made, "embedding", "rest", 10, 500000);
	row = (struct kp_fusion_row){.name = "RMSNorm",
				     .known = true,
				     .confidence = KP_FUSION_HIGH,
				     .members = member,
				     .member_count = 2,
				     .runs = 500,
				     .kernel_ns = chained_ns,
				     .gap_ns = 5000000,
				     .alone_pct = 100,
				     .kernel_gain = {0, (double)chained_ns / 2},
				     .gap_gain = {500000, 5000000},
				     .gain = {500000, 5000000 + (double)chained_ns / 2}};
	made.report.fusion.rows = &row;
	made.report.fusion.count = 1;
	made_find(&made, 95);
}

/* Chains speak for tiny kernels if they have half of them, however long the gaps in them are. */
static void test_findings_tiny_kernels_beside_chains(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_tiny_chain(1900000);
	assert_non_null(told(&made, KP_FINDING_UNFUSED_CHAIN));
	finding = told(&made, KP_FINDING_TINY_KERNELS);
	assert_non_null(finding);
	/* Without the half of the chain's time that the chain promises. */
	assert_true(near_to(finding->win.kernel_bound_ns, 4000000 - 950000));
	made_end(&made);
	put_tiny_chain(2100000);
	assert_non_null(told(&made, KP_FINDING_UNFUSED_CHAIN));
	assert_non_null(held(&made, KP_FINDING_TINY_KERNELS));
	made_end(&made);
}

/* Waits for launches are not the chain's, too: of those 100 µs it wins what the GPU needs itself.
 */
static void test_findings_chain_beside_launches(void **state)
{
	struct kp_fusion_row row = chain(80000);
	const struct kp_finding *finding;

	(void)state;
	row.gap_gain = (struct kp_range_ns){5000, 100000};
	row.gain = (struct kp_range_ns){25000, 160000};
	made.report.fusion.rows = &row;
	made.report.fusion.count = 1;
	made.report.timeline = &made.timeline;
	made.timeline.idle = made.idle;
	made.idle[0].parts[KP_GAP_LAUNCH].total_ns = 3000000;
	made_find(&made, 20);
	assert_non_null(told(&made, KP_FINDING_LAUNCH_BOUND));
	finding = told(&made, KP_FINDING_UNFUSED_CHAIN);
	assert_non_null(finding);
	assert_true(near_to(finding->win.span_bound_ns, 65000));
	made_end(&made);
}

static void test_findings_copies_and_casts(void **state)
{
	(void)state;
	made_begin(&made);
	put("copy", "direct_copy_kernel", 6);
	put_rest(94);
	assert_true(raises(KP_FINDING_COPIES_AND_CASTS));
	made_begin(&made);
	put("copy", "direct_copy_kernel", 4);
	put_rest(96);
	assert_false(raises(KP_FINDING_COPIES_AND_CASTS));
}

static void put_tiny(uint64_t calls, uint64_t mean_ns, uint64_t rest_ns)
{
	made_begin(&made);
	made_kernel(&made, "rope", "tiny", calls, mean_ns);
	made_kernel(&made, "embedding", "rest", 10, rest_ns);
}

static void test_findings_tiny_kernels(void **state)
{
	(void)state;
	put_tiny(1000, 4999, 500000);
	assert_true(raises(KP_FINDING_TINY_KERNELS));
	put_tiny(999, 4999, 500000);
	assert_false(raises(KP_FINDING_TINY_KERNELS));
	put_tiny(1000, 5000, 500000);
	assert_false(raises(KP_FINDING_TINY_KERNELS));
	put_tiny(1000, 1000, 500000); /* a sixth of the time */
	assert_false(raises(KP_FINDING_TINY_KERNELS));
}

/* 128 threads and 32 registers: 16 blocks an SM, 2112 on the GPU. */
static void put_grid(uint32_t blocks, uint64_t mean_ns)
{
	made_begin(&made);
	made_kernel(&made, "rope", "k", 100, mean_ns)->grid[0] = blocks;
	made_kernel(&made, "embedding", "rest", 10, 10 * mean_ns);
}

static void test_findings_tail_wave(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_grid(2112 + 211, 20000); /* 1.1 waves */
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_TAIL_WAVE);
	assert_non_null(finding);
	assert_true(fabs(finding->win.kernel_bound_pct - 100 * 0.45 / 2) < 0.1);
	made_end(&made);
	put_grid(2112, 20000);
	assert_false(raises(KP_FINDING_TAIL_WAVE));
	put_grid(2 * 2112, 20000);
	assert_false(raises(KP_FINDING_TAIL_WAVE));
	put_grid(2112 * 8 / 5 - 1,
		 20000); /* 1.6 waves, a little less: a little more than a fifth */
	assert_true(raises(KP_FINDING_TAIL_WAVE));
	put_grid(2112 * 8 / 5 + 1, 20000);
	assert_false(raises(KP_FINDING_TAIL_WAVE));
	put_grid(2112 + 211, 4000); /* too short */
	assert_false(raises(KP_FINDING_TAIL_WAVE));
	put_grid(2112 + 211, 20000);
	made.kernels[0].registers = 0; /* not known */
	assert_false(raises(KP_FINDING_TAIL_WAVE));
	put_grid(2112 + 211, 20000);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(85, NAN); /* and yet near the limit */
	assert_false(raises(KP_FINDING_TAIL_WAVE));
}

static void test_findings_low_occupancy(void **state)
{
	(void)state;
	put_grid(65, 20000);
	assert_true(raises(KP_FINDING_LOW_OCCUPANCY));
	put_grid(66, 20000); /* half of the SMs, but hardly a warp on each */
	assert_true(raises(KP_FINDING_LOW_OCCUPANCY));
	put_grid(264, 20000); /* an eighth of the warps */
	assert_false(raises(KP_FINDING_LOW_OCCUPANCY));
	put_grid(65, 4000);
	assert_false(raises(KP_FINDING_LOW_OCCUPANCY));
	made_begin(&made); /* a library's attention is made so; one's own is looked at */
	put("attention", "cudnn_sdpa_flash_fprop", 20)->grid[0] = 64;
	made.kernels[0].library = "cuDNN";
	put_rest(80);
	assert_false(raises(KP_FINDING_LOW_OCCUPANCY));
	made_begin(&made);
	put("attention", "our_attention", 20)->grid[0] = 64;
	put_rest(80);
	assert_true(raises(KP_FINDING_LOW_OCCUPANCY));
	made_begin(&made); /* products do with few warps */
	put("gemm", "nvjet_sm90_tst_128x256_64x4", 20)->grid[0] = 132;
	put_rest(80);
	assert_false(raises(KP_FINDING_LOW_OCCUPANCY));
}

/* Few warps may do with many loads each; what was counted says whether they do. */
static void test_findings_low_occupancy_promises(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_grid(132, 20000); /* a block an SM: 4 of 64 warps, with half of the kernel time */
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_LOW_OCCUPANCY);
	assert_true(near_to(finding->win.kernel_likely_ns, 100 * 20000 * (1 - 0.0625) / 2));
	made_end(&made);
	put_grid(132, 20000);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(4, NAN); /* so warps count: half of them will do */
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_LOW_OCCUPANCY);
	assert_true(near_to(finding->win.kernel_likely_ns, 100 * 20000 * (1 - 0.125)));
	made_end(&made);
	put_grid(132, 20000);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made_traffic(60, NAN); /* so it is memory */
	made_find(&made, 95);
	finding = told(&made, KP_FINDING_LOW_OCCUPANCY);
	assert_true(near_to(finding->win.kernel_likely_ns, 100 * 20000 * (1 - 0.75)));
	made_end(&made);
}

static bool occupancy(uint32_t threads, uint32_t registers, uint64_t shared_bytes,
		      struct kp_occupancy *out)
{
	const struct kp_launch_shape shape = {1000, threads, registers, shared_bytes};

	made_begin(&made);
	made_end(&made);
	return kp_occupancy_of(&made.device, &shape, out);
}

/* As cudaOccupancyMaxActiveBlocksPerMultiprocessor has them on compute capability 9.0. */
static void test_findings_occupancy_limits(void **state)
{
	struct kp_occupancy out;

	(void)state;
	assert_true(occupancy(1024, 32, 0, &out));
	assert_int_equal(out.blocks_per_sm, 2); /* threads */
	assert_true(occupancy(32, 16, 0, &out));
	assert_int_equal(out.blocks_per_sm, 32); /* blocks */
	assert_true(occupancy(128, 255, 0, &out));
	assert_int_equal(out.blocks_per_sm, 2); /* registers: 8 warps of 8192 */
	assert_true(occupancy(384, 168, 164308, &out));
	assert_int_equal(out.blocks_per_sm, 1); /* shared memory */
	assert_true(near_to(out.warps_pct, 100 * 12.0 / 64));
	assert_false(occupancy(2049, 32, 0, &out));
	assert_false(occupancy(0, 32, 0, &out));
	assert_false(occupancy(1024, 200, 0, &out)); /* cannot be launched */
	assert_false(occupancy(128, 32, 300000, &out));
}

static void put_shapes(enum kp_shapes_verdict verdict)
{
	made_begin(&made);
	put("attention", "flash_decode", 60);
	made.shapes[0] = (struct kp_stability){
		.verdict = verdict, .count = 40, .versions = 9, .top_pct = 29};
	put_rest(40);
}

static void test_findings_many_shapes(void **state)
{
	(void)state;
	put_shapes(KP_SHAPES_NOT_WORTH);
	made_find(&made, 95);
	assert_non_null(told(&made, KP_FINDING_MANY_SHAPES));
	assert_int_equal(held(&made, KP_FINDING_CANDIDATE)->by, KP_FINDING_MANY_SHAPES);
	made_end(&made);
	put_shapes(KP_SHAPES_FEW_VERSIONS);
	assert_false(raises(KP_FINDING_MANY_SHAPES));
	put_shapes(KP_SHAPES_UNKNOWN);
	assert_false(raises(KP_FINDING_MANY_SHAPES));
}

static void test_findings_near_limit(void **state)
{
	(void)state;
	put_typed("matmul_kernel", "bf16", 60);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made.operators[0].traffic = made_traffic(81, 30);
	made_find(&made, 95);
	assert_non_null(told(&made, KP_FINDING_NEAR_LIMIT));
	assert_int_equal(held(&made, KP_FINDING_CANDIDATE)->by, KP_FINDING_NEAR_LIMIT);
	made_end(&made);
	put_typed("matmul_kernel", "bf16", 60);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made.operators[0].traffic = made_traffic(30, 79);
	made_find(&made, 95);
	assert_false(found(&made, KP_FINDING_NEAR_LIMIT));
	assert_non_null(told(&made, KP_FINDING_CANDIDATE));
	made_end(&made);
}

static void test_findings_candidate(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_typed("matmul_kernel", "bf16", 40);
	made.report.traffic.any = true;
	made.kernels[0].traffic = made.operators[0].traffic = made_traffic(10, 40);
	made_find(&made, 80);
	finding = told(&made, KP_FINDING_CANDIDATE);
	assert_non_null(finding);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_HIGH);
	assert_true(near_to(finding->win.kernel_bound_pct, 40 * 0.6));
	assert_true(near_to(finding->win.kernel_likely_pct, 40 * 0.5));
	assert_true(fabs(finding->win.span_bound_pct - 40 * 0.6 * 0.8) < 1e-3);
	made_end(&made);
	put_typed("matmul_kernel", "bf16", 40); /* without counters: only that it is large */
	made_find(&made, 80);
	finding = told(&made, KP_FINDING_CANDIDATE);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_LOW);
	assert_true(isnan(finding->win.span_likely_ns));
	made_end(&made);
	put_typed("matmul_kernel", "bf16", 30);
	assert_false(raises(KP_FINDING_CANDIDATE));
	put_typed("matmul_kernel", "bf16", 30);
	assert_true(raises(KP_FINDING_NO_HOTSPOT));
	put_typed("matmul_kernel", "bf16", 31);
	assert_false(raises(KP_FINDING_NO_HOTSPOT));
}

/* What only runs beside others shortens nothing. */
static void test_findings_win_counts_what_runs_alone(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_typed("matmul_kernel", "bf16", 40);
	made.kernels[0].alone_ns = made.kernels[0].durations.total_ns / 4;
	made_find(&made, 80);
	finding = told(&made, KP_FINDING_CANDIDATE);
	assert_true(near_to(finding->win.kernel_bound_pct, 40));
	assert_true(fabs(finding->win.span_bound_pct - 40 * 0.8 / 4) < 1e-3);
	made_end(&made);
}

static void test_findings_communication(void **state)
{
	(void)state;
	made_begin(&made);
	put("communication", "ncclDevKernel_AllReduce", 40);
	put_rest(60);
	made_find(&made, 95);
	assert_non_null(told(&made, KP_FINDING_COMMUNICATION));
	assert_false(found(&made, KP_FINDING_CANDIDATE));
	assert_false(found(&made, KP_FINDING_NO_HOTSPOT));
	made_end(&made);
	made_begin(&made);
	put("communication", "ncclDevKernel_AllReduce", 30);
	put_rest(70);
	assert_false(raises(KP_FINDING_COMMUNICATION));
}

static void test_findings_above_physics(void **state)
{
	(void)state;
	put_typed("matmul_kernel", "bf16", 20);
	made.report.traffic.any = true;
	made.kernels[0].traffic.claimed_pct = 336;
	made_find(&made, 95);
	assert_non_null(strstr(told(&made, KP_FINDING_ABOVE_PHYSICS)->sentence, "336 %"));
	made_end(&made);
	put_typed("matmul_kernel", "bf16", 20);
	made.report.traffic.any = true;
	assert_false(raises(KP_FINDING_ABOVE_PHYSICS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings_math_attention),
		cmocka_unit_test(test_findings_tensor_cores),
		cmocka_unit_test(test_findings_tensor_cores_measured),
		cmocka_unit_test(test_findings_wide_type),
		cmocka_unit_test(test_findings_skinny_gemm),
		cmocka_unit_test(test_findings_skinny_gemm_measured),
		cmocka_unit_test(test_findings_unfused_chain),
		cmocka_unit_test(test_findings_chain_of_math_attention),
		cmocka_unit_test(test_findings_copies_of_a_chain),
		cmocka_unit_test(test_findings_chain_beside_launches),
		cmocka_unit_test(test_findings_copies_and_casts),
		cmocka_unit_test(test_findings_tiny_kernels_beside_chains),
		cmocka_unit_test(test_findings_tiny_kernels),
		cmocka_unit_test(test_findings_tail_wave),
		cmocka_unit_test(test_findings_low_occupancy),
		cmocka_unit_test(test_findings_low_occupancy_promises),
		cmocka_unit_test(test_findings_occupancy_limits),
		cmocka_unit_test(test_findings_many_shapes),
		cmocka_unit_test(test_findings_near_limit),
		cmocka_unit_test(test_findings_candidate),
		cmocka_unit_test(test_findings_win_counts_what_runs_alone),
		cmocka_unit_test(test_findings_communication),
		cmocka_unit_test(test_findings_above_physics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
