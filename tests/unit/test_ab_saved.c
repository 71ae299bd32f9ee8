/* Saved reports of kprof ab: what is read back, and what is refused with its line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/ab_saved.h"

#define RULE                                                                                       \
	"- name: \"silu\"\n"                                                                       \
	"  replaced_by: \"silu_mul\"\n"                                                            \
	"  launches: {seen: 10, eligible: 9, replaced: 4, replaced_captured: 2}\n"                 \
	"  not_replaced: {conditions: 1, original_phase: 3}\n"                                     \
	"  comparisons: 5\n"                                                                       \
	"  comparisons_wrong: 1\n"                                                                 \
	"  fault: \"mismatch\"\n"                                                                  \
	"  accuracy:\n"                                                                            \
	"  - {data: \"y\", elements: 64, mismatches: 2, rms: 0.5, cosine: null}\n"                 \
	"  original_median_us: 4.26\n"                                                             \
	"  candidate_median_us: 4.64\n"                                                            \
	"  pairs: 40\n"                                                                            \
	"  change_pct: 8.99\n"                                                                     \
	"  change_low_pct: 8.48\n"                                                                 \
	"  change_high_pct: 9.54\n"                                                                \
	"  verdict: \"slower\"\n"                                                                  \
	"  doubt: \"none\"\n"                                                                      \
	"  graphs: {replaced_each: 16, original_median_us: 1629, change_pct: -4.5, "               \
	"verdict: \"faster\"}\n"
#define END                                                                                        \
	"end_to_end:\n"                                                                            \
	"  phases: 4\n"                                                                            \
	"  original_phase_ns: 69800000\n"                                                          \
	"  candidate_phase_ns: 61000000\n"                                                         \
	"  change_pct: -12.97\n"                                                                   \
	"  predicted_pct: -2.1\n"                                                                  \
	"  agreement: \"disagrees\"\n"                                                             \
	"  verdict: \"faster\"\n"                                                                  \
	"  doubt: \"none\"\n"
#define HEAD "schema: \"kprof.ab/v1\"\nmode: \"measure\"\nsomething_later: {a: [1, 2]}\n"
#define WHOLE HEAD "rules:\n" RULE END

static enum kp_status read_text(const char *text, struct kp_ab_saved *out,
				struct kp_rules_error *error)
{
	memset(error, 0, sizeof(*error));
	return kp_ab_saved_read(text, strlen(text), out, error);
}

static void test_ab_saved_whole(void **state)
{
	struct kp_rules_error error;
	struct kp_ab_saved saved;
	const struct kp_ab_saved_rule *rule;

	(void)state;
	assert_int_equal(read_text(WHOLE, &saved, &error), KP_OK);
	assert_string_equal(saved.mode, "measure");
	assert_int_equal(saved.rule_count, 1);
	rule = saved.rules;
	assert_string_equal(rule->name, "silu");
	assert_string_equal(rule->fault, "mismatch");
	assert_int_equal(kp_ab_saved_replaced(rule), 6);
	assert_int_equal(rule->counts[KP_AB_COUNT_SHADOWED], 0);
	assert_int_equal(rule->reasons[KP_AB_REASON_ORIGINAL_PHASE], 3);
	assert_int_equal(rule->wrong, 1);
	assert_int_equal(rule->accuracy_count, 1);
	assert_int_equal(rule->accuracy[0].mismatches, 2);
	assert_true(isnan(rule->accuracy[0].cosine));
	assert_int_equal(rule->time.verdict, KP_AB_VERDICT_SLOWER);
	assert_true(rule->time.high_pct == 9.54);
	assert_true(isnan(rule->time.detectable_pct));
	assert_true(rule->replaced_each == 16 && rule->graphs.change_pct == -4.5);
	assert_int_equal(rule->graphs.verdict, KP_AB_VERDICT_FASTER);
	assert_true(saved.end.original_us == 69800);
	assert_int_equal(saved.agreement, KP_AB_AGREEMENT_DISAGREES);
	kp_ab_saved_fini(&saved);
}

static void test_ab_saved_refused(void **state)
{
	static const struct {
		const char *text, *error;
		size_t line;
	} rows[] = {
		{"", "no report of kprof ab: its schema is not kprof.ab/v1", 1},
		{"- 1\n", "no report of kprof ab: its schema is not kprof.ab/v1", 1},
		{"schema: \"kprof.report/v1\"\n",
		 "no report of kprof ab: its schema is not kprof.ab/v1", 1},
		{HEAD END, "there is no list «rules»", 1},
		{HEAD "rules: 3\n" END, "there is no list «rules»", 1},
		{HEAD "rules:\n- 3\n" END, "a rule is no mapping", 1},
		{HEAD "rules: []\n", "there is no mapping «end_to_end»", 1},
		{HEAD "rules:\n- name: \"a\"\n" END, "a rule without «name» or «replaced_by»", 5},
		{HEAD "rules: []\nend_to_end: {phases: -1}\n", "«phases» is no count", 5},
		{HEAD "rules: []\nend_to_end: {phases: 1e300}\n", "«phases» is no count", 5},
		{HEAD "rules: []\nend_to_end: {predicted_pct: \"12x\"}\n",
		 "«predicted_pct» is no number", 5},
		{HEAD "rules: []\nend_to_end: {predicted_pct: inf}\n",
		 "«predicted_pct» is no number", 5},
		{HEAD "rules: []\nend_to_end: {predicted_pct: [1]}\n", "a text is expected here",
		 5},
		{HEAD "rules: []\nend_to_end: {phases: 1}\n", "there is no «verdict»", 5},
		{HEAD "rules: []\nend_to_end: {verdict: \"great\"}\n",
		 "«verdict» is a word that this kprof does not know", 5},
		{"schema: [\n", "not YAML: did not find expected node content", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kp_rules_error error;
		struct kp_ab_saved saved;

		assert_int_equal(read_text(rows[i].text, &saved, &error), KP_INVALID);
		assert_string_equal(error.text, rows[i].error);
		assert_int_equal(error.line, rows[i].line);
		kp_ab_saved_fini(&saved);
	}
}

/* Cut anywhere it is refused, or is what is left of it: nothing is read beyond. */
static void test_ab_saved_torn(void **state)
{
	static const char whole[] = WHOLE;

	(void)state;
	for (size_t length = 0; length < sizeof(whole); length++) {
		struct kp_rules_error error = {0};
		struct kp_ab_saved saved;
		char *part = malloc(length + 1);

		assert_non_null(part);
		memcpy(part, whole, length);
		if (kp_ab_saved_read(part, length, &saved, &error) != KP_OK)
			assert_true(error.text[0] != '\0');
		kp_ab_saved_fini(&saved);
		free(part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_saved_whole),
		cmocka_unit_test(test_ab_saved_refused),
		cmocka_unit_test(test_ab_saved_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
