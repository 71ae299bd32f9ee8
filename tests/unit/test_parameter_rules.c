/* The rules for parameters of kernels (inject/parameter_rules.def), as data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/library_call.h"

struct field {
	char kind; /* of a size: 's'; else 'c' causal, 'u' unit */
	unsigned parameter, of, offset, bytes;
};

static const struct rule {
	const char *pattern, *from, *detail, *names;
	uint64_t kind, type;
	unsigned parameters;
	struct field fields[16];
} rules[] = {
#define ANY 0
#define AT(parameter, of, offset, bytes)                                                           \
	{                                                                                          \
		's', parameter, of, offset, bytes                                                  \
	}
#define SCALAR(n)                                                                                  \
	{                                                                                          \
		's', n, 4, 0, 4                                                                    \
	}
#define GRID(axis)                                                                                 \
	{                                                                                          \
		's', axis, 4, 0, 4                                                                 \
	}
#define CAUSAL(parameter, of, offset)                                                              \
	{                                                                                          \
		'c', parameter, of, offset, 1                                                      \
	}
#define UNIT(parameter, of, offset)                                                                \
	{                                                                                          \
		'u', parameter, of, offset, 4                                                      \
	}
#define RULE(pattern, also, from, kind, type, detail, names, parameters, ...)                      \
	{pattern, from, detail, names, KP_LIBRARY_##kind, type, parameters, {__VA_ARGS__}},
#include "inject/parameter_rules.def"
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

static size_t count_names(const char *names)
{
	size_t count = *names != '\0';

	for (; *names; names++)
		count += *names == ',';
	return count;
}

static void check_field(const struct rule *rule, const struct field *field)
{
	assert_true(field->bytes == 1 || field->bytes == 2 || field->bytes == 4 ||
		    field->bytes == 8);
	assert_true(field->offset + field->bytes <= field->of);
	assert_true(rule->parameters == ANY || field->of == 4 ||
		    field->parameter < rule->parameters);
}

static void test_parameter_rules_have_their_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < RULES; i++) {
		size_t sizes = 0;

		for (const struct field *field = rules[i].fields; field->kind; field++) {
			check_field(&rules[i], field);
			sizes += field->kind == 's';
		}
		assert_int_equal(sizes, count_names(rules[i].names));
		assert_in_range(sizes, 1, KP_LIBRARY_SIZES);
		assert_true(*rules[i].pattern && *rules[i].from && *rules[i].detail);
		assert_true(rules[i].type == 0 || kp_data_type(rules[i].type));
		if (rules[i].kind == KP_LIBRARY_ATTENTION)
			assert_string_equal(rules[i].names, "b,h,hk,sq,sk,d,dv");
	}
}

/* A mangled name has its length before it: a wrong one would never fit. */
static void test_parameter_rules_patterns_are_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < RULES; i++) {
		const char *at = rules[i].pattern;
		size_t length = 0;

		for (; *at >= '0' && *at <= '9'; at++)
			length = 10 * length + (size_t)(*at - '0');
		if (length)
			assert_true(strlen(at) >= length &&
				    strspn(at,
					   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "_0123456789") >= length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameter_rules_have_their_names),
		cmocka_unit_test(test_parameter_rules_patterns_are_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
