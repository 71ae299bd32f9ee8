/* The host code of libkprof_kernels: checks of arguments, choice of versions, numbers, loading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernels/activation.h"
#include "kernels/image.h"
#include "kernels/norm.h"
#include "kernels/reference/number.h"
#include "kernels/rope.h"
#include "kernels/softmax.h"
#include "tests/kernels/poison.h"

#define AT(address) ((void *)(uintptr_t)(address))

static const struct kp_kernel_device h200 = {132, 90};

static struct kp_norm_args norm_args(uint32_t rows, uint32_t columns)
{
	return (struct kp_norm_args){
		.x = AT(4096),
		.weight = AT(4096),
		.y = AT(4096),
		.outer = rows,
		.inner = 1,
		.columns = columns,
		.x_outer = columns,
		.y_outer = columns,
		.eps = 1e-5F,
	};
}

static void test_norm_version_follows_shape(void **state)
{
	static const struct {
		uint32_t rows, columns;
		enum kp_kernel_id kernel;
		uint32_t grid, threads, team;
	} rows[] = {
		{1, 128, KP_KERNEL_rmsnorm_team_1, 1, 128, 16},
		{32 * 4096, 128, KP_KERNEL_rmsnorm_team_1, 16384, 128, 16},
		{9, 64, KP_KERNEL_rmsnorm_team_1, 1, 128, 8},
		{17, 64, KP_KERNEL_rmsnorm_team_1, 2, 128, 8},
		{1, 4096, KP_KERNEL_rmsnorm_block_1, 1, 512, 0},
		{528, 4096, KP_KERNEL_rmsnorm_block_1, 528, 512, 0},
		{529, 4096, KP_KERNEL_rmsnorm_block_4, 529, 128, 0},
		{16384, 2048, KP_KERNEL_rmsnorm_block_4, 16384, 64, 0},
		{16384, 16384, KP_KERNEL_rmsnorm_block_4, 16384, 512, 0},
		{8, 16384, KP_KERNEL_rmsnorm_block_2, 8, 1024, 0},
		{8, 16392, KP_KERNEL_rmsnorm_block_8, 8, 288, 0},
		{4096, 512, KP_KERNEL_rmsnorm_team_2, 1024, 128, 32},
		{4096, 1024, KP_KERNEL_rmsnorm_team_4, 1024, 128, 32},
		{8, 40000, KP_KERNEL_rmsnorm_any, 8, 256, 0},
		{8, 4097, KP_KERNEL_rmsnorm_any, 8, 256, 0},
	};
	struct kp_kernel_plan plan = KP_TEST_POISON;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kp_norm_args args = norm_args(rows[i].rows, rows[i].columns);

		assert_int_equal(kp_rmsnorm_plan(&args, &h200, &plan), KP_OK);
		assert_int_equal(plan.kernel, rows[i].kernel);
		assert_int_equal(plan.grid_x, rows[i].grid);
		assert_int_equal(plan.threads, rows[i].threads);
		assert_int_equal(plan.team, rows[i].team);
	}
}

static void test_norm_version_follows_alignment(void **state)
{
	const struct kp_norm_args aligned = norm_args(8, 4096);
	struct kp_norm_args changed[7];
	struct kp_kernel_plan plan = KP_TEST_POISON;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		changed[i] = aligned;
	changed[0].x = AT(4098);
	changed[1].y = AT(4104);
	changed[2].weight = AT(4098);
	changed[3].bias = AT(4098);
	changed[4].x_outer = 4097;
	changed[5].residual = AT(8200);
	changed[6].y_inner = -4;
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(kp_layernorm_plan(&changed[i], &h200, &plan), KP_OK);
		assert_int_equal(plan.kernel, KP_KERNEL_layernorm_any);
	}
	changed[0] = aligned;
	changed[0].x_outer = -4096;
	changed[0].y_dtype = KP_DTYPE_E4M3;
	changed[0].y = AT(4104); /* vectors of e4m3 have eight bytes */
	changed[0].y_scale = AT(4);
	assert_int_equal(kp_layernorm_plan(&changed[0], &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_layernorm_block_1);
}

