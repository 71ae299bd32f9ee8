/* attention_prefill: checks of arguments, choice of the version, maps of the copy engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernels/attention_prepare.h"
#include "tests/kernels/poison.h"

#define AT(address) ((void *)(uintptr_t)(address))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct kp_kernel_device h200 = {132, 90}, a100 = {108, 80};

/* Packed, [batch, queries, heads, head_dim]. */
static struct kp_attention_prefill_args args_of(uint32_t batch, uint32_t heads, uint32_t kv_heads,
						uint32_t length, uint32_t head_dim)
{
	const int64_t q = (int64_t)heads * head_dim, k = (int64_t)kv_heads * head_dim;

	return (struct kp_attention_prefill_args){
		.q = AT(4096),
		.k = AT(8192),
		.v = AT(12288),
		.out = AT(16384),
		.batch = batch,
		.q_heads = heads,
		.kv_heads = kv_heads,
		.head_dim = head_dim,
		.queries = length,
		.keys = length,
		.scale = 0.125F,
		.q_batch = q * length,
		.q_query = q,
		.q_head = head_dim,
		.k_batch = k * length,
		.k_key = k,
		.k_head = head_dim,
		.v_batch = k * length,
		.v_key = k,
		.v_head = head_dim,
		.out_batch = q * length,
		.out_query = q,
		.out_head = head_dim,
	};
}

static void test_version_follows_shape(void **state)
{
	static const struct {
		uint32_t batch, heads, length, head_dim;
		bool causal;
		enum kp_kernel_id kernel;
		uint32_t grid, threads;
	} rows[] = {
		{32, 32, 2048, 128, false, KP_KERNEL_prefill_hopper_128, 132, 384},
		{1, 32, 4096, 128, false, KP_KERNEL_prefill_hopper_128_wide, 132, 384},
		{1, 32, 4096, 128, true, KP_KERNEL_prefill_hopper_128, 132, 384},
		{32, 32, 2048, 128, true, KP_KERNEL_prefill_hopper_128, 132, 384},
		{1, 8, 300, 128, true, KP_KERNEL_prefill_hopper_128, 24, 384},
		{16, 16, 2048, 64, false, KP_KERNEL_prefill_hopper_64, 132, 512},
		{1, 8, 193, 64, true, KP_KERNEL_prefill_hopper_64, 16, 512},
		{2, 8, 1000, 96, true, KP_KERNEL_prefill_any_96, 256, 128},
		{2, 8, 1000, 80, true, KP_KERNEL_prefill_any_96, 256, 128},
		{1, 4, 64, 256, false, KP_KERNEL_prefill_any_256, 4, 128},
		{1, 4, 64, 1, false, KP_KERNEL_prefill_any_64, 4, 128},
		{0, 4, 64, 128, false, KP_KERNEL_prefill_hopper_128, 0, 384},
		{1, 4, 0, 128, false, KP_KERNEL_prefill_any_128, 0, 128},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kp_attention_prefill_args args =
			args_of(rows[i].batch, rows[i].heads, rows[i].heads, rows[i].length,
				rows[i].head_dim);
		struct kp_kernel_plan plan = KP_TEST_POISON;

		args.causal = rows[i].causal;
		assert_int_equal(kp_attention_prefill_workspace(&args), 0);
		assert_int_equal(kp_attention_prefill_plan(&args, &h200, &plan), KP_OK);
		assert_int_equal(plan.kernel, rows[i].kernel);
		assert_int_equal(plan.grid_x, rows[i].grid);
		assert_int_equal(plan.threads, rows[i].threads);
		assert_true(plan.shared_bytes <= 227 * 1024);
		assert_int_equal(plan.shared_bytes, kp_attention_prefill_shared_bytes(plan.kernel));
	}
}

