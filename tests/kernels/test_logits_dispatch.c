/* argmax and topk_topp_sample: checks of arguments, choice of versions and splits, workspace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "kernels/argmax.h"
#include "kernels/topk_topp_sample.h"
#include "tests/kernels/poison.h"

#define AT(address) ((void *)(uintptr_t)(address))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What both have: packed rows. */
#define LOGITS(ROWS, COLUMNS, DTYPE)                                                               \
	.x = AT(4096), .index = AT(4096), .workspace = AT(4096), .workspace_bytes = SIZE_MAX,      \
	.rows = (ROWS), .columns = (COLUMNS), .x_row = (COLUMNS), .x_column = 1, .index_row = 1,   \
	.dtype = (DTYPE)

static const struct kp_kernel_device h200 = {132, 90};

static struct kp_argmax_args argmax_args(uint32_t rows, uint32_t columns, enum kp_dtype dtype)
{
	return (struct kp_argmax_args){LOGITS(rows, columns, dtype)};
}

static struct kp_topk_topp_sample_args sample_args(uint32_t rows, uint32_t columns,
						   enum kp_dtype dtype)
{
	return (struct kp_topk_topp_sample_args){
		LOGITS(rows, columns, dtype),
		.temperature = 1,
		.top_p = 0.9F,
		.top_k = 50,
	};
}

/* Few rows are split until every thread has one vector; many until all blocks are there at once. */
static void test_argmax_split_follows_shape(void **state)
{
	static const struct {
		uint32_t rows, columns;
		enum kp_dtype dtype;
		uint32_t splits, chunk, finishes;
	} rows[] = {
		{1, 32000, KP_DTYPE_BF16, 16, 2048, 1},
		{1, 128256, KP_DTYPE_FP16, 63, 2048, 1},
		{1, 128256, KP_DTYPE_FP32, 126, 1024, 1},
		{1, 262144, KP_DTYPE_FP32, 257, 1024, 1},
		{16, 128256, KP_DTYPE_BF16, 32, 4096, 4},
		{64, 128256, KP_DTYPE_BF16, 8, 16384, 16},
		{256, 128256, KP_DTYPE_BF16, 2, 65536, 64},
		{1056, 128256, KP_DTYPE_BF16, 1, 129024, 0},
		{5000, 50257, KP_DTYPE_BF16, 1, 51200, 0},
		{7, 1, KP_DTYPE_FP32, 1, 1024, 0},
		{1, 0x7fffffff, KP_DTYPE_BF16, 512, 4194304 + 2048, 1},
	};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	uint32_t chunk;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kp_argmax_args args =
			argmax_args(rows[i].rows, rows[i].columns, rows[i].dtype);

		assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_OK);
		assert_int_equal(plans[0].kernel, KP_KERNEL_argmax_vector);
		assert_int_equal(plans[0].dtype, rows[i].dtype);
		assert_int_equal(plans[0].grid_x, rows[i].rows);
		assert_true(plans[0].grid_y <= rows[i].splits);
		assert_true((uint64_t)plans[0].grid_y * chunk >= rows[i].columns);
		if (rows[i].columns < 0x7fffffff) {
			assert_int_equal(plans[0].grid_y, rows[i].splits);
			assert_int_equal(chunk, rows[i].chunk);
		}
		assert_int_equal(plans[1].grid_x, rows[i].finishes);
	}
}

/* No device makes more splits than the workspace is for, nor an empty one. */
static void test_argmax_workspace_is_enough(void **state)
{
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	uint32_t chunk;

	(void)state;
	for (uint32_t sms = 0; sms < 100000; sms = sms * 3 + 1)
		for (uint32_t columns = 1; columns < 1U << 24; columns = columns * 5 / 2 + 1) {
			const struct kp_kernel_device device = {sms, 80};
			struct kp_argmax_args args = argmax_args(3, columns, KP_DTYPE_FP16);

			assert_int_equal(kp_argmax_plan(&args, &device, plans, &chunk), KP_OK);
			assert_true(plans[0].grid_y == 1 ||
				    kp_argmax_workspace(&args) >= 3U * 8 * plans[0].grid_y);
			assert_true((uint64_t)(plans[0].grid_y - 1) * chunk < columns + 7U);
			assert_int_equal(chunk % (256 * 8), 0);
		}
}

static void test_argmax_says_why_not(void **state)
{
	const struct kp_argmax_args good = argmax_args(2, 5000, KP_DTYPE_BF16);
	struct kp_argmax_args args = good;
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	const char *reason;
	uint32_t chunk;

	(void)state;
	assert_true(kp_argmax_supports(&args, &reason));
	assert_null(reason);
	/* Rows may begin anywhere; columns apart go by elements. */
	args.x = AT(4098);
	args.x_row = -5001;
	assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_OK);
	assert_int_equal(plans[0].kernel, KP_KERNEL_argmax_vector);
	args.x_column = 2;
	assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_OK);
	assert_int_equal(plans[0].kernel, KP_KERNEL_argmax_any);
	args.x = AT(4097);
	assert_false(kp_argmax_supports(&args, &reason));
	assert_string_equal(reason, "x lies between elements");
	args = good;
	args.columns = 0;
	assert_false(kp_argmax_supports(&args, &reason));
	assert_string_equal(reason, "there are no columns");
	args.rows = 0;
	assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_OK);
	assert_int_equal(plans[0].grid_x + plans[1].grid_x, 0);
	args = good;
	args.index = NULL;
	assert_false(kp_argmax_supports(&args, NULL));
	args = good;
	args.dtype = KP_DTYPE_INT8;
	assert_false(kp_argmax_supports(&args, NULL));
	args = good;
	args.workspace_bytes = kp_argmax_workspace(&args);
	assert_int_equal(args.workspace_bytes, 2 * 3 * 8);
	assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_OK);
	args.workspace_bytes--;
	assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_INVALID);
	args.workspace_bytes++;
	args.workspace = AT(8);
	assert_int_equal(kp_argmax_plan(&args, &h200, plans, &chunk), KP_INVALID);
}