static void test_norm_says_why_not(void **state)
{
	struct kp_norm_args args = norm_args(8, 64);
	struct kp_kernel_plan plan = KP_TEST_POISON;
	const char *reason = NULL;

	(void)state;
	assert_true(kp_rmsnorm_supports(&args, &reason));
	assert_null(reason);
	assert_int_equal(kp_rmsnorm_workspace(&args), 0);
	args.mean = AT(64);
	assert_false(kp_rmsnorm_supports(&args, &reason));
	assert_string_equal(reason, "rmsnorm has no mean");
	assert_int_equal(kp_rmsnorm_plan(&args, &h200, &plan), KP_INVALID);
	assert_true(kp_layernorm_supports(&args, NULL));
	args.dtype = KP_DTYPE_FP32;
	assert_false(kp_layernorm_supports(&args, &reason));
	args = norm_args(8, 64);
	args.y_dtype = KP_DTYPE_E4M3;
	assert_false(kp_layernorm_supports(&args, &reason));
	assert_string_equal(reason, "e4m3 needs y_scale");
	args = norm_args(8, 64);
	args.eps = NAN;
	assert_false(kp_layernorm_supports(&args, &reason));
	args = norm_args(UINT32_MAX, 64);
	assert_false(kp_layernorm_supports(&args, &reason));
	args = norm_args(0, 64);
	args.x = NULL;
	assert_int_equal(kp_rmsnorm_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.grid_x, 0);
	args = norm_args(64, 0);
	assert_int_equal(kp_rmsnorm_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.grid_x, 0);
}

static void test_activation_version(void **state)
{
	struct kp_activation_args args = {.x = AT(4096),
					  .up = AT(8192),
					  .y = AT(4096),
					  .rows = 4096,
					  .columns = 14336,
					  .x_row = 28672,
					  .up_row = 28672,
					  .y_row = 14336};
	struct kp_kernel_plan plan = KP_TEST_POISON;
	const char *reason;

	(void)state;
	assert_int_equal(kp_activation_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_activation_vector_2);
	assert_int_equal(plan.grid_x, 7);
	assert_int_equal(plan.grid_y, 4096);
	args.rows = 8;
	assert_int_equal(kp_activation_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_activation_vector_1);
	assert_int_equal(plan.grid_x, 14);
	args.rows = 1000000;
	assert_int_equal(kp_activation_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.grid_y, 65535);
	args.up_row = 28673;
	assert_int_equal(kp_activation_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_activation_any);
	args.activation = (enum kp_activation)3;
	assert_false(kp_activation_supports(&args, &reason));
	assert_string_equal(reason, "there is no such activation");
}

static void test_softmax_version(void **state)
{
	static const struct {
		uint32_t rows, columns;
		enum kp_kernel_id kernel;
	} rows[] = {
		{65536, 1024, KP_KERNEL_softmax_team_4}, {4096, 32768, KP_KERNEL_softmax_block_8},
		{4096, 8192, KP_KERNEL_softmax_block_4}, {32, 4096, KP_KERNEL_softmax_block_1},
		{32, 262144, KP_KERNEL_softmax_long},    {32, 262143, KP_KERNEL_softmax_any},
	};
	struct kp_softmax_args args = {.x = AT(64), .y = AT(64), .queries = 1, .scale = 1};
	struct kp_kernel_plan plan = KP_TEST_POISON;
	const char *reason;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		args.outer = rows[i].rows;
		args.columns = rows[i].columns;
		args.x_outer = args.y_outer = rows[i].columns;
		assert_int_equal(kp_softmax_plan(&args, &h200, &plan), KP_OK);
		assert_int_equal(plan.kernel, rows[i].kernel);
	}
	args.mask = AT(64);
	assert_false(kp_softmax_supports(&args, &reason));
	assert_string_equal(reason, "mask_outer_group is 0");
}

static struct kp_rope_args rope_args(void)
{
	return (struct kp_rope_args){
		.q = AT(4096),
		.k = AT(4096),
		.q_out = AT(4096),
		.k_out = AT(4096),
		.positions = AT(8),
		.frequencies = AT(8),
		.tokens = 4096,
		.q_heads = 32,
		.kv_heads = 8,
		.head_dim = 128,
		.rotary = 128,
		.q_token = 4096,
		.q_head = 128,
		.k_token = 1024,
		.k_head = 128,
		.q_out_token = 4096,
		.q_out_head = 128,
		.k_out_token = 1024,
		.k_out_head = 128,
	};
}

