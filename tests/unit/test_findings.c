/* Findings about waiting, how findings agree with each other, their order, and the user's wishes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/findings_remedies.h"
#include "tests/unit/findings_report.h"

static struct made made;

/* A matrix product with 59 % of kernel time, 1000 µs in all. */
static void begin(void)
{
	made_begin(&made);
	made_kernel(&made, "gemm", "matmul_kernel", 10, 59000)->dtype = "bf16";
	made_kernel(&made, "rope", "rope_kernel", 10, 21000);
	made_kernel(&made, "sampling", "argmax", 10, 20000);
}

/* Idle time by one cause, in percent of a span of which kernels have busy_pct. */
static void wait_for(enum kp_gap_cause cause, double pct, double busy_pct)
{
	made.idle[0].parts[cause].total_ns = (uint64_t)(1000000 / busy_pct * pct);
	made.idle[0].parts[cause].gaps = 10;
}

static void put_iterations(double wall_ns, double busy_ns, double launch_ns, bool bound)
{
	struct kp_iteration_row *row = &made.iterations[0];

	row->count = row->wall.count = row->busy.count = row->kernels.count = 10;
	row->wall_total_ns = (uint64_t)(10 * wall_ns);
	row->wall.mean = wall_ns;
	row->busy.mean = busy_ns;
	row->kernels.mean = 3;
	row->launch_ns = launch_ns;
	row->launch_bound = bound;
	row->gain = (struct kp_graph_gain){.low_ns = 0.8 * launch_ns, .high_ns = 0.9 * launch_ns};
	made.timeline.iteration_count = 1;
}

static bool raises(enum kp_finding_id id, double busy_pct)
{
	bool is;

	made_find(&made, busy_pct);
	is = found(&made, id);
	made_end(&made);
	return is;
}

/* ---- waiting ---- */

static void test_findings_launch_bound_by_iterations(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	begin();
	put_iterations(250000, 100000, 120000, true);
	made_find(&made, 40);
	finding = &made.found.items[0];
	assert_int_equal(finding->id, KP_FINDING_LAUNCH_BOUND);
	/* Ten iterations, the graph model's bounds. */
	assert_true(near_to(finding->win.span_likely_ns, 10 * 0.8 * 120000));
	assert_true(near_to(finding->win.span_bound_ns, 10 * 0.9 * 120000));
	assert_true(finding->win.kernel_bound_ns == 0);
	made_end(&made);
	begin();
	put_iterations(250000, 100000, 30000, false);
	assert_false(raises(KP_FINDING_LAUNCH_BOUND, 40));
}

static void test_findings_launch_bound_by_gaps(void **state)
{
	(void)state;
	begin();
	wait_for(KP_GAP_LAUNCH, 20.1, 70);
	assert_true(raises(KP_FINDING_LAUNCH_BOUND, 70));
	begin();
	wait_for(KP_GAP_LAUNCH, 19.9, 70);
	assert_false(raises(KP_FINDING_LAUNCH_BOUND, 70));
}

static void test_findings_gpu_idle(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	begin();
	wait_for(KP_GAP_UNKNOWN, 41, 59);
	made_find(&made, 59);
	finding = &made.found.items[0];
	assert_int_equal(finding->id, KP_FINDING_GPU_IDLE);
	assert_true(isnan(finding->win.span_likely_ns)); /* nobody knows */
	made_end(&made);
	begin();
	assert_false(raises(KP_FINDING_GPU_IDLE, 60.1));
}

/* A slow start is no idle GPU where iterations are busy. */
static void test_findings_gpu_idle_looks_at_iterations(void **state)
{
	(void)state;
	begin();
	put_iterations(110000, 100000, 0, false);
	made_find(&made, 20);
	assert_false(found(&made, KP_FINDING_GPU_IDLE));
	assert_non_null(told(&made, KP_FINDING_CANDIDATE));
	made_end(&made);
	begin(); /* which have less than half of the kernels' time: then the whole counts */
	put_iterations(45000, 40000, 0, false);
	assert_true(raises(KP_FINDING_GPU_IDLE, 20));
}

static void test_findings_copies(void **state)
{
	(void)state;
	begin();
	wait_for(KP_GAP_SYNC, 5.1, 90);
	assert_true(raises(KP_FINDING_SYNC_COPIES, 90));
	begin();
	wait_for(KP_GAP_SYNC, 4.9, 90);
	assert_false(raises(KP_FINDING_SYNC_COPIES, 90));
	begin();
	wait_for(KP_GAP_MEMORY, 5.1, 90);
	assert_true(raises(KP_FINDING_MEMORY_COPIES, 90));
	begin();
	wait_for(KP_GAP_MEMORY, 4.9, 90);
	assert_false(raises(KP_FINDING_MEMORY_COPIES, 90));
}

