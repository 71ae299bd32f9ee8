/* What regular expressions of rules may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/ab_pattern.h"

/* A text so and so many times, between others. */
static char *repeated(const char *before, const char *text, size_t times, const char *after)
{
	size_t length = strlen(text);
	char *made = calloc(1, strlen(before) + length * times + strlen(after) + 1);
	char *at = made;

	assert_non_null(made);
	at = stpcpy(at, before);
	for (size_t i = 0; i < times; i++)
		at = stpcpy(at, text);
	strcpy(at, after);
	return made;
}

static void check(const char *pattern, const char *says)
{
	const char *refused = kp_ab_pattern_refuse(pattern);

	if (!refused != !says || (says && !strstr(refused, says)))
		fail_msg("%.60s: %s", pattern, refused ? refused : "taken");
}

static void test_ab_pattern_texts(void **state)
{
	static const struct {
		const char *pattern, *says; /* NULL: it is taken */
	} rows[] = {
		{"", NULL},
		{"^_ZL?11silu_kernelP13__nv_bfloat16m$", NULL},
		{"softmax_warp_forwardI(N3c108BFloat16E|N3c104HalfE)S._fLi[0-9]+E", NULL},
		{"a{1,255}", NULL},
		{"a{4000}", NULL},
		{"(a{255}){255}", "repeats too much"},
		{"(a{1,255}){1,255}", "too much"},
		{"((a{1,255}){1,255}){1,255}", "too much"},
		{"a{300}{300}", "repeats too much"},
		{"a{99999999999999999999999}", "repeats too much"},
		{"(((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "too much"},
		{"(a?){300}", "leaves too much open"},
		{"a{1,300}", "leaves too much open"},
		{"(\\ba){17}", "anchors"},
		{"((^|a)(b|$)){9}", "anchors"},
		{"(a)\\1", "refers back"},
		{"\\\\1", NULL},
		{"[(((((((((((((((((]{3}", NULL},
		{"[](((((((((((((((((]", NULL},
		{"[^](((((((((((((((((]", NULL},
		{"[[:alpha:](((((((((((((((((]", NULL},
		{"\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(\\(", NULL},
		{")))", NULL},
		/* No patterns, which is not asked here; nothing beyond their ends is read. */
		{"[", NULL},
		{"[[:", NULL},
		{"a{", NULL},
		{"a{1,", NULL},
		{"a\\", NULL},
		{"*", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *copy = strdup(rows[i].pattern); /* its end is the end of what may be read */

		assert_non_null(copy);
		check(copy, rows[i].says);
		free(copy);
	}
}

static void test_ab_pattern_lengths(void **state)
{
	static const struct {
		const char *before, *text, *after;
		size_t times;
		const char *says;
	} rows[] = {
		{"", "(", "", KP_AB_PATTERN_LEVELS_MOST, NULL},
		{"", "(", "", KP_AB_PATTERN_LEVELS_MOST + 1, "parentheses"},
		{"a(b|", "(", "", 200000, "too long"},
		{"", "(a)", "", 1000, NULL},
		{"", "a?", "", KP_AB_PATTERN_CHOICES_MOST, NULL},
		{"", "a?", "", KP_AB_PATTERN_CHOICES_MOST + 1, "leaves too much open"},
		{"a", "|a", "", KP_AB_PATTERN_CHOICES_MOST + 1, "leaves too much open"},
		{"", "\\b", "", KP_AB_PATTERN_ANCHORS_MOST, NULL},
		{"", "\\b", "", KP_AB_PATTERN_ANCHORS_MOST + 1, "anchors"},
		{"", "a", "", KP_AB_PATTERN_BYTES_MOST, NULL},
		{"", "a", "", KP_AB_PATTERN_BYTES_MOST + 1, "too long"},
		{"(", "a", "){2}", KP_AB_PATTERN_PARTS_MOST / 2 + 1, "repeats too much"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *made = repeated(rows[i].before, rows[i].text, rows[i].times, rows[i].after);

		check(made, rows[i].says);
		free(made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_pattern_texts),
		cmocka_unit_test(test_ab_pattern_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
