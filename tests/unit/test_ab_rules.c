/* A/B rules: expressions, errors with lines, and plans that only hold what is sound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <regex.h>

#include "analyzers/ab_expression.h"
#include "analyzers/ab_rules.h"

static const int32_t first[4] = {7, -8, 9, 10};
static const double second = 0.5;
static const void *const parameters[] = {first, &second};
static const uint32_t bytes[] = {sizeof(first), sizeof(second)};

/* The value of an expression about a launch; INT64_MIN: it fails. */
static int64_t value_of(const char *text)
{
	static struct kp_ab_expression expression;
	const struct kp_ab_let lets[] = {{"rows", "grid_x * 2"}, {"loop", "loop + 1"}};
	const struct kp_ab_scope scope = {.lets = lets, .let_count = 2};
	int64_t symbols[KP_AB_SYMBOL_COUNT] = {[KP_AB_SYMBOL_GRID_X] = 21}, out;
	const struct kp_ab_view view = {symbols, parameters, bytes, 2};

	if (kp_ab_expression_compile(text, &scope, KP_AB_INTEGER, &expression) != KP_OK)
		fail_msg("%s: %s", text, expression.error);
	return kp_ab_evaluate(expression.ops, expression.count, &view, &out) ? out : INT64_MIN;
}

static void test_ab_rules_expressions(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{"1 + 2 * 3", 7},
		{"(1 + 2) * 3", 9},
		{"7 - 2 - 1", 4},
		{"-7 / 2", -3},
		{"7 % 4", 3},
		{"ceildiv(7, 4)", 2},
		{"min(3, 0x10) + max(3, 16)", 19},
		{"1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2 && !(1 == 2)", 1},
		{"0 || 1 && 0", 0},
		{"rows", 42},
		{"i32(0) + i32(0, 4) + i32(0, 12)", 9},
		{"u32(0, 4)", 0xfffffff8},
		{"i8(0, 4)", -8},
		{"f64(1) == 0.5 && f64(1) < 1 && 1 > f64(1) && 0.5 == f64(1)", 1},
		{"f64(1) > 0.5", 0},
		{"i32(0, 13)", INT64_MIN},
		{"ptr(2)", INT64_MIN},
		{"1 / (grid_x - 21)", INT64_MIN},
		{"9223372036854775807 + 1", INT64_MIN},
		{"(0 - 9223372036854775807 - 1) / (0 - 1)", INT64_MIN},
		{"ceildiv(0 - 1, 2)", INT64_MIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t value = value_of(rows[i].text);

		if (value != rows[i].value)
			fail_msg("%s: %lld", rows[i].text, (long long)value);
	}
}

static void test_ab_rules_expression_errors(void **state)
{
	static const char *const rows[] = {
		"",       "1 +",     "(1",      "1 2",          "nothing", "f(1)",
		"f64(1)", "1 + 0.5", "-f64(1)", "i32(64)",      "i32(x)",  "m",
		"loop",   "12abc",   "min(1)",  "i32(0,40000)", "!0.5",    "99999999999999999999"};
	static struct kp_ab_expression expression;
	const struct kp_ab_let loop = {"loop", "loop + 1"};
	const struct kp_ab_scope scope = {.lets = &loop, .let_count = 1};
	char deep[400];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (kp_ab_expression_compile(rows[i], &scope, KP_AB_INTEGER, &expression) !=
			    KP_INVALID ||
		    !expression.error[0])
			fail_msg("«%s» is taken", rows[i]);
	}
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(kp_ab_expression_compile(deep, &scope, KP_AB_INTEGER, &expression),
			 KP_INVALID);
}

/* A name of a choice is that of the argument's own list. */
static void test_ab_rules_choices(void **state)
{
	static const struct {
		uint32_t row;
		int64_t value; /* of silu; -1: there is none */
	} rows[] = {
		{KP_AB_ARG_linear_skinny_activation + 1, 2},
		{KP_AB_ARG_activation_activation + 1, 0},
		{KP_AB_ARG_activation_rows + 1, -1},
		{0, -1},
	};
	static struct kp_ab_expression expression;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kp_ab_scope scope = {.row = rows[i].row};
		enum kp_status status =
			kp_ab_expression_compile("silu", &scope, KP_AB_INTEGER, &expression);

		assert_int_equal(status, rows[i].value < 0 ? KP_INVALID : KP_OK);
		if (status == KP_OK)
			assert_int_equal(expression.ops[0].value, rows[i].value);
	}
}

#define HEAD "rules:\n- name: one\n  kernel: k\n"
#define TAIL "  inout: [{name: x, address: ptr(0), dtype: bf16, rows: 1, columns: 8}]\n"
#define SILU                                                                                       \
	"  replace: {builtin: activation, arguments: {x: ptr(0), y: ptr(0), rows: 1, columns: 8, " \
	"x_row: 8, y_row: 8, activation: silu, dtype: bf16}}\n"

