/*
 * Rules about recognised sequences: how they are read, which of kprof's own are off, what kinds are
 * told by operations and names, and what lies where between launches.
 */
#include "torch_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/ab_rules.h"
#include "inject/ab_sequence_flow.h"

#define HEAD "rules:\n- name: one\n  recognise: 'residual, rms norm'\n"
#define REPLACE                                                                                    \
	"  replace: {library: a.so, entry: e, arguments: [{ptr: a}, {i64: b_row}, {f64: eps}]}\n"
#define DATA(name)                                                                                 \
	"{name: " #name ", address: " #name ", dtype: dtype, rows: rows, columns: columns}"
#define INPUTS "  inputs: [" DATA(a) ", " DATA(b) "]\n"
#define OUTPUTS "  outputs: [" DATA(sum) ", " DATA(y) "]\n"
#define REST REPLACE INPUTS OUTPUTS

static enum kp_status add(const char *yaml, struct kp_ab_rules **rules,
			  struct kp_rules_error *error)
{
	assert_int_equal(kp_ab_rules_create(rules), KP_OK);
	return kp_ab_rules_add(*rules, yaml, strlen(yaml), "", error);
}

static void *make_plan(const char *yaml, size_t *length)
{
	const struct kp_ab_plan_settings settings = {
		.mode = KP_AB_SWAP, .again = 64, .candidates = "/c.so", .results = "/r.ab"};
	struct kp_rules_error error = {0};
	struct kp_ab_rules *rules;
	void *plan;

	if (add(yaml, &rules, &error) != KP_OK)
		fail_msg("line %zu: %s", error.line, error.text);
	assert_true(kp_ab_rules_have_sequences(rules));
	assert_string_equal(kp_ab_rules_words(rules, 0).matches, "residual, rms norm");
	assert_true(kp_ab_rules_words(rules, 0).recognised);
	assert_int_equal(kp_ab_rules_plan(rules, &settings, &plan, length), KP_OK);
	kp_ab_rules_destroy(rules);
	return plan;
}

static uint32_t symbol_of(const struct kp_ab_plan *plan, uint32_t argument)
{
	const struct kp_ab_argument *of =
		&plan->arguments[plan->rules[0].first_argument + argument];

	assert_int_equal(of->value.count, 1);
	assert_int_equal(plan->ops[of->value.first].code, KP_AB_OP_SYMBOL);
	return plan->ops[of->value.first].index;
}

static void test_ab_recognise_is_read(void **state)
{
	struct kp_ab_plan plan;
	size_t length;
	void *made = make_plan(HEAD "  unseen: true\n  hold_us: 70\n" REST, &length);
	const struct kp_ab_rule *rule;

	(void)state;
	assert_int_equal(kp_ab_plan_check(made, length, &plan), KP_OK);
	rule = &plan.rules[0];
	assert_int_equal(rule->match, KP_AB_MATCH_RECOGNISED);
	assert_int_equal(rule->recognised, KP_TORCH_SEQUENCE_RMS_RESIDUAL);
	assert_int_equal(rule->member_count, 2);
	assert_int_equal(rule->hold_us, 70);
	assert_true(rule->unseen);
	/* Inputs are a, weight, b. */
	assert_int_equal(symbol_of(&plan, 0), KP_AB_SYMBOL_OPERAND_0);
	assert_int_equal(symbol_of(&plan, 1), KP_AB_SYMBOL_ROW_2);
	assert_int_equal(symbol_of(&plan, 2), KP_AB_SYMBOL_EPS);
	free(made);
}

