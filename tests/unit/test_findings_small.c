/* Findings about small kernels, chains and copies, and that no time is promised twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings_unfused_chain),
		cmocka_unit_test(test_findings_chain_of_math_attention),
		cmocka_unit_test(test_findings_copies_of_a_chain),
		cmocka_unit_test(test_findings_chain_beside_launches),
		cmocka_unit_test(test_findings_copies_and_casts),
		cmocka_unit_test(test_findings_tiny_kernels_beside_chains),
		cmocka_unit_test(test_findings_tiny_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
