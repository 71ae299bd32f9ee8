/*
 * Candidates that are wrong in the ways that real ones were are caught, each of 100 times in each
 * type; what only adds up in another order never is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ab_arrays.h"

#define SEEDS 100
#define CALLS 3 /* comparisons of a rule: two with other poisons, and one later on */

/* What a planted kernel sees, and leaves: its output, or the inputs, or what it remembers. */
struct call {
	struct problem *problem;
	const struct result *before; /* what it has put out in the call before */
	size_t number, seed;
	struct result *out; /* poison; */
	struct result right;
};

static void zeros(struct call *call)
{
	memset(call->out, 0, sizeof(*call->out));
}

static void nothing(struct call *call)
{
	(void)call;
}

static void stale(struct call *call)
{
	*call->out = call->number ? *call->before : call->right;
}

static void one_row(struct call *call)
{
	size_t row = call->seed % ROWS;

	*call->out = call->right;
	memcpy(call->out->at[row], call->right.at[(row + 1) % ROWS], sizeof(call->out->at[row]));
}

static void off_by_a_tile(struct call *call)
{
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < COLUMNS; j++)
			call->out->at[i][j] = call->right.at[i][(j + TILE) % COLUMNS];
}

static void last_columns(struct call *call)
{
	struct result poison = *call->out;

	*call->out = call->right;
	for (size_t i = 0; i < ROWS; i++)
		memcpy(&call->out->at[i][COLUMNS - 3], &poison.at[i][COLUMNS - 3],
		       3 * sizeof(double));
}

static void one_nan(struct call *call)
{
	*call->out = call->right;
	call->out->at[call->seed % ROWS][call->seed % COLUMNS] = NAN;
}

static void half_sums(struct call *call)
{
	product(call->problem, DEPTH, false, FP16, call->out);
}

static void changes_input(struct call *call)
{
	*call->out = call->right;
	call->problem->a[call->seed % ROWS][call->seed % DEPTH] += 1;
}

static void right_at_first(struct call *call)
{
	if (call->number == 0)
		*call->out = call->right;
	else
		for (size_t i = 0; i < ROWS * COLUMNS; i++)
			(&call->out->at[0][0])[i] = 0.9 * (&call->right.at[0][0])[i];
}

static void other_order(struct call *call)
{
	product(call->problem, 32U << call->seed % 4, call->seed % 2, FP32, call->out);
}

typedef void (*planted_kernel)(struct call *call);

/* What the comparisons of a rule are about: other inputs each time. */
static struct {
	struct problem problem, seen; /* as it was; as the kernel leaves it */
	struct result original;
} calls[CALLS];

static void draw_calls(enum type type, size_t seed)
{
	struct noise noise = {0};

	noise_begin(&noise, seed * 977 + type);
	for (size_t i = 0; i < CALLS; i++) {
		problem_draw(&calls[i].problem, type, &noise);
		calls[i].seen = calls[i].problem;
		product(&calls[i].problem, DEPTH, false, FP32, &calls[i].original);
	}
}

static bool is_changed(const struct problem *was, const struct problem *is)
{
	for (size_t i = 0; i < ROWS * DEPTH; i++)
		if ((&was->a[0][0])[i] != (&is->a[0][0])[i])
			return true;
	for (size_t i = 0; i < COLUMNS * DEPTH; i++)
		if ((&was->b[0][0])[i] != (&is->b[0][0])[i])
			return true;
	return false;
}

static enum kp_ab_fault compare_call(size_t number, const struct result *out)
{
	struct kp_ab_figures figures = compare_results(&calls[number].original, out);

	figures.inputs_changed = is_changed(&calls[number].problem, &calls[number].seen);
	return kp_ab_accuracy(&figures).fault;
}

/* The first fault that any of the comparisons finds. */
static enum kp_ab_fault play(planted_kernel kernel, size_t seed)
{
	struct result out, before = {0};
	enum kp_ab_fault fault = KP_AB_FAULT_NONE;

	for (size_t i = 0; fault == KP_AB_FAULT_NONE && i < CALLS; i++) {
		struct call call = {&calls[i].seen, &before, i, seed, &out, calls[i].original};

		for (size_t k = 0; k < ROWS * COLUMNS; k++)
			(&out.at[0][0])[k] = i % 2 ? -3.7e4 : 1.1e4;
		kernel(&call);
		fault = compare_call(i, &out);
		if (calls[i].seen.a[seed % ROWS][seed % DEPTH] !=
		    calls[i].problem.a[seed % ROWS][seed % DEPTH])
			calls[i].seen = calls[i].problem;
		before = out;
	}
	return fault;
}