static void test_ab_recognise_errors_have_lines(void **state)
{
	static const struct {
		const char *yaml;
		size_t line;
		const char *says;
	} rows[] = {
		{"rules:\n- name: a\n  recognise: norm\n" REST, 3, "no sequence «norm»"},
		{"rules:\n- name: a\n  recognise: rope\n" REST, 3, "cannot be replaced yet"},
		{"rules:\n- name: a\n  recognise: none\n" REST, 3, "no sequence «none»"},
		{HEAD "  kernel: k\n" REST, 2, "one of"},
		{HEAD "  parameters: 3\n" REST, 2, "members have their own"},
		{HEAD "  keep: [a]\n" REST, 2, "of a «sequence»"},
		{HEAD "  elide: [a]\n" REST, 2, "of a «sequence»"},
		{HEAD "  row_local: true\n" REST, 2, "of a «sequence»"},
		{HEAD "  unseen: 1\n" REST, 4, "true"},
		{HEAD "  hold_us: 0\n" REST, 2, "1 or more"},
		{HEAD REPLACE INPUTS "  inout: [" DATA(y) "]\n", 2, "no «inout»"},
		{HEAD "  when: z == 0\n" REST, 4, "there is no «z»"},
		{HEAD "  when: a_rows == 0\n" REST, 4, "there is no «a_rows»"},
		{HEAD "  when: ptr(0) == 0\n" REST, 4, "no parameters"},
		{HEAD "  when: grid_x == 0\n" REST, 4, "is of launches"},
		{HEAD "  when: lda == 0\n" REST, 4, "is of calls"},
		{HEAD "  when: eps\n" REST, 4, "float"},
		{"rules:\n- {name: a, kernel: k, unseen: true, replace: {library: a.so, entry: e, "
		 "arguments: []}, outputs: []}\n",
		 2, "«unseen» is of"},
		{"rules:\n- name: a\n  kernel: k\n  when: eps == 0\n  replace: {library: a.so, "
		 "entry: e, arguments: []}\n  outputs: []\n",
		 4, "of what is recognised"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kp_rules_error error = {0};
		struct kp_ab_rules *rules;
		enum kp_status status = add(rows[i].yaml, &rules, &error);

		if (status != KP_INVALID || error.line != rows[i].line ||
		    !strstr(error.text, rows[i].says))
			fail_msg("%zu: %d, line %zu: %s", i, status, error.line, error.text);
		kp_ab_rules_destroy(rules);
	}
}

/* With a checksum that fits, whatever a plan holds is refused or sound. */
static void test_ab_recognise_hostile_plan(void **state)
{
	struct kp_ab_plan plan;
	size_t length, refused = 0;
	unsigned char *made = make_plan(HEAD REST, &length);
	struct kp_ab_header *header = (void *)made;
	size_t first = header->rules.offset, last = header->texts.offset;

	(void)state;
	for (size_t i = first; i < last; i++)
		for (int bit = 0; bit < 8; bit++) {
			made[i] ^= (unsigned char)(1U << bit);
			header->checksum = kp_ab_plan_sum(made, length);
			if (kp_ab_plan_check(made, length, &plan) != KP_OK)
				refused++;
			else if (plan.rules[0].match == KP_AB_MATCH_RECOGNISED)
				assert_int_equal(plan.rules[0].member_count, 2);
			made[i] ^= (unsigned char)(1U << bit);
		}
	assert_true(refused > last - first);
	free(made);
}

/* ---- kprof's own ---- */

static void test_ab_recognise_own_rules_are_off_by_their_marks(void **state)
{
	static const char *const named[] = {"eager-silu-mul"};
	struct kp_ab_rules *rules;
	const char *missing;
	size_t all, own = 0, off = 0;

	(void)state;
	assert_int_equal(kp_ab_rules_create(&rules), KP_OK);
	assert_int_equal(kp_ab_rules_add_builtin(rules), KP_OK);
	all = kp_ab_rules_count(rules);
	for (size_t i = 0; i < all; i++) {
		struct kp_ab_rule_words words = kp_ab_rules_words(rules, i);
		uint8_t kind = kp_torch_sequence_find(words.matches);

		if (!words.recognised)
			continue;
		own++;
		off += words.off;
		assert_int_equal(words.off,
				 kp_torch_sequence_kinds[kind].seen != KP_TORCH_SEEN_GPU);
	}
	assert_true(own >= 7);
	kp_ab_rules_leave_off(rules);
	assert_int_equal(kp_ab_rules_count(rules), all - off);
	kp_ab_rules_destroy(rules);
	assert_int_equal(kp_ab_rules_create(&rules), KP_OK);
	assert_int_equal(kp_ab_rules_add_builtin(rules), KP_OK);
	kp_ab_rules_allow_unseen(rules);
	kp_ab_rules_leave_off(rules);
	assert_int_equal(kp_ab_rules_count(rules), all);
	assert_true(kp_ab_rules_keep(rules, named, 1, &missing));
	assert_false(kp_ab_rules_is_off(rules, 0));
	kp_ab_rules_destroy(rules);
}

/* ---- kinds ---- */

/* Each sequence that was recorded, by its kind alone, by its operations, and by its names. */
static void check_recorded(const struct torch_case *unit, size_t first, size_t *found)
{
	struct kp_torch_launch launches[KP_TORCH_SEQUENCE_MOST];
	struct kp_torch_sequence sequence, again;
	uint8_t ops[KP_TORCH_SEQUENCE_MOST];
	enum kp_torch_match match = KP_TORCH_MATCH_MORE;
	size_t count = 0;

	while (match == KP_TORCH_MATCH_MORE && first + count < unit->count &&
	       count < KP_TORCH_SEQUENCE_MOST &&
	       torch_dump_decode(&unit->records[first + count], &launches[count])) {
		ops[count] = kp_torch_name_op(unit->records[first + count].name);
		assert_int_equal(ops[count], launches[count].op);
		match = kp_torch_sequence_match(launches, ++count, &sequence);
	}
	if (match != KP_TORCH_MATCH_WHOLE || !kp_torch_sequence_kinds[sequence.kind].patterned)
		return;
	++*found;
	assert_int_equal(kp_torch_sequence_of(ops, count), sequence.kind);
	for (unsigned kind = 1; kind < KP_TORCH_SEQUENCE_COUNT; kind++)
		assert_int_equal(kp_torch_sequence_is((uint8_t)kind, launches, count, &again) ==
					 KP_TORCH_MATCH_WHOLE,
				 kind == sequence.kind);
	for (size_t i = 0; i < count; i++)
		assert_true(kp_torch_sequence_place(sequence.kind, ops[i]) &
			    (i ? KP_TORCH_PLACE_ANY : KP_TORCH_PLACE_FIRST));
	for (size_t i = 1; i < count; i++)
		assert_int_equal(kp_torch_sequence_is(sequence.kind, launches, i, &again),
				 KP_TORCH_MATCH_MORE);
	/* Who marks a kind must have marked its launches. */
	if (kp_torch_sequence_kinds[sequence.kind].seen == KP_TORCH_SEEN_GPU)
		assert_int_equal(sequence.seen, KP_TORCH_SEEN_GPU);
}

static void test_ab_recognise_kinds(void **state)
{
	FILE *stream = fopen(RECORDED "/torch_launches/host.txt", "r");
	const uint8_t other[] = {KP_TORCH_ADD, KP_TORCH_EXP};
	struct torch_case unit;
	size_t found = 0;

	(void)state;
	assert_non_null(stream);
	while (torch_dump_next(stream, &unit)) {
		for (size_t i = 0; i < unit.count; i++)
			check_recorded(&unit, i, &found);
		torch_dump_free(&unit);
	}
	fclose(stream);
	assert_true(found >= 15);
	assert_int_equal(kp_torch_sequence_of(other, 2), KP_TORCH_SEQUENCE_NONE);
	assert_int_equal(kp_torch_sequence_of(other, 0), KP_TORCH_SEQUENCE_NONE);
	assert_int_equal(kp_torch_sequence_place(KP_TORCH_SEQUENCE_RMS, KP_TORCH_POW),
			 KP_TORCH_PLACE_FIRST | KP_TORCH_PLACE_ANY);
	assert_int_equal(kp_torch_sequence_place(KP_TORCH_SEQUENCE_RMS, KP_TORCH_MEAN),
			 KP_TORCH_PLACE_ANY);
	assert_int_equal(kp_torch_name_op("nothing"), KP_TORCH_NONE);
	for (unsigned kind = 1; kind < KP_TORCH_SEQUENCE_COUNT; kind++)
		assert_int_equal(kp_torch_sequence_find(kp_torch_sequence_kinds[kind].key), kind);
}

/* ---- what lies where ---- */

/* Bytes of little memory: who wrote each last, and what was read of before. */
enum { MEMORY = 24, ACCESSES = 8, GAMES = 100000 };

static uint32_t draw(uint32_t below)
{
	static uint64_t random = 7;

	random = random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(random >> 33) % below;
}

/* What is owed covers all that was written, or was told to overlap. */
static void test_ab_recognise_flow_owes_all_that_is_written(void **state)
{
	size_t through = 0;

	(void)state;
	for (size_t game = 0; game < GAMES; game++) {
		struct kp_ab_flow flow = {0};
		bool written[MEMORY] = {false}, owes[MEMORY] = {false};
		enum kp_ab_reason reason = KP_AB_REASON_COUNT;
		uint32_t owed = 0;

		for (int i = 0; i < ACCESSES && reason == KP_AB_REASON_COUNT; i++) {
			uint32_t at = draw(MEMORY - 4) / 2 * 2, bytes = 2 + 2 * draw(2);
			bool writes = draw(2);

			reason = kp_ab_flow_put(&flow, 100 + at, bytes, writes);
			for (uint32_t k = at; writes && k < at + bytes; k++)
				written[k] = true;
		}
		if (reason != KP_AB_REASON_COUNT) {
			assert_true(reason == KP_AB_REASON_OVERLAP || reason == KP_AB_REASON_FLOW);
			continue;
		}
		through++;
		assert_int_equal(kp_ab_flow_check(&flow, NULL, 0, UINT32_MAX, &owed),
				 KP_AB_REASON_COUNT);
		for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++)
			for (uint64_t k = 0; owed >> i & 1 && k < flow.buffers[i].bytes; k++)
				owes[flow.buffers[i].address - 100 + k] = true;
		assert_memory_equal(written, owes, sizeof(owes));
	}
	assert_true(through > GAMES / 50);
}

static void test_ab_recognise_flow_has_bounds(void **state)
{
	struct kp_ab_flow flow = {0};

	(void)state;
	for (uint64_t i = 0; i < KP_AB_BUFFERS_MOST; i++)
		assert_int_equal(kp_ab_flow_put(&flow, 1000 * (i + 1), 8, i % 2),
				 KP_AB_REASON_COUNT);
	assert_int_equal(kp_ab_flow_put(&flow, 1000, 8, false), KP_AB_REASON_COUNT);
	assert_int_equal(kp_ab_flow_put(&flow, 99000, 8, false), KP_AB_REASON_FLOW);
	assert_int_equal(kp_ab_flow_put(&flow, 1000, 0, false), KP_AB_REASON_FLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_recognise_is_read),
		cmocka_unit_test(test_ab_recognise_errors_have_lines),
		cmocka_unit_test(test_ab_recognise_hostile_plan),
		cmocka_unit_test(test_ab_recognise_own_rules_are_off_by_their_marks),
		cmocka_unit_test(test_ab_recognise_kinds),
		cmocka_unit_test(test_ab_recognise_flow_owes_all_that_is_written),
		cmocka_unit_test(test_ab_recognise_flow_has_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
