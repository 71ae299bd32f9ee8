/* Secrets do not enter a trace; what is none stays readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "inject/redact.h"

static void check(const char *argument, bool follows, const char *expected, bool value_next)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", argument);
	assert_int_equal(kp_redact_argument(text, sizeof(text), follows), value_next);
	assert_string_equal(text, expected);
}

static void test_named_values_are_hidden(void **state)
{
	(void)state;
	check("--token=abc", false, "--token=***", false);
	check("--hf-token=abc", false, "--hf-token=***", false);
	check("OPENAI_API_KEY=abc", false, "OPENAI_API_KEY=***", false);
	check("db_password=12", false, "db_password=***", false);
	check("db_password=", false, "db_password=", false);
	check("--mytoken=abc", false, "--mytoken=***", false);
	check("--pad-token=0", false, "--pad-token=0", false);
}

static void test_options_hide_what_follows(void **state)
{
	(void)state;
	check("--api-key", false, "--api-key", true);
	check("abc", true, "***", false);
	check("-secret1", true, "***", false);
	check("--steps", true, "--steps", false);
	check("--password", true, "--password", true);
}

static void test_forms_are_hidden(void **state)
{
	(void)state;
	check("sk-0123456789abcdef", false, "***", false);
	check("x=hf_0123456789abcdef", false, "x=***", false);
	check("sk-", false, "sk-", false);
}

static void test_url_passwords_are_hidden(void **state)
{
	(void)state;
	check("http://me:pw@host/a?b", false, "http://me:***@host/a?b", false);
	check("http://me@host:80/x", false, "http://me@host:80/x", false);
	check("http://host:80/a@b", false, "http://host:80/a@b", false);
}

/* An argument may be a URL, JSON, a header or a shell command. */
static void test_secrets_inside_an_argument(void **state)
{
	(void)state;
	check("https://h/?a=1&token=abc123&b=2", false, "https://h/?a=1&token=***&b=2", false);
	check("Authorization: Bearer abc", false, "Authorization: Bearer ***", false);
	check("A=1 HF_TOKEN=abc prog --x", false, "A=1 HF_TOKEN=*** prog --x", false);
	check("key='sk-0123456789abcdef'", false, "key='***'", false);
	check("{\"password\":\"hunter2\",\"n\":1}", false, "{\"password\":\"***\",\"n\":1}", false);
	check("{\"password\": \"hunter2\"}", false, "{\"password\": \"***\"}", false);
}

static void test_other_arguments_stay(void **state)
{
	(void)state;
	check("--max-tokens=128", false, "--max-tokens=128", false);
	check("--tokenizer", false, "--tokenizer", false);
	check("--author=me", false, "--author=me", false);
	check("a:b=c d", false, "a:b=c d", false);
	check("print('token')", false, "print('token')", false);
	check("--tokens 5", false, "--tokens 5", false);
	check("model.bin", false, "model.bin", false);
	check("", false, "", false);
}

/* What does not fit is cut, never written beyond. */
static void test_short_room(void **state)
{
	char text[10] = "pwd=abcde";

	(void)state;
	kp_redact_argument(text, sizeof(text), false);
	assert_string_equal(text, "pwd=***");
	snprintf(text, 6, "pwd=a");
	kp_redact_argument(text, 6, false);
	assert_string_equal(text, "pwd=*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_values_are_hidden),
		cmocka_unit_test(test_options_hide_what_follows),
		cmocka_unit_test(test_forms_are_hidden),
		cmocka_unit_test(test_url_passwords_are_hidden),
		cmocka_unit_test(test_secrets_inside_an_argument),
		cmocka_unit_test(test_other_arguments_stay),
		cmocka_unit_test(test_short_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
