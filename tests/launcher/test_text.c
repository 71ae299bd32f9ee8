/* Text of unknown origin, and numbers for people; see profiler/text.h and profiler/humanise.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/humanise.h"
#include "profiler/text.h"

static void assert_exact(const char *bytes, size_t length, const char *expected)
{
	char *exact = kp_text_exact(bytes, length);

	assert_non_null(exact);
	assert_string_equal(exact, expected);
	free(exact);
}

static void test_text_exact_keeps_what_is_valid(void **state)
{
	(void)state;
	assert_exact("", 0, "");
	assert_exact("a\\\"\n\x1b\x7f", 6, "a\\\"\n\x1b\x7f");
	assert_exact("…名😀", 10, "…名😀");
}

static void test_text_exact_marks_each_bad_byte(void **state)
{
	(void)state;
	assert_exact("a\xff\x80z", 4,
		     "a\xEF\xBF\xBD"
		     "ff\xEF\xBF\xBD"
		     "80z");
	assert_exact("\0", 1,
		     "\xEF\xBF\xBD"
		     "00");
	assert_exact("\xE2\x82", 2,
		     "\xEF\xBF\xBD"
		     "e2\xEF\xBF\xBD"
		     "82"); /* cut short */
	assert_exact("\xC0\xAF", 2,
		     "\xEF\xBF\xBD"
		     "c0\xEF\xBF\xBD"
		     "af"); /* overlong */
	assert_exact("\xED\xA0\x80", 3,
		     "\xEF\xBF\xBD"
		     "ed\xEF\xBF\xBD"
		     "a0\xEF\xBF\xBD"
		     "80"); /* surrogate */
	assert_exact("\xF4\x90\x80\x80", 4,
		     "\xEF\xBF\xBD"
		     "f4\xEF\xBF\xBD"
		     "90\xEF\xBF\xBD"
		     "80\xEF\xBF\xBD"
		     "80"); /* too large */
}

/* Undoes kp_text_exact. */
static size_t undo(const char *text, char *out)
{
	size_t length = 0;

	for (size_t i = 0; text[i];) {
		unsigned byte;
		if (strncmp(text + i, "\xEF\xBF\xBD", 3) == 0 &&
		    sscanf(text + i + 3, "%2x", &byte) == 1) {
			out[length++] = (char)byte;
			i += 5;
		} else {
			out[length++] = text[i++];
		}
	}
	return length;
}

static void test_text_exact_round_trips(void **state)
{
	uint32_t random = 12345;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		/* Bytes around UTF-8's borders, and U+FFFD itself. */
		static const unsigned char alphabet[] = {0x00, 0x41, 0x66, 0x7F, 0x80, 0xBD,
							 0xBF, 0xC2, 0xE0, 0xED, 0xEF, 0xF0,
							 0xF4, 0xFF, 0xA0, 0x90};
		char bytes[8], back[64];
		size_t length = (size_t)round % sizeof bytes;
		for (size_t i = 0; i < length; i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (char)alphabet[random >> 28];
		}
		char *exact = kp_text_exact(bytes, length);
		assert_non_null(exact);
		for (size_t i = 0; exact[i];) {
			uint32_t codepoint;
			i += kp_text_decode(exact + i, strlen(exact + i), &codepoint);
			assert_int_not_equal(codepoint, KP_TEXT_BAD);
		}
		assert_int_equal(undo(exact, back), length);
		assert_memory_equal(back, bytes, length);
		free(exact);
	}
}

static void test_text_visible_hides_no_control(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(kp_text_visible(out, sizeof out, "a\x1b[1m\n\xff\0é\xC2\x85", 12), 30);
	assert_string_equal(out, "a\\x1b[1m\\x0a\\xff\\x00é\\xc2\\x85");
	/* Reordering characters are shown, not obeyed. */
	kp_text_visible(out, sizeof out, "\xE2\x80\xAE", 3);
	assert_string_equal(out, "\\xe2\\x80\\xae");
	/* Whole characters only. */
	assert_int_equal(kp_text_visible(out, 4, "ab…", 5), 2);
	assert_string_equal(out, "ab");
	assert_int_equal(kp_text_visible(out, 1, "ab", 2), 0);
	assert_string_equal(out, "");
	/* What is cut says so. */
	assert_int_equal(kp_text_visible_cut(out, 7, "abcdef", 6), 6);
	assert_string_equal(out, "abcdef");
	assert_int_equal(kp_text_visible_cut(out, 7, "abcdefg", 7), 6);
	assert_string_equal(out, "abc…");
}

static void assert_fit(const char *text, size_t columns, const char *expected)
{
	char *written = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&written, &size);

	assert_non_null(file);
	size_t taken = kp_text_fit(file, text, columns);
	fclose(file);
	assert_string_equal(written, expected);
	assert_int_equal(taken, kp_text_columns(expected));
	assert_true(taken <= columns);
	free(written);
}