/* Two levels a rule in 16 bits, three in 32; none where nothing or only the largest is asked for.
 */
static void test_sample_levels_follow_rules(void **state)
{
	static const struct {
		enum kp_dtype dtype;
		int32_t top_k;
		float top_p, temperature;
		uint32_t levels;
	} rows[] = {
		{KP_DTYPE_BF16, 50, 0.9F, 1, 4},
		{KP_DTYPE_FP16, 50, 0.9F, 1, 4},
		{KP_DTYPE_FP32, 50, 0.9F, 1, 6},
		{KP_DTYPE_FP32, 0, 0.9F, 1, 3},
		{KP_DTYPE_BF16, 50, 1, 1, 2},
		{KP_DTYPE_BF16, -1, 1, 1, 0},
		{KP_DTYPE_BF16, 1, 0.9F, 1, 0},
		{KP_DTYPE_BF16, 50, 0, 1, 0},
		{KP_DTYPE_BF16, 50, 0.9F, 0, 0},
		{KP_DTYPE_BF16, 50, 0.9F, NAN, 0},
		{KP_DTYPE_BF16, 5000, NAN, INFINITY, 0},
		{KP_DTYPE_BF16, 4999, NAN, 1, 2},
	};
	struct kp_kernel_plan plans[KP_SAMPLE_LAUNCHES];
	uint32_t chunk, levels;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kp_topk_topp_sample_args args = sample_args(3, 5000, rows[i].dtype);

		args.top_k = rows[i].top_k;
		args.top_p = rows[i].top_p;
		args.temperature = rows[i].temperature;
		assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels),
				 KP_OK);
		assert_int_equal(levels, rows[i].levels);
		for (uint32_t launch = 1; launch <= KP_SAMPLE_LEVELS_MOST; launch++) {
			assert_int_equal(plans[launch].kernel, KP_KERNEL_sample_level_vector);
			assert_int_equal(plans[launch].grid_x, launch <= levels ? 3 : 0);
			assert_int_equal(plans[launch].team, launch - 1);
		}
		assert_int_equal(plans[0].kernel, KP_KERNEL_sample_begin_vector);
		assert_int_equal(plans[KP_SAMPLE_LAUNCHES - 1].kernel,
				 KP_KERNEL_sample_draw_vector);
		assert_int_equal(plans[KP_SAMPLE_LAUNCHES - 1].grid_x, 3);
	}
}

/* What is known on the device alone may need every level. */
static void test_sample_levels_of_rules_a_row(void **state)
{
	struct kp_topk_topp_sample_args args = sample_args(3, 5000, KP_DTYPE_FP32);
	struct kp_kernel_plan plans[KP_SAMPLE_LAUNCHES];
	uint32_t chunk, levels;

	(void)state;
	args.temperature = 0;
	args.top_k = 1;
	args.top_p = 0;
	args.temperatures = AT(4096);
	args.top_ps = AT(4096);
	args.top_ks = AT(4096);
	args.x_column = 3;
	assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels), KP_OK);
	assert_int_equal(levels, KP_SAMPLE_LEVELS_MOST);
	assert_int_equal(plans[1].kernel, KP_KERNEL_sample_level_any);
	args.top_ks = NULL; /* the largest of each row */
	assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels), KP_OK);
	assert_int_equal(levels, 0);
}

static void test_sample_says_why_not(void **state)
{
	const struct kp_topk_topp_sample_args good = sample_args(2, 5000, KP_DTYPE_BF16);
	struct kp_topk_topp_sample_args args = good;
	struct kp_kernel_plan plans[KP_SAMPLE_LAUNCHES];
	const char *reason;
	uint32_t chunk, levels;

	(void)state;
	assert_true(kp_topk_topp_sample_supports(&args, &reason));
	assert_null(reason);
	args.x = NULL;
	assert_false(kp_topk_topp_sample_supports(&args, &reason));
	assert_string_equal(reason, "x is missing");
	assert_int_equal(kp_topk_topp_sample_workspace(&args), 0);
	args = good;
	args.dtype = KP_DTYPE_E4M3;
	assert_false(kp_topk_topp_sample_supports(&args, NULL));
	args = good;
	args.index = NULL;
	assert_false(kp_topk_topp_sample_supports(&args, NULL));
	args = good;
	args.workspace_bytes = kp_topk_topp_sample_workspace(&args);
	assert_int_equal(args.workspace_bytes, 2 * (2048 * 8 + 32 + 3 * 16));
	assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels), KP_OK);
	args.workspace_bytes--;
	assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels),
			 KP_INVALID);
	args = good;
	args.workspace = NULL;
	assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels),
			 KP_INVALID);
	args.rows = 0;
	assert_int_equal(kp_topk_topp_sample_plan(&args, &h200, plans, &chunk, &levels), KP_OK);
	assert_int_equal(plans[0].grid_x, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_argmax_split_follows_shape),
		cmocka_unit_test(test_argmax_workspace_is_enough),
		cmocka_unit_test(test_argmax_says_why_not),
		cmocka_unit_test(test_sample_levels_follow_rules),
		cmocka_unit_test(test_sample_levels_of_rules_a_row),
		cmocka_unit_test(test_sample_says_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