#define LISTS_8 "[[[[[[[["
#define LISTS_32 LISTS_8 LISTS_8 LISTS_8 LISTS_8

static void test_ab_rules_errors_have_lines(void **state)
{
	static const struct {
		const char *yaml;
		size_t line;
		const char *says;
	} rows[] = {
		{"rules: 1\n", 1, "list"},
		{"other: []\n", 1, "no key"},
		{HEAD SILU, 2, "outputs"},
		{HEAD TAIL, 2, "replace"},
		{HEAD SILU TAIL "  sequence: [a]\n", 2, "one of"},
		{HEAD SILU TAIL "  hold_us: 10\n", 2, "of a «sequence»"},
		{HEAD SILU "  module: 12\n" TAIL, 5, "16 digits"},
		{HEAD SILU "  module: 0123456789ABCDEF\n" TAIL, 5, "16 digits"},
		{"rules:\n- {name: a, call: gemm, module: 0123456789abcdef, replace: 1, inout: 1}",
		 2, "no «module»"},
		{HEAD SILU TAIL "  when: grid_x +\n", 6, "missing"},
		{HEAD SILU TAIL "  call: gemm\n", 2, "one of"},
		{"rules:\n- name: one\n  kernel_regex: '(['\n" SILU TAIL, 3, "pattern"},
		{"rules:\n- name: one\n  kernel_regex: '(a)\\1'\n" SILU TAIL, 3, "refers back"},
		{"rules:\n- name: one\n  kernel_regex: a{2000}{2000}\n" SILU TAIL, 3,
		 "repeats too much"},
		{"rules:\n- name: one\n  call: gemm\n  entry: a{2000}{2000}\n" SILU TAIL, 4,
		 "repeats too much"},
		{"rules:\n " LISTS_32, 2, "within each other"},
		{HEAD "  replace: {builtin: nothing, arguments: {}}\n" TAIL, 4, "no built-in"},
		{HEAD "  replace: {builtin: activation, arguments: {x: 1}}\n" TAIL, 4, "needs"},
		{HEAD "  replace: {module: a.cubin, kernel: k, arguments: []}\n" TAIL, 4, "grid"},
		{HEAD "  replace: {library: a.so, entry: k, arguments: [{u9: 1}]}\n" TAIL, 4, "u9"},
		{HEAD SILU TAIL "- name: one\n  kernel: l\n" SILU TAIL, 6, "another"},
		{HEAD SILU TAIL "  tolerance: {rms: -1}\n", 6, "number"},
		{HEAD SILU TAIL "  parameters: [8, 99999]\n", 6, "number"},
		{HEAD SILU "  inout: [{name: x, dtype: bf16, rows: 1, columns: 8}]\n", 5,
		 "address"},
		{"rules:\n- name: one\n  call: conv\n" SILU TAIL, 3, "gemm"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kp_rules_error error = {0};
		struct kp_ab_rules *rules;
		enum kp_status status;

		assert_int_equal(kp_ab_rules_create(&rules), KP_OK);
		status = kp_ab_rules_add(rules, rows[i].yaml, strlen(rows[i].yaml), "", &error);
		if (status != KP_INVALID || error.line != rows[i].line ||
		    !strstr(error.text, rows[i].says))
			fail_msg("%zu: %d, line %zu: %s", i, status, error.line, error.text);
		kp_ab_rules_destroy(rules);
	}
}

static void *make_plan(size_t *length)
{
	static const char *const names[] = {"linear-skinny", "llm-decode-silu"};
	const struct kp_ab_plan_settings settings = {
		.mode = KP_AB_MEASURE,
		.again = 64,
		.phase = 1000,
		.seed = 1,
		.trials = true,
		.candidates = "/c.so",
		.results = "/r.ab",
		.unit = "step",
	};
	const char *missing;
	struct kp_ab_rules *rules;
	void *plan;

	assert_int_equal(kp_ab_rules_create(&rules), KP_OK);
	assert_int_equal(kp_ab_rules_add_builtin(rules), KP_OK);
	assert_true(kp_ab_rules_count(rules) > 2);
	assert_true(kp_ab_rules_keep(rules, names, 2, &missing));
	assert_int_equal(kp_ab_rules_count(rules), 2);
	assert_false(kp_ab_rules_keep(rules, (const char *const[]){"x"}, 1, &missing));
	assert_int_equal(kp_ab_rules_plan(rules, &settings, &plan, length), KP_OK);
	kp_ab_rules_destroy(rules);
	return plan;
}

static void test_ab_rules_plan(void **state)
{
	struct kp_ab_plan plan;
	size_t length;
	void *made = make_plan(&length);

	(void)state;
	assert_int_equal(kp_ab_plan_check(made, length, &plan), KP_OK);
	assert_int_equal(plan.header->rules.count, 2);
	assert_string_equal(plan.texts + plan.rules[1].name, "llm-decode-silu");
	assert_string_equal(plan.texts + plan.header->candidates, "/c.so");
	assert_string_equal(plan.texts + plan.header->results, "/r.ab");
	assert_int_equal(plan.rules[0].match, KP_AB_MATCH_GEMM);
	assert_int_equal(plan.rules[0].tensor_count, 3);
	assert_int_equal(plan.rules[1].parameters, 2);
	assert_int_equal(plan.rules[1].as_given, 1); /* other inputs were not asked for */
	free(made);
}

#define NORM                                                                                       \
	"_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a"                     \
	"28vectorized_layer_norm_kernelIN3c1"
#define SOFTMAX "_ZN43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6320softmax_warp_forwardIN3c1"
#define GELU                                                                                       \
	"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_18GeluCUDAKernelImplERNS_18"      \
	"TensorIteratorBaseENS0_8GeluTypeEENKUlvE"
#define GELU_ENDS "clEvENKUlvE2_clEvEUlN3c108BFloat16EE_St5arrayIPcLm2EEEEviT0_T1_"

/* Kernels as PyTorch 2.11 has them (seen on an H200), and the built-in rule that knows them. */
static void test_ab_rules_know_kernels(void **state)
{
	static const struct {
		const char *kernel, *rule;
	} rows[] = {
		{NORM "08BFloat16EfLb0EEEviT0_PKT_S8_S8_PS5_S9_PS6_", "torch-layer-norm-bf16"},
		{NORM "08BFloat16EfLb1EEEviT0_PKT_S8_S8_PS5_S9_PS6_", "torch-rms-norm-bf16"},
		{NORM "04HalfEfLb0EEEviT0_PKT_S8_S8_PS5_S9_PS6_", NULL},
		{SOFTMAX "08BFloat16ES2_fLi11ELb0ELb0EEEvPT0_PKT_iiiPKbib", "torch-softmax-bf16"},
		{SOFTMAX "08BFloat16ES2_fLi11ELb1ELb0EEEvPT0_PKT_iiiPKbib", NULL}, /* log */
		{SOFTMAX "08BFloat16ES2_fLi11ELb0ELb1EEEvPT0_PKT_iiiPKbib", NULL}, /* masked */
		{GELU "0_" GELU_ENDS, "torch-gelu-bf16"},
		{GELU "_" GELU_ENDS, "torch-gelu-tanh-bf16"},
		{"_Z11silu_kernelP13__nv_bfloat16m", "llm-decode-silu"},
		{"_Z11silu_kernelP13__nv_bfloat16i", NULL},
	};
	struct kp_ab_rules *rules;

	(void)state;
	assert_int_equal(kp_ab_rules_create(&rules), KP_OK);
	assert_int_equal(kp_ab_rules_add_builtin(rules), KP_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t j = 0; j < kp_ab_rules_count(rules); j++) {
			struct kp_ab_rule_words words = kp_ab_rules_words(rules, j);
			bool expected = rows[i].rule && strcmp(rows[i].rule, words.name) == 0;
			regex_t regex;

			assert_int_equal(regcomp(&regex, words.matches, REG_EXTENDED), 0);
			if ((regexec(&regex, rows[i].kernel, 0, NULL, 0) == 0) != expected)
				fail_msg("%s and %s", words.name, rows[i].kernel);
			regfree(&regex);
		}
	kp_ab_rules_destroy(rules);
}

/* No byte of a plan can be changed or cut off, and with a checksum that fits nothing crashes. */
static void test_ab_rules_hostile_plan(void **state)
{
	struct kp_ab_plan plan;
	size_t length;
	unsigned char *made = make_plan(&length);

	(void)state;
	for (size_t i = 0; i < length; i += 8)
		assert_int_not_equal(kp_ab_plan_check(made, i, &plan), KP_OK);
	for (size_t i = 0; i < length; i++) {
		made[i] ^= 0x5a;
		if (i < 12 || i >= 16) /* else it is reserved */
			assert_int_not_equal(kp_ab_plan_check(made, length, &plan), KP_OK);
		((struct kp_ab_header *)(void *)made)->checksum = kp_ab_plan_sum(made, length);
		kp_ab_plan_check(made, length, &plan);
		made[i] ^= 0x5a;
		((struct kp_ab_header *)(void *)made)->checksum = kp_ab_plan_sum(made, length);
	}
	assert_int_equal(kp_ab_plan_check(made, length, &plan), KP_OK);
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_rules_expressions),
		cmocka_unit_test(test_ab_rules_expression_errors),
		cmocka_unit_test(test_ab_rules_choices),
		cmocka_unit_test(test_ab_rules_errors_have_lines),
		cmocka_unit_test(test_ab_rules_plan),
		cmocka_unit_test(test_ab_rules_know_kernels),
		cmocka_unit_test(test_ab_rules_hostile_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