/* A copy that its call waits for is synchronous itself, but stays; kernels can hide as much of the
 * idle time behind it as they run. */
static void test_findings_synchronous_copies(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	begin();
	wait_for(KP_GAP_MEMORY, 15, 70);
	wait_for(KP_GAP_SYNC, 15, 70);
	made.idle[0].synchronous_ns = made.idle[0].parts[KP_GAP_MEMORY].total_ns;
	made_find(&made, 70);
	finding = told(&made, KP_FINDING_SYNC_COPIES);
	assert_non_null(finding);
	assert_false(found(&made, KP_FINDING_MEMORY_COPIES));
	assert_true(fabs(finding->win.span_bound_pct - 30) < 0.01);
	assert_true(fabs(finding->win.span_likely_pct - 15) < 0.01);
	made_end(&made);
	begin();
	wait_for(KP_GAP_SYNC, 80, 20);
	made_find(&made, 20);
	finding = told(&made, KP_FINDING_SYNC_COPIES);
	assert_true(fabs(finding->win.span_bound_pct - 80) < 0.01);
	assert_true(fabs(finding->win.span_likely_pct - 20) < 0.01);
	made_end(&made);
}

static void put_gpus(uint64_t first_ns, uint64_t second_ns, uint64_t communication_ns)
{
	begin();
	made.report.gpu_count = 2;
	made.gpus[0].kernel_ns = first_ns;
	made.gpus[1].kernel_ns = second_ns + communication_ns;
	made.gpus[1].communication_ns = communication_ns;
}

/* What waits in collectives is no work: kernel times are equal, work is not. */
static void test_findings_imbalance(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	put_gpus(1200, 800, 400);
	made_find(&made, 90);
	finding = told(&made, KP_FINDING_GPU_IMBALANCE);
	assert_non_null(finding);
	assert_int_equal(finding->gpu_index, 0);
	assert_true(near_to(finding->win.span_bound_ns, 2 * 200));
	assert_true(near_to(finding->win.span_likely_ns, 2 * 200));
	made_end(&made);
	put_gpus(1200, 800, 100); /* collectives do not take longer than that */
	made_find(&made, 90);
	finding = told(&made, KP_FINDING_GPU_IMBALANCE);
	assert_true(near_to(finding->win.span_likely_ns, 100));
	made_end(&made);
	put_gpus(1149, 851, 400);
	assert_false(raises(KP_FINDING_GPU_IMBALANCE, 90));
	put_gpus(1200, 800, 0); /* perhaps two jobs */
	made_find(&made, 90);
	finding = told(&made, KP_FINDING_GPU_IMBALANCE);
	assert_int_equal(finding->confidence, KP_CONFIDENCE_LOW);
	assert_true(isnan(finding->win.span_likely_ns));
	made_end(&made);
}

/* ---- agreement ---- */

/* 59 % of kernel time are no hotspot where the GPU waits, and nothing of the span is promised. */
static void test_findings_no_candidate_where_the_gpu_waits(void **state)
{
	(void)state;
	begin();
	put_iterations(250000, 100000, 120000, true);
	made_kernel(&made, "copy", "cast", 10, 20000);
	made_find(&made, 40);
	assert_null(told(&made, KP_FINDING_CANDIDATE));
	assert_int_equal(held(&made, KP_FINDING_CANDIDATE)->reason, KP_HELD_RULE);
	assert_int_equal(held(&made, KP_FINDING_CANDIDATE)->by, KP_FINDING_LAUNCH_BOUND);
	assert_int_equal(held(&made, KP_FINDING_GPU_IDLE)->by, KP_FINDING_LAUNCH_BOUND);
	assert_true(told(&made, KP_FINDING_COPIES_AND_CASTS)->win.span_likely_ns == 0);
	assert_true(told(&made, KP_FINDING_COPIES_AND_CASTS)->win.kernel_likely_ns > 0);
	made_end(&made);
}

/* Launches that wait a little take their part of what is promised. */
static void test_findings_win_is_paced_by_launches(void **state)
{
	const struct kp_finding *finding;

	(void)state;
	begin();
	made_kernel(&made, "copy", "cast", 10, 20000);
	wait_for(KP_GAP_LAUNCH, 10, 80); /* 125 µs to 1200 µs of kernels */
	made_find(&made, 90);
	finding = told(&made, KP_FINDING_COPIES_AND_CASTS);
	assert_true(near_to(finding->win.span_likely_ns, 100000 * 1200.0 / 1325));
	assert_true(near_to(finding->win.span_bound_ns, 200000));
	made_end(&made);
}