static void test_ab_accuracy_catches_planted_faults(void **unused)
{
	const struct {
		planted_kernel kernel;
		enum kp_ab_fault fault; /* NONE: any will do */
	} planted[] = {
		{zeros, KP_AB_FAULT_MISMATCH},         {nothing, KP_AB_FAULT_MISMATCH},
		{stale, KP_AB_FAULT_MISMATCH},         {one_row, KP_AB_FAULT_MISMATCH},
		{off_by_a_tile, KP_AB_FAULT_MISMATCH}, {last_columns, KP_AB_FAULT_MISMATCH},
		{one_nan, KP_AB_FAULT_MASK},           {half_sums, KP_AB_FAULT_NONE},
		{changes_input, KP_AB_FAULT_INPUTS},   {right_at_first, KP_AB_FAULT_MISMATCH},
	};

	(void)unused;
	for (size_t at = 0; at < TYPE_COUNT * SEEDS; at++) {
		draw_calls(types[at % TYPE_COUNT], at);
		for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
			enum kp_ab_fault found = play(planted[i].kernel, at);

			if (found == KP_AB_FAULT_NONE)
				print_error("kernel %zu, seed %zu\n", i, at);
			assert_int_not_equal(found, KP_AB_FAULT_NONE);
			if (planted[i].fault != KP_AB_FAULT_NONE)
				assert_int_equal(found, planted[i].fault);
		}
	}
}

static void test_ab_accuracy_lets_other_orders_of_sums_pass(void **unused)
{
	(void)unused;
	for (size_t at = 0; at < TYPE_COUNT * SEEDS; at++) {
		draw_calls(types[at % TYPE_COUNT], at);
		assert_int_equal(play(other_order, at), KP_AB_FAULT_NONE);
	}
}

static void test_ab_accuracy_says_why(void **unused)
{
	const struct kp_ab_figures good = {.expected = 100,
					   .elements = 100,
					   .finite = 100,
					   .rms = 1e-3,
					   .rms_original = 1,
					   .noise_rms = NAN,
					   .rms_tolerated = 4e-3};
	struct kp_ab_figures figures = good;

	(void)unused;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	figures.elements = 99;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_INCOMPLETE);
	figures.inputs_changed = true;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_INPUTS);
	figures = good;
	figures.outside = 1;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_OUTSIDE);
	figures = good;
	figures.rms = 5e-3;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_RMS);
	figures.noise_rms = 2e-3; /* the original is as far off from itself */
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	figures.rms = NAN;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_RMS);
}

/* Float64 convicts who is much further off than the original, and acquits who is not further off.
 */
static void test_ab_accuracy_believes_float64(void **unused)
{
	const struct kp_ab_figures good = {.expected = 100,
					   .elements = 100,
					   .finite = 100,
					   .rms = 1e-3,
					   .rms_original = 1,
					   .noise_rms = NAN,
					   .rms_tolerated = 4e-3,
					   .truth_elements = 16,
					   .truth_rms = 1,
					   .truth_rms_original = 1e-5,
					   .truth_rms_candidate = 1e-2,
					   .truth_unit = 0x1p-9};
	struct kp_ab_figures figures = good;

	(void)unused;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_TRUTH);
	figures.truth_rms_candidate = 7e-3; /* a few roundings */
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	figures.truth_rms_candidate = 0.02;
	figures.truth_rms_original = 0.007; /* which is not much better */
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	figures.truth_rms_candidate = NAN;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_TRUTH);
	figures.truth_elements = 0;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	figures = good;
	figures.rms = 1e-2; /* they differ, and it is the original that is off */
	figures.truth_rms_original = 1e-2;
	figures.truth_rms_candidate = 1e-5;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	figures.mismatches = 1; /* which elements are, float64 does not know */
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_MISMATCH);
	figures.mismatches = 0;
	figures.truth_elements = 15;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_RMS);
	figures.truth_elements = 16;
	figures.truth_rms_candidate = 1.1e-2;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_RMS);
}

/* Zeros that are compared with zeros are no proof of anything. */
static void test_ab_accuracy_knows_when_it_says_little(void **unused)
{
	struct kp_ab_figures figures = {
		.expected = 4, .elements = 4, .finite = 4, .noise_rms = NAN, .rms_tolerated = 4e-3};

	(void)unused;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	assert_true(kp_ab_accuracy(&figures).says_little);
	figures.rms_original = 1;
	assert_false(kp_ab_accuracy(&figures).says_little);
	figures.finite = 0;
	figures.rms = figures.rms_original = NAN;
	assert_int_equal(kp_ab_accuracy(&figures).fault, KP_AB_FAULT_NONE);
	assert_true(kp_ab_accuracy(&figures).says_little);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_accuracy_catches_planted_faults),
		cmocka_unit_test(test_ab_accuracy_lets_other_orders_of_sums_pass),
		cmocka_unit_test(test_ab_accuracy_says_why),
		cmocka_unit_test(test_ab_accuracy_believes_float64),
		cmocka_unit_test(test_ab_accuracy_knows_when_it_says_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