static void test_rope_version(void **state)
{
	struct kp_rope_args args = rope_args();
	struct kp_kernel_plan plan = KP_TEST_POISON;

	(void)state;
	assert_int_equal(kp_rope_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_rope_vector);
	assert_int_equal(plan.grid_x, 4096);
	assert_int_equal(plan.grid_y, 1);
	args.tokens = 1; /* 40 heads of 8 pairs of vectors: two blocks */
	assert_int_equal(kp_rope_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.grid_y, 2);
	args.rotary = 24; /* half of it is no vectors */
	assert_int_equal(kp_rope_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_rope_any);
	args.interleaved = true;
	assert_int_equal(kp_rope_plan(&args, &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_rope_vector);
}

static void test_rope_says_why_not(void **state)
{
	struct kp_rope_args changed[6];
	static const char *const reasons[6] = {
		"rotary is odd, above head_dim or above 512",
		"one of k_cache and v_cache is missing",
		"a cache needs k, v and slots",
		"there are neither cosines and sines nor frequencies",
		"positions are missing",
		"v has no cache to go to",
	};
	const char *reason;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		changed[i] = rope_args();
	changed[0].rotary = 130;
	changed[1].k_cache = AT(64);
	changed[2].k_cache = changed[2].v_cache = AT(64);
	changed[3].frequencies = NULL;
	changed[4].positions = NULL;
	changed[5].v = AT(64);
	for (size_t i = 0; i < 6; i++) {
		assert_false(kp_rope_supports(&changed[i], &reason));
		assert_string_equal(reason, reasons[i]);
	}
}

static void test_numbers_round_trip(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 1U << 16; bits++)
		for (int dtype = 0; dtype < KP_DTYPE_COUNT; dtype++) {
			bool byte = dtype == KP_DTYPE_E4M3 || dtype == KP_DTYPE_INT8;
			uint32_t in = byte                     ? bits & 0xff
				      : dtype == KP_DTYPE_FP32 ? bits << 16 | (bits ^ 0x5a5a)
							       : bits;
			double value = kp_number_load(&in, (enum kp_dtype)dtype, 0);
			uint32_t out = 0;

			kp_number_store(&out, (enum kp_dtype)dtype, 0, value);
			if (isnan(value))
				assert_true(isnan(kp_number_load(&out, (enum kp_dtype)dtype, 0)));
			else
				assert_int_equal(in, out);
		}
}

static void test_numbers_round_to_even(void **state)
{
	(void)state;
	assert_true(kp_number_rounded(KP_DTYPE_BF16, 1 + 0x1p-8) == 1);
	assert_true(kp_number_rounded(KP_DTYPE_BF16, 1 + 0x3p-8) == 1 + 0x1p-6);
	assert_true(kp_number_rounded(KP_DTYPE_BF16, 1 + 0x1.01p-8) == 1 + 0x1p-7);
	assert_true(kp_number_rounded(KP_DTYPE_FP16, 65519.9) == 65504);
	assert_true(isinf(kp_number_rounded(KP_DTYPE_FP16, 65520)));
	assert_true(kp_number_rounded(KP_DTYPE_FP16, 0x1p-25) == 0);
	assert_true(kp_number_rounded(KP_DTYPE_FP16, 0x1.8p-24) == 0x1p-23);
	assert_true(kp_number_rounded(KP_DTYPE_E4M3, 1e9) == 448);
	assert_true(kp_number_rounded(KP_DTYPE_E4M3, -17.5) == -18);
	assert_true(kp_number_ulp(KP_DTYPE_BF16, 1) == 0x1p-7);
}

/* ---- a driver that takes notes ---- */

static struct {
	int loaded, unloaded, found, fail_at, calls, attributes_set;
	int major;
	const void *function;
	unsigned config[7];
	unsigned attributes;
	struct kp_norm_args args;
} seen;

static int fails(void)
{
	return ++seen.calls == seen.fail_at ? 1 : 0;
}

static int library_load(void **library, const void *code, void *jit_options, void **jit_values,
			unsigned jit_count, void *options, void **values, unsigned count)
{
	(void)jit_options;
	(void)jit_values;
	(void)jit_count;
	(void)options;
	(void)values;
	(void)count;
	if (fails())
		return 300;
	assert_non_null(code);
	*library = AT(++seen.loaded);
	return 0;
}

static int library_unload(void *library)
{
	assert_non_null(library);
	seen.unloaded++;
	return 0;
}

static int library_kernel(void **kernel, void *library, const char *name)
{
	(void)library;
	assert_int_equal(strncmp(name, "kp_", 3), 0);
	*kernel = AT(100 + ++seen.found);
	return fails() ? 500 : 0;
}

static int kernel_function(void **function, void *kernel)
{
	*function = (char *)kernel + 10000;
	return 0;
}

static int launch(const void *config, void *function, void **arguments, void **extra)
{
	assert_null(extra);
	seen.function = function;
	memcpy(seen.config, config, sizeof(seen.config));
	memcpy(&seen.attributes, (const char *)config + 48, sizeof(unsigned));
	memcpy(&seen.args, arguments[0], sizeof(seen.args));
	return 0;
}

static int context_device(int *device)
{
	*device = 0;
	return 0;
}