/* No two of these may ever be told of one operator. */
static void check_agreement(const struct made *all)
{
	static const enum kp_finding_id better[] = {
		KP_FINDING_NEAR_LIMIT,          KP_FINDING_MATH_ATTENTION, KP_FINDING_MANY_SHAPES,
		KP_FINDING_TENSOR_CORES_UNUSED, KP_FINDING_WIDE_TYPE,      KP_FINDING_SKINNY_GEMM,
	};
	const struct kp_finding *candidate = told(all, KP_FINDING_CANDIDATE);

	if (told(all, KP_FINDING_LAUNCH_BOUND))
		assert_null(told(all, KP_FINDING_GPU_IDLE));
	if (told(all, KP_FINDING_GPU_IDLE))
		assert_null(candidate);
	if (candidate)
		assert_null(told(all, KP_FINDING_NO_HOTSPOT));
	for (size_t i = 0; candidate && i < sizeof(better) / sizeof(better[0]); i++) {
		const struct kp_finding *by = told(all, better[i]);

		if (by && by->operator_index == candidate->operator_index)
			assert_true(by->kernel_ns * 2 < candidate->kernel_ns);
	}
	for (size_t i = 0; i < all->found.count; i++) {
		const struct kp_win *win = &all->found.items[i].win;

		assert_false(win->span_likely_ns > win->span_bound_ns);
		assert_false(win->kernel_likely_ns > win->kernel_bound_ns);
		assert_false(win->span_bound_ns > (double)all->report.span_ns * (1 + 1e-9));
		assert_false(win->span_bound_ns < 0 || win->span_likely_ns < 0);
	}
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525U + 1013904223U;
	return (*seed >> 8) % below;
}

/* Many reports with whatever may stand in them. */
static void test_findings_never_contradict(void **state)
{
	static const char *const operators[] = {"gemm", "attention", "elementwise", "norm",
						"copy", "unknown",   "activation"};
	static const char *const names[] = {"nvjet_tst_64x8_a", "sgemm_ffma", "rsqrt_mul", "kernel",
					    "s1688_tf32"};
	static const char *const types[] = {"fp32", "tf32", "bf16", NULL};
	static const char *const variants[] = {"math", "flash", "plain", "cast", NULL};
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		made_begin(&made);
		made.report.traffic.any = draw(&seed, 2);
		for (size_t i = 0; i < 7; i++) {
			struct kp_kernel_row *kernel = made_kernel(
				&made, operators[i], names[draw(&seed, 5)], 1 + draw(&seed, 3000),
				100 + draw(&seed, 1U << (8 + draw(&seed, 12))));
			kernel->dtype = types[draw(&seed, 4)];
			kernel->variant = variants[draw(&seed, 5)];
			kernel->library = draw(&seed, 2) ? "cuBLAS" : NULL;
			kernel->config_count = 1 + draw(&seed, 40);
			made.shapes[kernel->operator_index].verdict =
				(enum kp_shapes_verdict)draw(&seed, 4);
			kernel->grid[0] = 1 + draw(&seed, 5000);
			kernel->alone_ns /= 1 + draw(&seed, 3);
			kernel->traffic = made_traffic(draw(&seed, 101), draw(&seed, 101));
			made.operators[i].traffic = kernel->traffic;
		}
		double busy_pct = 1 + draw(&seed, 99);
		double kernel_ns = 0;
		for (size_t i = 0; i < 7; i++)
			kernel_ns += (double)made.kernels[i].durations.total_ns;
		made.idle[0].parts[draw(&seed, KP_GAP_CAUSE_COUNT)].total_ns =
			(uint64_t)(kernel_ns * (100 / busy_pct - 1));
		made_find(&made, busy_pct);
		check_agreement(&made);
		made_end(&made);
	}
}

/* ---- order and wishes ---- */

static void test_findings_are_ranked_by_likely_win(void **state)
{
	(void)state;
	begin();
	made_kernel(&made, "copy", "cast", 10, 20000);
	wait_for(KP_GAP_SYNC, 20, 70);
	made_find(&made, 75);
	for (size_t i = 1; i < made.found.count; i++) {
		const struct kp_win *a = &made.found.items[i - 1].win;
		const struct kp_win *b = &made.found.items[i].win;

		if (!isnan(a->span_likely_ns) && !isnan(b->span_likely_ns))
			assert_true(a->span_likely_ns >= b->span_likely_ns);
	}
	made_end(&made);
}

