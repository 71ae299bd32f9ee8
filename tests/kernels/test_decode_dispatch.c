/* linear_skinny and attention_decode: checks of arguments, choice of versions and splits,
 * workspace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "kernels/attention_decode.h"
#include "kernels/linear_skinny.h"
#include "tests/kernels/poison.h"

#define AT(address) ((void *)(uintptr_t)(address))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct kp_kernel_device h200 = {132, 90};

static struct kp_linear_skinny_args linear_args(uint32_t tokens, uint32_t outputs, uint32_t inputs)
{
	return (struct kp_linear_skinny_args){
		.x = AT(4096),
		.weight = AT(8192),
		.y = AT(4096),
		.tokens = tokens,
		.outputs = outputs,
		.inputs = inputs,
		.x_token = inputs,
		.weight_row = inputs,
		.residual_token = outputs,
		.y_token = outputs,
	};
}

/* What the shapes of the targets become on a GPU as large as an H200 that is no Hopper. */
static void test_linear_version_follows_shape(void **state)
{
	static const struct kp_kernel_device blackwell = {132, 100};
	static const struct {
		uint32_t tokens, outputs, inputs;
		enum kp_dtype weight;
		enum kp_kernel_id kernel;
		uint32_t grid, threads, team, splits;
	} rows[] = {
		{1, 4096, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 1024, 128, 64, 1},
		{1, 4096, 14336, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 1024, 128, 64, 1},
		{1, 128256, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 16032, 128, 32, 1},
		{1, 14336, 4096, KP_DTYPE_E4M3, KP_KERNEL_linear_row_e4m3, 896, 128, 32, 1},
		{1, 1024, 4096, KP_DTYPE_INT8, KP_KERNEL_linear_row_int8, 256, 128, 128, 1},
		{8, 4096, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_tile_8_w16, 256, 256, 256, 1},
		{2, 28672, 8192, KP_DTYPE_BF16, KP_KERNEL_linear_tile_8_w16, 448, 256, 64, 1},
		{16, 4096, 14336, KP_DTYPE_BF16, KP_KERNEL_linear_tile_16_w16, 128, 256, 256, 1},
		{9, 128256, 4096, KP_DTYPE_E4M3, KP_KERNEL_linear_tile_16_e4m3, 501, 256, 32, 1},
		{1, 64, 65536, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 32, 128, 128, 4},
		{16, 64, 16384, KP_DTYPE_INT8, KP_KERNEL_linear_tile_16_int8, 2, 256, 256, 8},
		{1, 64, 64, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 8, 128, 32, 1},
		{4, 4096, 4095, KP_DTYPE_BF16, KP_KERNEL_linear_any, 1024, 128, 32, 1},
		{4, 4096, 4104, KP_DTYPE_INT8, KP_KERNEL_linear_any, 1024, 128, 32, 1},
		{0, 4096, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 0, 0, 0, 0},
	};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kp_linear_skinny_args args =
			linear_args(rows[i].tokens, rows[i].outputs, rows[i].inputs);

		args.weight_dtype = rows[i].weight;
		args.workspace = AT(16);
		args.workspace_bytes = kp_linear_skinny_workspace(&args, &blackwell);
		assert_int_equal(args.workspace_bytes,
				 rows[i].splits > 1 ? (size_t)rows[i].splits * 4 * rows[i].tokens *
							      rows[i].outputs
						    : 0);
		assert_int_equal(kp_linear_skinny_plan(&args, &blackwell, plans), KP_OK);
		assert_int_equal(plans[0].kernel, rows[i].kernel);
		assert_int_equal(plans[0].grid_x, rows[i].grid);
		assert_int_equal(plans[0].threads, rows[i].threads);
		assert_int_equal(plans[0].team, rows[i].team);
		assert_int_equal(plans[0].grid_y, rows[i].splits);
		assert_int_equal(plans[1].grid_x != 0, rows[i].splits > 1);
	}
}

