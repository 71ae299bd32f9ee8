/* FLOPs and fewest bytes of library calls, against sums that are worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/call_work.h"

/* cudaDataType + 1 */
#define F32 1
#define F64 2
#define F16 3
#define C32 5
#define BF16 15
#define E4M3 29
#define E2M1 34

static const struct kp_library_call plain = {
	.kind = KP_LIBRARY_GEMM,
	.m = 100,
	.n = 20,
	.k = 30,
	.batch = 1,
	.a_type = BF16,
	.b_type = BF16,
	.c_type = BF16,
	.d_type = BF16,
	.epilogue = 1,
};

static void expect(const struct kp_library_call *call, double flops, double bytes)
{
	struct kp_work work = kp_call_work(call);

	assert_true(work.flops == flops);
	assert_true(work.least_bytes == bytes);
}

static void test_work_of_a_product(void **state)
{
	struct kp_library_call call = plain;

	(void)state;
	/* 100·30 + 30·20 + 100·20 numbers of two bytes */
	expect(&call, 120000, 11200);
	call.transpose_a = KP_TRANSPOSE_YES;
	call.row_major = 15;
	expect(&call, 120000, 11200);
	call.d_type = 0; /* C is D */
	expect(&call, 120000, 11200);
	call.d_type = F32;
	expect(&call, 120000, 2 * 3600 + 4 * 2000);
	call.a_type = E4M3;
	call.b_type = E2M1; /* half a byte */
	expect(&call, 120000, 3000 + 300 + 8000);
}

static void test_work_of_a_batch(void **state)
{
	struct kp_library_call call = plain;

	(void)state;
	call.batch = 7;
	expect(&call, 7 * 120000., 7 * 11200.);
	call.stride_b = 1; /* the same B for all */
	expect(&call, 7 * 120000., 7 * 2 * (3000. + 2000) + 2 * 600);
	call.stride_b = 601;
	expect(&call, 7 * 120000., 7 * 11200.);
}

static void test_work_of_epilogues(void **state)
{
	static const struct {
		uint64_t epilogue;
		double bytes;
	} rows[] = {
		{2, 0},                /* RELU */
		{4, 200},              /* BIAS: a vector of m */
		{36, 200},             /* GELU_BIAS */
		{2 | 128, 2000 / 8.},  /* RELU_AUX: a bit for each number */
		{2 | 4 | 128, 450},    /* RELU_AUX_BIAS */
		{32 | 128, 4000},      /* GELU_AUX */
		{8 | 128, 2000 / 8.},  /* DRELU */
		{8 | 128 | 16, 450},   /* DRELU_BGRAD */
		{64 | 128 | 16, 4200}, /* DGELU_BGRAD */
		{256, 200},
		{512, 200}, /* BGRADA, BGRADB */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kp_library_call call = plain;

		call.epilogue = rows[i].epilogue;
		expect(&call, 120000, 11200 + rows[i].bytes);
	}
}

static void test_work_of_complex_numbers(void **state)
{
	struct kp_library_call call = plain;

	(void)state;
	call.a_type = call.b_type = call.c_type = call.d_type = C32;
	expect(&call, 480000, 8 * 5600);
}

/* A is 100 × 20 as it is stored. */
static void test_work_of_a_vector(void **state)
{
	struct kp_library_call call = plain;

	(void)state;
	call.kind = KP_LIBRARY_GEMV;
	call.k = 0;
	call.a_type = call.b_type = call.c_type = F32;
	call.d_type = 0;
	expect(&call, 4000, 4 * (2000 + 20 + 100));
	call.transpose_a = KP_TRANSPOSE_YES;
	call.d_type = F64;
	expect(&call, 4000, 4 * (2000 + 100) + 8 * 20);
}