static void test_findings_wishes(void **state)
{
	(void)state;
	begin();
	made.options.silenced = 1ULL << KP_FINDING_CANDIDATE;
	made_find(&made, 90);
	assert_int_equal(held(&made, KP_FINDING_CANDIDATE)->reason, KP_HELD_SILENCED);
	made_end(&made);
	begin();
	made.options.min_gain_pct = 54; /* 59 % of 90 % */
	made_find(&made, 90);
	assert_int_equal(held(&made, KP_FINDING_CANDIDATE)->reason, KP_HELD_SMALL);
	made_end(&made);
	begin();
	made.options.min_gain_pct = 53;
	made_find(&made, 90);
	assert_non_null(told(&made, KP_FINDING_CANDIDATE));
	made_end(&made);
}

/* What is silenced still speaks for others: its being there has not changed. */
static void test_findings_silence_uncovers_nothing(void **state)
{
	(void)state;
	begin();
	made.options.silenced = 1ULL << KP_FINDING_LAUNCH_BOUND;
	put_iterations(250000, 100000, 120000, true);
	made_find(&made, 40);
	assert_null(told(&made, KP_FINDING_CANDIDATE));
	assert_null(told(&made, KP_FINDING_GPU_IDLE));
	made_end(&made);
}

/* What helps is said in the words of what the program uses, as far as its kernels tell. */
static void test_findings_remedies_by_framework(void **state)
{
	static const char *const names[] = {NULL, "PyTorch", "XLA"};

	(void)state;
	for (unsigned framework = 0; framework < KP_FRAMEWORK_COUNT; framework++) {
		made_begin(&made);
		made_kernel(&made, "rope", "k", 10, 1000)->library = names[framework];
		made_kernel(&made, "gemm", "nvjet", 10, 9000)->library = "cuBLAS";
		made_find(&made, 10);
		assert_int_equal(kp_framework_of(&made.report), framework);
		assert_string_equal(told(&made, KP_FINDING_GPU_IDLE)->remedy,
				    kp_finding_remedy(KP_FINDING_GPU_IDLE, framework));
		made_end(&made);
	}
	for (unsigned i = 0; i < KP_FINDING_COUNT; i++) {
		for (unsigned framework = 0; framework < KP_FRAMEWORK_COUNT; framework++) {
			const char *remedy = kp_finding_remedy(i, framework);

			assert_true(strlen(remedy) > 0);
			if (framework != KP_FRAMEWORK_PYTORCH)
				assert_null(strstr(remedy, "torch"));
			if (framework != KP_FRAMEWORK_XLA)
				assert_null(strstr(remedy, "jax"));
		}
	}
}

static void test_findings_table(void **state)
{
	enum kp_finding_id id;

	(void)state;
	for (unsigned i = 0; i < KP_FINDING_COUNT; i++) {
		assert_int_equal(kp_finding_of_key(kp_finding_key(i), &id), KP_OK);
		assert_int_equal(id, i);
		assert_string_equal(kp_finding_keys[i], kp_finding_key(i));
		assert_true(strlen(kp_finding_title(i)) && strlen(kp_finding_usual_remedy(i)) &&
			    strlen(kp_finding_rung_reason(i)));
	}
	assert_null(kp_finding_keys[KP_FINDING_COUNT]);
	assert_int_equal(kp_finding_of_key("launch", &id), KP_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings_launch_bound_by_iterations),
		cmocka_unit_test(test_findings_launch_bound_by_gaps),
		cmocka_unit_test(test_findings_gpu_idle),
		cmocka_unit_test(test_findings_gpu_idle_looks_at_iterations),
		cmocka_unit_test(test_findings_copies),
		cmocka_unit_test(test_findings_synchronous_copies),
		cmocka_unit_test(test_findings_imbalance),
		cmocka_unit_test(test_findings_no_candidate_where_the_gpu_waits),
		cmocka_unit_test(test_findings_win_is_paced_by_launches),
		cmocka_unit_test(test_findings_never_contradict),
		cmocka_unit_test(test_findings_are_ranked_by_likely_win),
		cmocka_unit_test(test_findings_wishes),
		cmocka_unit_test(test_findings_silence_uncovers_nothing),
		cmocka_unit_test(test_findings_remedies_by_framework),
		cmocka_unit_test(test_findings_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