static void test_text_fit_cuts_the_middle(void **state)
{
	(void)state;
	assert_fit("abcdef", 6, "abcdef");
	assert_fit("abcdefg", 6, "ab…efg");
	assert_fit("abcdefg", 5, "ab…fg");
	assert_fit("abcdefg", 2, "a…");
	assert_fit("abcdefg", 1, "…");
	assert_fit("äöüäöüä", 5, "äö…üä");
	assert_fit("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", 22, "nvjet_s…6_4x1_v_bz_TNT");
	assert_fit("名名名名", 5, "名…名");
	assert_fit("名名名名", 4, "…名"); /* half of a wide character does not fit */
	assert_fit("", 1, "");
}

static void assert_fit_around(const char *text, const char *word, size_t columns,
			      const char *expected)
{
	char *written = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&written, &size);

	assert_non_null(file);
	size_t taken = kp_text_fit_around(file, text, columns, strstr(text, word), strlen(word));
	fclose(file);
	assert_string_equal(written, expected);
	assert_int_equal(taken, kp_text_columns(expected));
	assert_true(taken <= columns);
	free(written);
}

static void test_text_fit_keeps_the_telling_word(void **state)
{
	(void)state;
	assert_fit_around("kernel<4, Mul>", "Mul", 14, "kernel<4, Mul>");
	assert_fit_around("elementwise_kernel<4, Mul>", "Mul", 14, "elementwis…Mul");
	assert_fit_around("elementwise_kernel<4, MultiplyAdd>", "MultiplyAdd", 14,
			  "elem…Multiply…");
	assert_fit_around("reduce_kernel_of<float, int>", "", 14, "reduce_kernel…");
	assert_fit_around("nvjet_64x8_64x16_TNT", "", 14, "nvjet…4x16_TNT");
	assert_fit_around("kernel<4, Mul>", "Mul", 5, "ke…l>");
}

static void assert_wrap(const char *text, const char *expected)
{
	char *written = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&written, &size);

	assert_non_null(file);
	kp_text_wrap(file, text, 4, 2, 10);
	fclose(file);
	assert_string_equal(written, expected);
	free(written);
}

static void test_text_wrap(void **state)
{
	(void)state;
	assert_wrap("", "\n");
	assert_wrap("one two", "one\n  two\n");
	assert_wrap("one tw", "one tw\n"); /* the line ends at column 10 */
	assert_wrap("ein längeres-als-die-Zeile wort",
		    "ein\n  längeres\n  -als-die\n  -Zeile\n  wort\n");
}

static void test_humanise_durations(void **state)
{
	static const struct {
		double ns;
		int digits;
		const char *text;
	} cases[] = {
		{0, 3, "0ns"},         {1, 3, "1ns"},
		{999, 3, "999ns"},     {12.34, 3, "12.3ns"},
		{999.6, 3, "1.00µs"},  {1000, 4, "1.000µs"},
		{1234, 4, "1.234µs"},  {1234, 3, "1.23µs"},
		{9996, 3, "10.0µs"},   {99960, 3, "100µs"},
		{999600, 3, "1.00ms"}, {999499, 3, "999µs"},
		{1.5e9, 4, "1.500s"},  {1.23456e13, 3, "12346s"},
		{0.0 / 0.0, 3, "-"},   {-1, 3, "-"},
		{1.0 / 0.0, 3, "-"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(kp_human_duration(cases[i].ns, cases[i].digits).text,
				    cases[i].text);
	assert_true(strlen(kp_human_duration(1.8e19, 4).text) < KP_HUMAN_BYTES - 1);
}

static void test_humanise_counts_and_bytes(void **state)
{
	(void)state;
	assert_string_equal(kp_human_count(0).text, "0");
	assert_string_equal(kp_human_count(999).text, "999");
	assert_string_equal(kp_human_count(1000).text, "1,000");
	assert_string_equal(kp_human_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(kp_human_bytes(999, 3).text, "999B");
	assert_string_equal(kp_human_bytes(4096, 3).text, "4.10kB");
	assert_string_equal(kp_human_bytes(UINT64_MAX, 3).text, "18447PB");
	assert_string_equal(kp_human_percent(100).text, "100.0%");
	assert_string_equal(kp_human_percent(0.0 / 0.0).text, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_exact_keeps_what_is_valid),
		cmocka_unit_test(test_text_exact_marks_each_bad_byte),
		cmocka_unit_test(test_text_exact_round_trips),
		cmocka_unit_test(test_text_visible_hides_no_control),
		cmocka_unit_test(test_text_fit_cuts_the_middle),
		cmocka_unit_test(test_text_fit_keeps_the_telling_word),
		cmocka_unit_test(test_text_wrap),
		cmocka_unit_test(test_humanise_durations),
		cmocka_unit_test(test_humanise_counts_and_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