/* And on that: blocks that stay, where all get about the same and all warps have something. */
static void test_linear_rings_follow_shape(void **state)
{
	static const struct {
		uint32_t tokens, outputs, inputs;
		enum kp_dtype weight;
		enum kp_kernel_id kernel;
		uint32_t threads; /* 0: no ring */
	} rows[] = {
		{1, 4096, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_ring_row_w16, 512},
		{1, 4096, 16384, KP_DTYPE_BF16, KP_KERNEL_linear_ring_row_w16, 512},
		{1, 4096, 16392, KP_DTYPE_BF16, KP_KERNEL_linear_ring_8_w16, 256},
		{1, 4096, 2048, KP_DTYPE_BF16, KP_KERNEL_linear_ring_8_kept_w16, 512},
		{1, 1024, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_ring_row_w16, 512},
		{1, 14336, 4096, KP_DTYPE_E4M3, KP_KERNEL_linear_ring_8_kept_e4m3, 512},
		{1, 28672, 8192, KP_DTYPE_INT8, KP_KERNEL_linear_ring_row_int8, 512},
		{8, 4096, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_ring_8_kept_w16, 512},
		{2, 28672, 8192, KP_DTYPE_E4M3, KP_KERNEL_linear_ring_8_kept_e4m3, 512},
		{8, 4096, 14336, KP_DTYPE_BF16, KP_KERNEL_linear_ring_8_w16, 256},
		{16, 14336, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_ring_16_kept_w16, 512},
		{9, 128256, 4104, KP_DTYPE_BF16, KP_KERNEL_linear_ring_16_w16, 256},
		{16, 28672, 8192, KP_DTYPE_INT8, KP_KERNEL_linear_ring_16_int8, 256},
		{16, 2560, 4096, KP_DTYPE_BF16, KP_KERNEL_linear_tile_16_w16, 0},
		{1, 14336, 64, KP_DTYPE_BF16, KP_KERNEL_linear_row_w16, 0},
	};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kp_linear_skinny_args args =
			linear_args(rows[i].tokens, rows[i].outputs, rows[i].inputs);

		args.weight_dtype = rows[i].weight;
		assert_int_equal(kp_linear_skinny_plan(&args, &h200, plans), KP_OK);
		assert_int_equal(plans[0].kernel, rows[i].kernel);
		assert_int_equal(plans[1].grid_x, 0);
		assert_int_equal(plans[0].shared_bytes,
				 kp_linear_skinny_shared_bytes(plans[0].kernel));
		assert_int_equal(plans[0].shared_bytes != 0, rows[i].threads != 0);
		assert_true(plans[0].shared_bytes <= 227 << 10);
		if (rows[i].threads) {
			assert_int_equal(plans[0].grid_x, 132);
			assert_int_equal(plans[0].threads, rows[i].threads);
		}
	}
}

static void test_linear_version_follows_alignment(void **state)
{
	const struct kp_linear_skinny_args aligned = linear_args(2, 64, 64);
	struct kp_linear_skinny_args changed[4];
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};

	(void)state;
	for (size_t i = 0; i < COUNT(changed); i++)
		changed[i] = aligned;
	changed[0].x = AT(4098);
	changed[1].weight = AT(8200);
	changed[2].x_token = 65;
	changed[3].weight_row = -68;
	for (size_t i = 0; i < COUNT(changed); i++) {
		assert_int_equal(kp_linear_skinny_plan(&changed[i], &h200, plans), KP_OK);
		assert_int_equal(plans[0].kernel, KP_KERNEL_linear_any);
	}
	/* A single token has no stride; y and the rest go by elements. */
	changed[2].tokens = 1;
	changed[2].y = AT(4098);
	changed[2].bias = AT(4098);
	assert_int_equal(kp_linear_skinny_plan(&changed[2], &h200, plans), KP_OK);
	assert_int_equal(plans[0].kernel, KP_KERNEL_linear_row_w16);
}

