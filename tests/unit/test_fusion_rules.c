/* Rules about chains: how they are read, and what they match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/fusion_rules.h"

/* Steps are single letters; so are words: a is 0. */
static const char steps_yaml[] = "steps:\n"
				 "  - {step: a, inputs: 1, function: [ka]}\n"
				 "  - {step: b, inputs: 2, function: [kb]}\n"
				 "  - {step: c, function: [kc]}\n"
				 "  - {step: d, function: [kd]}\n";

static struct kp_operators *load(const char *fusion)
{
	struct kp_operators *operators = NULL;
	struct kp_rules_error error;
	char yaml[2048];

	snprintf(yaml, sizeof(yaml), "%sfusions:\n%s", steps_yaml, fusion);
	assert_int_equal(kp_operators_create(yaml, strlen(yaml), &operators, &error), KP_OK);
	return operators;
}

static void know_elements(const struct kp_fusion_rule *rule, uint32_t elements[4])
{
	for (size_t i = 0; i < rule->element_count; i++)
		for (size_t k = 0; k < rule->elements[i].count; k++)
			elements[rule->elements[i].items[k][0] - 'a'] |= 1U << i;
}

/* How many of the letters the first rule takes, and in *members which. */
static size_t match(const char *chain, const char *letters, uint64_t used, const char *members,
		    bool *open)
{
	char yaml[512];
	struct kp_operators *operators;
	uint16_t words[64];
	uint32_t elements[4] = {0};
	struct kp_fusion_strip strip = {.words = words, .count = strlen(letters), .used = used};
	uint64_t seen, expected = 0;
	size_t length;

	snprintf(yaml, sizeof(yaml), "  - {name: n, about: x, confidence: low, chain: [%s]}\n",
		 chain);
	operators = load(yaml);
	know_elements(&operators->fusions[0], elements);
	for (size_t i = 0; i < strip.count; i++) {
		words[i] = (uint16_t)(letters[i] - 'a');
		expected |= members[i] == '1' ? 1ULL << i : 0;
	}
	length = kp_fusion_rule_match(&operators->fusions[0], elements, &strip, &seen, open);
	assert_int_equal(seen, expected);
	kp_operators_destroy(operators);
	return length;
}

/* From every place of many strips: with what the last attempt found, and without. */
static void compare_attempts(const struct kp_fusion_rule *rule, const uint32_t *elements,
			     uint64_t random)
{
	struct kp_fusion_memo memo;
	uint16_t words[64];
	uint64_t used = 0;

	for (size_t i = 0; i < 64; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		words[i] = random >> 60 < 11 ? 0 : (uint16_t)(random >> 58 & 3);
	}
	memo.end = 0;
	for (size_t at = 0; at < 64; at++) {
		const struct kp_fusion_strip plain = {
			.words = words + at, .count = 64 - at, .used = used >> at};
		struct kp_fusion_strip strip = plain;
		uint64_t members, plain_members;
		size_t length;
		bool open, plain_open;

		strip.memo = &memo;
		strip.at = at;
		length = kp_fusion_rule_match(rule, elements, &strip, &members, &open);
		assert_int_equal(length, kp_fusion_rule_match(rule, elements, &plain,
							      &plain_members, &plain_open));
		assert_int_equal(members, plain_members);
		assert_int_equal(open, plain_open);
		used |= members << at;
	}
}

static void test_fusion_rules_remember_attempts(void **state)
{
	static const char *const chains[] = {"\"a+\", b", "\"a+\", \"d?\", \"b+\", c",
					     "a, \"(a)*\", b", "\"a+\", c"};

	(void)state;
	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++) {
		struct kp_operators *operators;
		uint32_t elements[4] = {0};
		char yaml[512];

		snprintf(yaml, sizeof(yaml),
			 "  - {name: n, about: x, confidence: low, chain: [%s]}\n", chains[i]);
		operators = load(yaml);
		know_elements(&operators->fusions[0], elements);
		for (uint64_t random = 1; random <= 500; random++)
			compare_attempts(&operators->fusions[0], elements, random * 7919);
		kp_operators_destroy(operators);
	}
}

