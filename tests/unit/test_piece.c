/* Pieces of built-ins in float64 are what the whole has there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/piece.h"
#include "kernels/reference/number.h"
#include "trace/scatter.h"

enum { DRAWS = 200, ELEMENTS = 65536 };

static uint16_t inputs[4][ELEMENTS], results[ELEMENTS], other[ELEMENTS];
static double whole[ELEMENTS];

static void fill(void)
{
	uint64_t state = 7;

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < ELEMENTS; j++)
			kp_number_store(inputs[i], KP_DTYPE_BF16, (int64_t)j,
					(double)(kp_scatter_next(&state) >> 40) / 0x1p23 - 1);
}

/* The element of the whole at each place of `results`, rounded; what is no result is NaN. */
static void put(int64_t at, double value)
{
	kp_number_store(results, KP_DTYPE_BF16, at, value);
}

static void clear(void)
{
	for (int64_t i = 0; i < ELEMENTS; i++)
		put(i, NAN);
}

static void compare(const struct kp_piece *piece, struct kp_piece_errors *errors, uint16_t *last)
{
	const uint16_t *result = (const uint16_t *)(uintptr_t)piece->result;
	const void *ranges[KP_PIECE_RANGES];
	uint64_t total = 0;

	for (uint32_t i = 0; i < piece->range_count; i++) {
		ranges[i] = (const void *)(uintptr_t)piece->ranges[i].address;
		total += piece->ranges[i].bytes;
	}
	assert_true(total <= 2 * KP_PIECE_INPUTS);
	memcpy(other, result, 2 * (size_t)piece->elements);
	*last = other[piece->elements - 1];
	other[piece->elements - 1] ^= 0x0080; /* twice, or half of it */
	*errors = (struct kp_piece_errors){0};
	assert_int_equal(kp_piece_compare(piece, ranges, result, other, errors), KP_OK);
}

/* The pieces of a call are in the whole's result, and right there but for the rounding. */
static void check(uint32_t builtin, const void *args)
{
	struct kp_piece_errors errors;
	struct kp_piece piece;
	uint64_t first = 0, others = 0;
	uint16_t last;

	for (uint64_t draw = 0; draw < DRAWS; draw++) {
		assert_true(kp_piece_find(builtin, args, kp_scatter(draw), &piece));
		compare(&piece, &errors, &last);
		assert_int_equal(errors.elements, piece.elements);
		assert_true(errors.original2 <= 0x1p-16 * errors.truth2);
		assert_true(errors.candidate2 > errors.original2);
		first = draw ? first : piece.result;
		others += piece.result != first;
	}
	assert_true(others > DRAWS / 4); /* not always the same one */
}

static void test_piece_linear(void **state)
{
	const struct kp_linear_skinny_args args = {.x = inputs[0],
						   .weight = inputs[1],
						   .bias = inputs[2],
						   .residual = inputs[3],
						   .y = results,
						   .tokens = 3,
						   .outputs = 100,
						   .inputs = 200,
						   .x_token = 210,
						   .weight_row = 208,
						   .residual_token = 110,
						   .y_token = 120,
						   .activation = KP_LINEAR_SILU};
	struct kp_linear_skinny_args none = args;
	struct kp_piece piece;

	(void)state;
	clear();
	kp_linear_skinny_reference(&args, whole, NULL);
	for (int64_t i = 0; i < 3; i++)
		for (int64_t j = 0; j < 100; j++)
			put(i * 120 + j, whole[i * 100 + j]);
	check(KP_AB_BUILTIN_linear_skinny, &args);
	none.inputs = none.x_token = none.weight_row = 100000;
	assert_false(kp_piece_find(KP_AB_BUILTIN_linear_skinny, &none, 1, &piece));
	none.inputs = none.x_token = none.weight_row = 20000;
	assert_true(kp_piece_find(KP_AB_BUILTIN_linear_skinny, &none, 1, &piece));
	assert_int_equal(piece.elements, 2);
}

static void test_piece_norms(void **state)
{
	const struct kp_norm_args args = {.x = inputs[0],
					  .residual = inputs[1],
					  .weight = inputs[2],
					  .bias = inputs[3],
					  .y = results,
					  .outer = 3,
					  .inner = 2,
					  .columns = 300,
					  .x_outer = 700,
					  .x_inner = 320,
					  .residual_outer = 600,
					  .residual_inner = 300,
					  .y_outer = 800,
					  .y_inner = 310,
					  .eps = 1e-5F};

	(void)state;
	for (int layer = 0; layer < 2; layer++) {
		clear();
		(layer ? kp_layernorm_reference : kp_rmsnorm_reference)(&args, whole);
		for (int64_t i = 0; i < 6; i++)
			for (int64_t j = 0; j < 300; j++)
				put(i / 2 * 800 + i % 2 * 310 + j, whole[i * 300 + j]);
		check(layer ? KP_AB_BUILTIN_layernorm : KP_AB_BUILTIN_rmsnorm, &args);
	}
}

static void test_piece_activation(void **state)
{
	const struct kp_activation_args args = {.x = inputs[0],
						.up = inputs[1],
						.y = results,
						.rows = 5,
						.columns = 5000,
						.x_row = 5100,
						.up_row = 5200,
						.y_row = 5300};

	(void)state;
	clear();
	kp_activation_reference(&args, whole);
	for (int64_t i = 0; i < 5; i++)
		for (int64_t j = 0; j < 5000; j++)
			put(i * 5300 + j, whole[i * 5000 + j]);
	check(KP_AB_BUILTIN_activation, &args);
}

static void test_piece_softmax(void **state)
{
	const struct kp_softmax_args args = {.x = inputs[0],
					     .mask = inputs[1],
					     .y = results,
					     .outer = 4,
					     .queries = 3,
					     .columns = 64,
					     .mask_outer_group = 2,
					     .x_outer = 300,
					     .x_query = 70,
					     .mask_outer = 250,
					     .mask_query = 66,
					     .y_outer = 310,
					     .y_query = 80,
					     .scale = 0.5F,
					     .causal = true};

	(void)state;
	clear();
	kp_softmax_reference(&args, whole);
	for (int64_t i = 0; i < 12; i++)
		for (int64_t j = 0; j < 64; j++)
			put(i / 3 * 310 + i % 3 * 80 + j, whole[i * 64 + j]);
	check(KP_AB_BUILTIN_softmax, &args);
}

static void test_piece_nothing(void **state)
{
	const struct kp_softmax_args args = {.outer = 0};
	struct kp_piece piece;

	(void)state;
	assert_false(kp_piece_find(KP_AB_BUILTIN_softmax, &args, 1, &piece));
	assert_false(kp_piece_find(KP_AB_BUILTIN_attention_prefill, &args, 1, &piece));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_piece_linear),     cmocka_unit_test(test_piece_norms),
		cmocka_unit_test(test_piece_activation), cmocka_unit_test(test_piece_softmax),
		cmocka_unit_test(test_piece_nothing),
	};

	fill();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