static void test_linear_says_why_not(void **state)
{
	struct kp_linear_skinny_args args = linear_args(17, 64, 64);
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	const char *reason = NULL;

	(void)state;
	assert_false(kp_linear_skinny_supports(&args, &reason));
	assert_string_equal(reason, "there are more than 16 tokens");
	assert_int_equal(kp_linear_skinny_plan(&args, &h200, plans), KP_INVALID);
	assert_int_equal(kp_linear_skinny_workspace(&args, &h200), 0);
	args = linear_args(1, 64, 64);
	assert_true(kp_linear_skinny_supports(&args, &reason));
	assert_null(reason);
	args.weight_dtype = KP_DTYPE_FP16;
	assert_false(kp_linear_skinny_supports(&args, NULL));
	args = linear_args(1, 64, 64);
	args.dtype = KP_DTYPE_E4M3;
	assert_false(kp_linear_skinny_supports(&args, NULL));
	args = linear_args(1, 64, 64);
	args.activation = KP_LINEAR_ACTIVATION_COUNT;
	assert_false(kp_linear_skinny_supports(&args, NULL));
	args = linear_args(1, 64, 64);
	args.y = NULL;
	assert_false(kp_linear_skinny_supports(&args, NULL));
	/* A workspace that is too small, crooked or missing. */
	args = linear_args(1, 64, 65536);
	assert_int_equal(kp_linear_skinny_plan(&args, &h200, plans), KP_INVALID);
	args.workspace_bytes = kp_linear_skinny_workspace(&args, &h200);
	args.workspace = AT(8);
	assert_int_equal(kp_linear_skinny_plan(&args, &h200, plans), KP_INVALID);
	args.workspace = AT(16);
	assert_int_equal(kp_linear_skinny_plan(&args, &h200, plans), KP_OK);
	args.workspace_bytes--;
	assert_int_equal(kp_linear_skinny_plan(&args, &h200, plans), KP_INVALID);
}

static struct kp_attention_decode_args attention_args(uint32_t batch, uint32_t q_heads,
						      uint32_t kv_heads, uint32_t length,
						      uint32_t head_dim)
{
	return (struct kp_attention_decode_args){
		.q = AT(4096),
		.k = AT(4096),
		.v = AT(4096),
		.out = AT(4096),
		.lengths = AT(4096),
		.batch = batch,
		.queries = 1,
		.q_heads = q_heads,
		.kv_heads = kv_heads,
		.head_dim = head_dim,
		.page_tokens = length,
		.length_most = length,
		.scale = 1,
		.q_head = head_dim,
		.k_token = (int64_t)kv_heads * head_dim,
		.k_head = head_dim,
		.v_token = (int64_t)kv_heads * head_dim,
		.v_head = head_dim,
	};
}

static void test_attention_version_follows_shape(void **state)
{
	static const struct {
		uint32_t batch, q_heads, kv_heads, length, head_dim, queries, window;
		enum kp_dtype cache;
		enum kp_kernel_id kernel;
		uint32_t units, chunk, splits;
	} rows[] = {
		{32, 32, 8, 4096, 128, 1, 0, KP_DTYPE_BF16, KP_KERNEL_attention_128_8_w16, 256,
		 4096, 1},
		{64, 32, 32, 2048, 128, 1, 0, KP_DTYPE_BF16, KP_KERNEL_attention_128_8_w16, 2048,
		 2048, 1},
		{1, 32, 8, 32768, 128, 1, 0, KP_DTYPE_BF16, KP_KERNEL_attention_128_8_w16, 8, 1024,
		 32},
		{128, 64, 8, 8192, 128, 1, 0, KP_DTYPE_E4M3, KP_KERNEL_attention_128_8_e4m3, 1024,
		 8192, 1},
		{1, 64, 4, 4096, 128, 1, 0, KP_DTYPE_BF16, KP_KERNEL_attention_128_16_w16, 4, 128,
		 32},
		{1, 64, 8, 4096, 64, 8, 0, KP_DTYPE_BF16, KP_KERNEL_attention_64_16_w16, 32, 1024,
		 4},
		{1, 64, 8, 4096, 256, 2, 0, KP_DTYPE_BF16, KP_KERNEL_attention_256_8_w16, 16, 512,
		 8},
		{1, 8, 8, 131072, 96, 1, 1024, KP_DTYPE_BF16, KP_KERNEL_attention_96_8_w16, 8, 64,
		 17},
		{4, 8, 8, 100, 80, 2, 0, KP_DTYPE_BF16, KP_KERNEL_attention_any, 64, 0, 1},
		{0, 8, 8, 100, 64, 1, 0, KP_DTYPE_BF16, KP_KERNEL_attention_any, 0, 0, 0},
		{4, 8, 8, 0, 64, 1, 0, KP_DTYPE_BF16, KP_KERNEL_attention_64_8_w16, 32, 64, 1},
	};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	uint32_t chunk;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kp_attention_decode_args args =
			attention_args(rows[i].batch, rows[i].q_heads, rows[i].kv_heads,
				       rows[i].length, rows[i].head_dim);

		args.page_tokens += rows[i].length == 0;
		args.queries = rows[i].queries;
		args.window = rows[i].window;
		args.cache_dtype = rows[i].cache;
		args.workspace = AT(16);
		args.workspace_bytes = kp_attention_decode_workspace(&args, &h200);
		assert_int_equal(kp_attention_decode_plan(&args, &h200, plans, &chunk), KP_OK);
		assert_int_equal(plans[0].kernel, rows[i].kernel);
		assert_int_equal(plans[0].grid_x, rows[i].units);
		assert_int_equal(chunk, rows[i].chunk);
		assert_int_equal(plans[0].grid_y, rows[i].splits);
		assert_int_equal(plans[1].grid_x != 0, rows[i].splits > 1);
		assert_int_equal(args.workspace_bytes,
				 rows[i].splits > 1
					 ? (size_t)args.batch * args.queries * args.q_heads *
						   rows[i].splits * (args.head_dim + 1) * 4
					 : 0);
	}
}