static void test_work_of_attention(void **state)
{
	struct kp_library_call call = {.kind = KP_LIBRARY_ATTENTION,
				       .a_type = BF16,
				       .b_type = BF16,
				       .d_type = BF16,
				       .size1 = 2,   /* b */
				       .size2 = 8,   /* h */
				       .size3 = 4,   /* hk */
				       .size4 = 10,  /* sq */
				       .size5 = 30,  /* sk */
				       .size6 = 64,  /* d */
				       .size7 = 32}; /* dv */

	(void)state;
	/* q and o: 2·8·10·(64 + 32); k and v: 2·4·30·(64 + 32) numbers of two bytes */
	expect(&call, 2. * 2 * 8 * 10 * 30 * 96, 2. * (2 * 8 * 10 * 96 + 2 * 4 * 30 * 96));
	call.causal = 1; /* it is not known which ends meet */
	assert_true(isnan(kp_call_work(&call).flops));
	call.size5 = 10;
	expect(&call, 2. * 2 * 8 * 55 * 96, 2. * (2 * 8 * 10 * 96 + 2 * 4 * 10 * 96));
	call.d_type = F32;
	expect(&call, 2. * 2 * 8 * 55 * 96,
	       2. * (2 * 8 * 10 * 64 + 2 * 4 * 10 * 96) + 4. * 2 * 8 * 10 * 32);
	call.size3 = 0;
	assert_true(isnan(kp_call_work(&call).flops));
}

static void test_work_of_a_convolution(void **state)
{
	struct kp_library_call call = {.kind = KP_LIBRARY_CONVOLUTION,
				       .a_type = F16,
				       .b_type = F16,
				       .d_type = F32,
				       .groups = 2};
	const uint64_t one[] = {2, 8, 30, 16, 3, 28}, two[] = {2, 8, 30, 20, 16, 3, 5, 28, 16};
	const uint64_t three[] = {2, 8, 7, 6, 5, 16, 3, 2, 1, 5, 5, 5};

	(void)state;
	memcpy(kp_library_sizes_to_set(&call), one, sizeof(one));
	expect(&call, 2. * 2 * 16 * 28 * 4 * 3, 2. * (2 * 8 * 30 + 16 * 4 * 3) + 4. * 2 * 16 * 28);
	memcpy(kp_library_sizes_to_set(&call), two, sizeof(two));
	expect(&call, 2. * 2 * 16 * 28 * 16 * 4 * 15,
	       2. * (2 * 8 * 600 + 16 * 4 * 15) + 4. * 2 * 16 * 28 * 16);
	memcpy(kp_library_sizes_to_set(&call), three, sizeof(three));
	expect(&call, 2. * 2 * 16 * 125 * 4 * 6,
	       2. * (2 * 8 * 210 + 16 * 4 * 6) + 4. * 2 * 16 * 125);
	call.groups = 0;
	expect(&call, 2. * 2 * 16 * 125 * 8 * 6,
	       2. * (2 * 8 * 210 + 16 * 8 * 6) + 4. * 2 * 16 * 125);
	call.size3 = 0;
	call.size5 = 0;
	assert_true(isnan(kp_call_work(&call).least_bytes));
}

static void test_work_that_is_not_known(void **state)
{
	struct kp_library_call call = plain;

	(void)state;
	call.a_type = 0;
	assert_true(kp_call_work(&call).flops == 120000);
	assert_true(isnan(kp_call_work(&call).least_bytes));
	call = plain;
	call.d_type = call.c_type = UINT64_MAX;
	assert_true(isnan(kp_call_work(&call).least_bytes));
	call = plain;
	call.k = 0;
	assert_true(isnan(kp_call_work(&call).flops));
	assert_true(isnan(kp_call_work(&call).least_bytes));
	call = plain;
	call.kind = KP_LIBRARY_OTHER;
	assert_true(isnan(kp_call_work(&call).flops));
	call.kind = UINT64_MAX;
	assert_true(isnan(kp_call_work(&call).flops));
	call = plain; /* hostile sizes stay finite numbers */
	call.m = call.n = call.k = call.batch = UINT64_MAX;
	assert_true(isfinite(kp_call_work(&call).flops));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_of_a_product),
		cmocka_unit_test(test_work_of_a_batch),
		cmocka_unit_test(test_work_of_epilogues),
		cmocka_unit_test(test_work_of_complex_numbers),
		cmocka_unit_test(test_work_of_a_vector),
		cmocka_unit_test(test_work_of_attention),
		cmocka_unit_test(test_work_of_a_convolution),
		cmocka_unit_test(test_work_that_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