static void test_fusion_rules_match_in_order(void **state)
{
	bool open;

	(void)state;
	assert_int_equal(match("a, b", "abc", 0, "110", &open), 2);
	assert_false(open);
	assert_int_equal(match("a, b", "acb", 0, "000", &open), 0);
	assert_int_equal(match("a, b", "a", 0, "0", &open), 0);
	assert_true(open);
	assert_int_equal(match("a|b, c", "bc", 0, "11", &open), 2);
}

static void test_fusion_rules_take_the_longest(void **state)
{
	bool open;

	(void)state;
	assert_int_equal(match("a, \"b?\", c", "acb", 0, "110", &open), 2);
	assert_int_equal(match("a, \"b?\", c", "abc", 0, "111", &open), 3);
	assert_int_equal(match("a, \"b*\", \"a?\"", "abba", 0, "1111", &open), 4);
	assert_int_equal(match("a, \"b+\"", "abbc", 0, "1110", &open), 3);
	assert_int_equal(match("a, \"b+\"", "acb", 0, "000", &open), 0);
	/* Both elements can take the second launch: the way that goes on counts. */
	assert_int_equal(match("\"a*\", a, b", "aaab", 0, "1111", &open), 4);
	/* What may go on behind the last launch is said, though it is a chain already. */
	assert_int_equal(match("a, \"b+\"", "abb", 0, "111", &open), 3);
	assert_true(open);
	assert_int_equal(match("a, b", "ab", 0, "11", &open), 2);
	assert_false(open);
}

static void test_fusion_rules_let_launches_stay(void **state)
{
	bool open;

	(void)state;
	assert_int_equal(match("a, \"(c|d)*\", b", "acdb", 0, "1001", &open), 4);
	assert_int_equal(match("a, \"(c|d)*\", b", "ab", 0, "11", &open), 2);
	assert_int_equal(match("\"(c)\", a, \"(c)\"", "cac", 0, "010", &open), 3);
	/* Launches of another chain are there only to stay. */
	assert_int_equal(match("a, \"(c)*\", b", "acb", 2, "101", &open), 3);
	assert_int_equal(match("a, c, b", "acb", 2, "000", &open), 0);
}