static void test_attention_version_follows_alignment(void **state)
{
	const struct kp_attention_decode_args aligned = attention_args(2, 8, 2, 64, 64);
	struct kp_attention_decode_args changed[5];
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	uint32_t chunk;

	(void)state;
	for (size_t i = 0; i < COUNT(changed); i++)
		changed[i] = aligned;
	changed[0].q = AT(4104);
	changed[1].k = AT(4098);
	changed[2].v_token = 132;
	changed[3].k_page = 4;
	changed[4].pages = AT(4096);
	changed[4].page_tokens = 40; /* a tile would lie in two pages */
	for (size_t i = 0; i < COUNT(changed); i++) {
		assert_int_equal(kp_attention_decode_plan(&changed[i], &h200, plans, &chunk),
				 KP_OK);
		assert_int_equal(plans[0].kernel, KP_KERNEL_attention_any);
		assert_int_equal(plans[1].grid_x, 0);
	}
}

static void test_attention_says_why_not(void **state)
{
	struct kp_attention_decode_args args = attention_args(2, 8, 2, 64, 64), good = args;
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	const char *reason = NULL;
	uint32_t chunk;

	(void)state;
	assert_true(kp_attention_decode_supports(&args, &reason));
	assert_null(reason);
	args.length_most = 65;
	assert_false(kp_attention_decode_supports(&args, &reason));
	assert_string_equal(reason, "length_most is more than a contiguous cache holds");
	args.pages = AT(4096);
	assert_true(kp_attention_decode_supports(&args, NULL));
	args = good;
	args.q_heads = 7;
	assert_false(kp_attention_decode_supports(&args, NULL));
	args = good;
	args.kv_heads = 0;
	assert_false(kp_attention_decode_supports(&args, NULL));
	args = good;
	args.queries = 9;
	assert_false(kp_attention_decode_supports(&args, NULL));
	args = good;
	args.head_dim = 257;
	assert_false(kp_attention_decode_supports(&args, NULL));
	args = good;
	args.softcap = NAN;
	assert_false(kp_attention_decode_supports(&args, NULL));
	args = good;
	args.cache_dtype = KP_DTYPE_INT8;
	assert_false(kp_attention_decode_supports(&args, NULL));
	args = attention_args(1, 32, 8, 32768, 128);
	assert_true(kp_attention_decode_workspace(&args, &h200) > 0);
	assert_int_equal(kp_attention_decode_plan(&args, &h200, plans, &chunk), KP_INVALID);
	/* No device that is too small or too large, and no number of splits that is out of bounds.
	 */
	for (uint32_t sms = 1; sms < 100000; sms *= 7) {
		const struct kp_kernel_device device = {sms, 80};

		args.workspace = AT(16);
		args.workspace_bytes = kp_attention_decode_workspace(&args, &device);
		assert_int_equal(kp_attention_decode_plan(&args, &device, plans, &chunk), KP_OK);
		assert_in_range(plans[0].grid_y, 1, 1024);
		assert_true((uint64_t)chunk * plans[0].grid_y >= args.length_most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear_version_follows_shape),
		cmocka_unit_test(test_linear_rings_follow_shape),
		cmocka_unit_test(test_linear_version_follows_alignment),
		cmocka_unit_test(test_linear_says_why_not),
		cmocka_unit_test(test_attention_version_follows_shape),
		cmocka_unit_test(test_attention_version_follows_alignment),
		cmocka_unit_test(test_attention_says_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
