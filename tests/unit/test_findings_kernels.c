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