static void test_fusion_rules_bad_ones_name_their_line(void **state)
{
	static const struct {
		const char *yaml, *says;
	} bad[] = {
		{"  - {name: n, about: x, confidence: low, chain: [a]}", "2 to 31"},
		{"  - {name: n, about: x, confidence: low, chain: a}", "2 to 31"},
		{"  - {name: n, about: x, confidence: low, chain: [a, q]}", "«q»"},
		{"  - {name: n, about: x, confidence: low, chain: [a, \"b|\"]}", "neither a step"},
		{"  - {name: n, about: x, confidence: low, chain: [a, \"?\"]}", "neither a step"},
		{"  - {name: n, about: x, confidence: sure, chain: [a, b]}", "confidence"},
		{"  - {name: n, confidence: low, chain: [a, b]}", "about"},
		{"  - {name: n, about: x, confidence: low, chain: [a, b], absorbed: 1}", "true"},
		{"  - {name: n, about: x, confidence: low, chain: [\"a?\", \"(b)\"]}",
		 "must be there"},
		{"  - {name: n, about: x, confidence: low, chain: [a, b], steps: 3}", "steps"},
		{"  - {name: n, about: x, confidence: low, chain: [a, b], operator: unknown/v}",
		 "high confidence"},
		{"  - {name: n, about: x, confidence: high, chain: [a, b], absorbed: true, "
		 "operator: unknown/v}",
		 "absorbed"},
		{"  - {name: n, about: x, confidence: high, chain: [a, b], operator: unknown}",
		 "operator/variant"},
		{"  - {name: n, about: x, confidence: high, chain: [a, b], operator: sums/v}",
		 "no operator «sums»"},
		{"  - {name: n, about: x, confidence: high, chain: [a, b], operator: [unknown/v]}",
		 "one «operator» for each"},
		{"  - {name: n, about: x, confidence: high, chain: [a, \"b?\"], "
		 "operator: [unknown/v, unknown/w]}",
		 "one «operator» for each"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kp_operators *operators = NULL;
		struct kp_rules_error error;
		char yaml[1024];

		snprintf(yaml, sizeof(yaml), "%sfusions:\n%s\n", steps_yaml, bad[i].yaml);
		assert_int_equal(kp_operators_create(yaml, strlen(yaml), &operators, &error),
				 KP_INVALID);
		assert_int_equal(error.line, 7);
		assert_non_null(strstr(error.text, bad[i].says));
	}
}

/* What a chain is that is written out: one operator, or one for each launch of it. */
static void test_fusion_rules_know_operators(void **state)
{
	static const char yaml[] =
		"  - {name: one, about: x, confidence: high, chain: [a, \"(b)*\", \"c?\"], "
		"operator: unknown/v}\n"
		"  - {name: two, about: x, confidence: high, chain: [a, \"(b)*\", c], "
		"operator: [unknown/v, unknown/w]}\n";
	struct kp_operators *operators = NULL;
	struct kp_rules_error error;
	char all[1024];

	(void)state;
	snprintf(all, sizeof(all), "%sfusions:\n%s", steps_yaml, yaml);
	assert_int_equal(kp_operators_create(all, strlen(all), &operators, &error), KP_OK);
	size_t first = kp_fusion_rule_variant(&operators->fusions[0], 0);
	assert_true(operators->fusions[0].written_out);
	assert_int_equal(kp_fusion_rule_variant(&operators->fusions[0], 9), first);
	assert_string_equal(kp_operators_variant(operators, first).name, "v");
	assert_int_equal(kp_fusion_rule_variant(&operators->fusions[1], 0), first);
	size_t second = kp_fusion_rule_variant(&operators->fusions[1], 1);
	assert_string_equal(kp_operators_variant(operators, second).name, "w");
	kp_operators_destroy(operators);
}

static void test_fusion_rules_bad_steps_are_refused(void **state)
{
	static const char *const bad[] = {
		"steps:\n  - {step: a, inputs: 0, function: [k]}\n",
		"steps:\n  - {step: a, inputs: 12, function: [k]}\n",
		"steps:\n  - {inputs: 1, function: [k]}\n",
		"steps:\n  - {step: a, inputs: 1}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kp_operators *operators = NULL;
		struct kp_rules_error error;

		assert_int_equal(kp_operators_create(bad[i], strlen(bad[i]), &operators, &error),
				 KP_INVALID);
		assert_int_equal(error.line, 2);
	}
}

/* A file of one's own comes first, and its words may be those of the built-in rules. */
static void test_fusion_rules_of_users_come_first(void **state)
{
	static const char yaml[] =
		"steps:\n  - {step: spin, inputs: 1, function: [spin_kernel]}\n"
		"fusions:\n"
		"  - {name: spun, about: ours, confidence: high, chain: [spin, mul, softmax]}\n";
	struct kp_operators *operators;
	struct kp_rules_error error;
	struct kp_label label;

	(void)state;
	assert_int_equal(kp_operators_builtin(&operators), KP_OK);
	assert_string_not_equal(operators->fusions[0].name, "spun");
	assert_int_equal(kp_operators_add(operators, yaml, strlen(yaml), &error), KP_OK);
	assert_string_equal(operators->fusions[0].name, "spun");
	assert_int_equal(kp_operators_match(operators, "spin_kernel", &label), KP_OK);
	assert_string_equal(label.step, "spin");
	assert_int_equal(label.inputs, 1);
	assert_int_equal(kp_operators_match(operators, "mul_kernel", &label), KP_OK);
	assert_string_equal(label.step, "mul");
	assert_int_equal(kp_operators_match(operators, "nobody_knows", &label), KP_OK);
	assert_null(label.step);
	kp_operators_destroy(operators);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fusion_rules_match_in_order),
		cmocka_unit_test(test_fusion_rules_take_the_longest),
		cmocka_unit_test(test_fusion_rules_remember_attempts),
		cmocka_unit_test(test_fusion_rules_let_launches_stay),
		cmocka_unit_test(test_fusion_rules_bad_ones_name_their_line),
		cmocka_unit_test(test_fusion_rules_bad_steps_are_refused),
		cmocka_unit_test(test_fusion_rules_know_operators),
		cmocka_unit_test(test_fusion_rules_of_users_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
