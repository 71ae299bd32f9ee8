/* What repeats: symbols and their distances, directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/repetition.h"

#define SYMBOLS 4

struct sequence {
	struct kp_symbol symbols[SYMBOLS];
	uint64_t length;
};

static void add(struct sequence *sequence, unsigned symbol, uint64_t waited_ns)
{
	kp_symbol_add(&sequence->symbols[symbol], sequence->length++, 100, waited_ns);
}

static bool find(const struct sequence *sequence, struct kp_repetition *out)
{
	const struct kp_symbol *symbols[SYMBOLS];
	size_t scratch[SYMBOLS];

	for (unsigned i = 0; i < SYMBOLS; i++)
		symbols[i] = &sequence->symbols[i];
	return kp_repetition_find(symbols, SYMBOLS, sequence->length, scratch, out);
}

/* Of several that begin an iteration, the one behind the longest wait does. */
static void test_repetition_anchor_is_behind_the_wait(void **state)
{
	struct sequence sequence = {0};
	struct kp_repetition found;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		for (unsigned k = 0; k < SYMBOLS; k++)
			add(&sequence, k, k == 2 ? 1000 : 10);
	assert_true(find(&sequence, &found));
	assert_int_equal(found.anchor, 2);
	assert_int_equal(found.period, SYMBOLS);
	assert_int_equal(found.count, 9);
}

static void test_repetition_needs_enough(void **state)
{
	struct sequence sequence = {0};
	struct kp_repetition found;

	(void)state;
	for (unsigned i = 0; i < KP_REPETITION_LEAST; i++) {
		assert_false(find(&sequence, &found));
		for (unsigned k = 0; k < SYMBOLS; k++)
			add(&sequence, k, 0);
	}
	assert_true(find(&sequence, &found));
	/* A few in a long run are no iterations. */
	for (unsigned i = 0; i < 100; i++)
		add(&sequence, 3, 0);
	assert_false(find(&sequence, &found));
}

/* The usual distance outlives many that come once each. */
static void test_repetition_keeps_the_usual_distance(void **state)
{
	struct kp_symbol symbol = {0};
	uint64_t at = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		kp_symbol_add(&symbol, at, 0, 0);
		at += i % 8 == 7 ? 1000 + 100 * i : 200;
	}
	assert_int_equal(symbol.count, 1000);
	assert_true(symbol.seen[0].distance == 200 && symbol.seen[0].hits > 700);
}

static void test_repetition_same_distances(void **state)
{
	(void)state;
	assert_true(kp_repetition_same(3, 3));
	assert_false(kp_repetition_same(3, 4));
	assert_true(kp_repetition_same(400, 408));
	assert_false(kp_repetition_same(400, 409));
	assert_true(kp_repetition_same(30, 28));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repetition_anchor_is_behind_the_wait),
		cmocka_unit_test(test_repetition_needs_enough),
		cmocka_unit_test(test_repetition_keeps_the_usual_distance),
		cmocka_unit_test(test_repetition_same_distances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