static int device_attribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == 75 ? seen.major : attribute == 76 ? 0 : 132;
	return 0;
}

static int function_attribute(void *function, int attribute, int value)
{
	assert_non_null(function);
	assert_int_equal(attribute, 8);
	assert_in_range(value, 48 * 1024, 227 * 1024);
	seen.attributes_set++;
	return 0;
}

static const struct kp_kernels_driver notes = {
	library_load, library_unload, library_kernel,   kernel_function,
	launch,       context_device, device_attribute, function_attribute,
	NULL,
};

/* Functions of all versions, by the rows of the table. */
static int functions_of_all(void)
{
	static const int types[] = {
#define KERNEL(image, name) 2,
#define KERNEL_LOGITS(image, name) 3,
#include "kernels/kernels.def"
	};
	int all = 0;

	for (int i = 0; i < KP_KERNEL_COUNT; i++)
		all += types[i];
	return all;
}

static enum kp_status start(int major, int fail_at, struct kp_kernels **out, int *error)
{
	memset(&seen, 0, sizeof(seen));
	seen.major = major;
	seen.fail_at = fail_at;
	return kp_kernels_create(&notes, out, error);
}

static void test_load_and_launch(void **state)
{
	struct kp_norm_args args = norm_args(17, 64);
	struct kp_kernels *kernels;
	int error;

	(void)state;
	if (!kp_kernel_image_norm().bytes)
		skip();
	assert_int_equal(start(9, 0, &kernels, &error), KP_OK);
	assert_int_equal(seen.found, functions_of_all());
	assert_int_equal(seen.attributes_set,
			 2 * (3 + 15)); /* Hopper's versions of attention_prefill, linear_skinny */
	assert_true(seen.loaded > 1 && seen.loaded < 10);
	args.dtype = args.y_dtype = KP_DTYPE_FP16;
	args.dependent_launch = true;
	assert_int_equal(kp_rmsnorm(kernels, &args), KP_OK);
	assert_ptr_equal(seen.function, AT(10100 + 2 * KP_KERNEL_rmsnorm_team_1 + 2));
	assert_int_equal(seen.config[0], 2);
	assert_int_equal(seen.config[3], 128);
	assert_int_equal(seen.attributes, 1);
	assert_int_equal(seen.args.team, 8);
	args.outer = 0;
	seen.function = NULL;
	assert_int_equal(kp_rmsnorm(kernels, &args), KP_OK);
	assert_null(seen.function);
	args.eps = -1;
	args.outer = 1;
	assert_int_equal(kp_rmsnorm(kernels, &args), KP_INVALID);
	kp_kernels_destroy(kernels);
	assert_int_equal(seen.unloaded, seen.loaded);
}

static void test_no_dependent_launch_before_hopper(void **state)
{
	struct kp_norm_args args = norm_args(17, 64);
	struct kp_kernels *kernels;
	int error;

	(void)state;
	if (!kp_kernel_image_norm().bytes)
		skip();
	assert_int_equal(start(8, 0, &kernels, &error), KP_OK);
	args.dependent_launch = true;
	assert_int_equal(kp_layernorm(kernels, &args), KP_OK);
	assert_int_equal(seen.attributes, 0);
	kp_kernels_destroy(kernels);
}

static void test_load_failures(void **state)
{
	struct kp_kernels *kernels;
	int error;

	(void)state;
	assert_int_equal(start(7, 0, &kernels, &error), KP_UNSUPPORTED);
	assert_null(kernels);
	if (!kp_kernel_image_norm().bytes) {
		assert_int_equal(start(9, 0, &kernels, &error), KP_UNSUPPORTED);
		return;
	}
	for (int call = 1; call < 20; call++) {
		assert_int_equal(start(9, call, &kernels, &error), KP_IO);
		assert_null(kernels);
		assert_int_equal(error, call == 1 ? 300 : 500);
		assert_int_equal(seen.unloaded, seen.loaded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_norm_version_follows_shape),
		cmocka_unit_test(test_norm_version_follows_alignment),
		cmocka_unit_test(test_norm_says_why_not),
		cmocka_unit_test(test_activation_version),
		cmocka_unit_test(test_softmax_version),
		cmocka_unit_test(test_rope_version),
		cmocka_unit_test(test_rope_says_why_not),
		cmocka_unit_test(test_numbers_round_trip),
		cmocka_unit_test(test_numbers_round_to_even),
		cmocka_unit_test(test_load_and_launch),
		cmocka_unit_test(test_no_dependent_launch_before_hopper),
		cmocka_unit_test(test_load_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