/* What the copy engine or the fast versions cannot do goes to those for all. */
static void test_version_follows_arguments(void **state)
{
	const struct kp_attention_prefill_args good = args_of(2, 8, 2, 640, 128);
	struct kp_attention_prefill_args changed[10];
	struct kp_kernel_plan plan = KP_TEST_POISON;

	(void)state;
	for (size_t i = 0; i < COUNT(changed); i++)
		changed[i] = good;
	changed[0].q = AT(4104);
	changed[1].v_key = 260;
	changed[2].out_head = 129;
	changed[3].k_head = -128;
	changed[4].softcap = 30;
	changed[5].scale = -1;
	changed[6].pages = AT(4096);
	changed[6].page_tokens = 16;
	changed[7].keys = 0;
	changed[8].k_key = 1LL << 38;
	changed[9].scale = NAN;
	for (size_t i = 0; i < COUNT(changed); i++) {
		assert_int_equal(kp_attention_prefill_plan(&changed[i], &h200, &plan), KP_OK);
		assert_int_equal(plan.kernel, KP_KERNEL_prefill_any_128);
		assert_int_equal(plan.grid_x, 2 * 8 * 10);
		assert_int_equal(plan.shared_bytes, 0);
	}
	assert_int_equal(kp_attention_prefill_plan(&good, &a100, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_prefill_any_128);
	changed[0] = good;
	changed[0].causal = true;
	changed[0].window = 100;
	changed[0].q_starts = changed[0].k_starts = AT(4096);
	changed[0].q_total = changed[0].k_total = 1000;
	assert_int_equal(kp_attention_prefill_plan(&changed[0], &h200, &plan), KP_OK);
	assert_int_equal(plan.kernel, KP_KERNEL_prefill_hopper_128);
}

static void test_says_why_not(void **state)
{
	const struct kp_attention_prefill_args good = args_of(2, 8, 2, 64, 64);
	struct kp_attention_prefill_args changed[16];
	struct kp_kernel_plan plan = KP_TEST_POISON;
	const char *reason = NULL;

	(void)state;
	assert_true(kp_attention_prefill_supports(&good, &reason));
	assert_null(reason);
	for (size_t i = 0; i < COUNT(changed); i++)
		changed[i] = good;
	changed[0].head_dim = 257;
	changed[1].q_heads = 7;
	changed[2].kv_heads = 0;
	changed[3].queries = (1U << 29) + 1;
	changed[4].offset = INT32_MIN;
	changed[5].window = 5;
	changed[6].q_starts = AT(4096);
	changed[7].q_starts = changed[7].k_starts = changed[7].pages = AT(4096);
	changed[8].pages = AT(4096);
	changed[9].dtype = KP_DTYPE_FP32;
	changed[10].softcap = NAN;
	changed[11].q = NULL;
	changed[12].v = NULL;
	changed[13].queries = 1U << 29;
	changed[13].batch = 1U << 20;
	changed[14].head_dim = 0;
	changed[15].q_starts = changed[15].k_starts = changed[15].position = AT(4096);
	for (size_t i = 0; i < COUNT(changed); i++) {
		reason = NULL;
		assert_false(kp_attention_prefill_supports(&changed[i], &reason));
		assert_non_null(reason);
		assert_int_equal(kp_attention_prefill_plan(&changed[i], &h200, &plan), KP_INVALID);
	}
}

/* ---- an encoder that takes notes ---- */

static struct {
	int calls, fail_at;
	void *addresses[3];
	uint64_t sizes[3][4], strides[3][3];
	uint32_t boxes[3][4];
} seen;

static int encode(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
		  const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
		  int interleave, int swizzle, int promotion, int fill)
{
	int number = seen.calls++;

	assert_in_range(number, 0, 2);
	assert_int_equal((uintptr_t)map % 64, 0);
	assert_int_equal(type, 9);
	assert_int_equal(rank, 4);
	assert_int_equal(element_strides[0] + element_strides[3], 2);
	assert_int_equal(interleave + fill, 0);
	assert_int_equal(swizzle, 3);
	assert_int_equal(promotion, 2);
	seen.addresses[number] = address;
	memcpy(seen.sizes[number], sizes, sizeof(seen.sizes[number]));
	memcpy(seen.strides[number], strides, sizeof(seen.strides[number]));
	memcpy(seen.boxes[number], box, sizeof(seen.boxes[number]));
	return seen.calls == seen.fail_at;
}

static enum kp_status prepare(const struct kp_attention_prefill_args *args, int fail_at,
			      struct kp_attention_call *call)
{
	struct kp_kernel_plan plan = KP_TEST_POISON;

	memset(&seen, 0, sizeof(seen));
	seen.fail_at = fail_at;
	return kp_attention_prefill_prepare(args, &h200, encode, &plan, call);
}

static void test_maps_describe_tensors(void **state)
{
	const uint64_t q_sizes[] = {128, 640, 8, 2}, k_sizes[] = {128, 640, 2, 2};
	const uint64_t packed[] = {128, 900, 2, 1};
	struct kp_attention_prefill_args args = args_of(2, 8, 2, 640, 128);
	struct kp_attention_call call;

	(void)state;
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_int_equal(seen.calls, 3);
	assert_ptr_equal(seen.addresses[1], args.k);
	assert_memory_equal(seen.sizes[0], q_sizes, sizeof(q_sizes));
	assert_memory_equal(seen.sizes[2], k_sizes, sizeof(k_sizes));
	assert_int_equal(seen.strides[0][0], 8 * 128 * 2);
	assert_int_equal(seen.strides[0][1], 128 * 2);
	assert_int_equal(seen.strides[1][2], 640 * 2 * 128 * 2);
	assert_int_equal(seen.boxes[0][1], 128);
	assert_int_equal(seen.boxes[1][1], 128);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(prepare(&args, i, &call), KP_IO);
	/* The stride of one sequence is not used; the copy engine wants a valid one all the same.
	 */
	args.q_starts = args.k_starts = AT(4096);
	args.q_total = 1000;
	args.k_total = 900;
	args.k_batch = 0;
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_memory_equal(seen.sizes[1], packed, sizeof(packed));
	assert_int_equal(seen.strides[1][2], 16);
	args.batch = 0;
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_int_equal(seen.calls, 0);
	args = args_of(1, 8, 2, 5000, 128);
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_int_equal(seen.boxes[1][1], 176);
}

static void test_heads_share_l2(void **state)
{
	struct kp_attention_prefill_args args = args_of(4, 32, 8, 8192, 128);
	struct kp_attention_call call;

	(void)state;
	args.causal = true;
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_int_equal(call.heads, 6 * 4);
	assert_int_equal(call.blocks, 64);
	args.queries = args.keys = 16;
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_int_equal(call.heads, 4 * 32);
	args.causal = false;
	assert_int_equal(prepare(&args, 0, &call), KP_OK);
	assert_int_equal(call.heads, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_follows_shape),
		cmocka_unit_test(test_version_follows_arguments),
		cmocka_unit_test(test_says_why_not),
		cmocka_unit_test(test_maps_describe_tensors),
		cmocka_unit_test(test_heads_share_l2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
