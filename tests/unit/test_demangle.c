/* Demangling: real names, bytes that are no names, and names that were made to hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/demangle.h"

static struct kp_arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = kp_arena_create();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	kp_arena_destroy(arena);
	return 0;
}

static const char *demangle(const char *mangled)
{
	return kp_demangle(arena, (struct kp_text){mangled, strlen(mangled)});
}

static const char *demangle_bytes(const char *bytes, size_t length)
{
	return kp_demangle(arena, (struct kp_text){bytes, length});
}

static void test_demangle_reads_kernel_names(void **state)
{
	(void)state;
	assert_string_equal(demangle("_Z10add_kernelPfPKfm"),
			    "add_kernel(float*, float const*, unsigned long)");
	assert_string_equal(demangle("_ZN4vllm15rms_norm_kernelIN3c104HalfEEEvPT_PKS3_S6_fii"),
			    "void vllm::rms_norm_kernel<c10::Half>(c10::Half*, c10::Half const*, "
			    "c10::Half const*, float, int, int)");
	assert_string_equal(demangle("_ZN12_GLOBAL__N_16kernelEPf"),
			    "(anonymous namespace)::kernel(float*)");
	assert_string_equal(demangle("_ZN1AcvPKfEv"), "A::operator float const*()");
	assert_string_equal(demangle("_Zli2_vPKc"), "operator\"\" _v(char const*)");
}

static void test_demangle_leaves_other_names_alone(void **state)
{
	static const char *const names[] = {"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
					    "triton_poi_fused_add_0",
					    "_Z",
					    "_Zzz not a name",
					    "",
					    "a \"quoted\" name, with: {yaml} & <xml> 'signs' #1",
					    "größer"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(demangle(names[i]), names[i]);
}

static void test_demangle_escapes_what_is_no_text(void **state)
{
	static const struct {
		const char *bytes, *escaped;
	} names[] = {
		{"a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f"},
		{"\xff\xfe", "\\xff\\xfe"},
		{"a\xc3", "a\\xc3"},                          /* cut short */
		{"\xc0\xaf", "\\xc0\\xaf"},                   /* overlong */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
		{"\xc2\x9b[31m", "\\xc2\\x9b[31m"},           /* C1: a terminal's CSI */
		{"\xe2\x80\xae", "\\xe2\\x80\\xae"},          /* right-to-left override */
		{"\x1b[2J", "\\x1b[2J"},
		{"back\\slash", "back\\\\slash"},
		{"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(demangle(names[i].bytes), names[i].escaped);
	assert_string_equal(demangle_bytes("a\0b", 3), "a\\x00b");
	assert_string_equal(demangle_bytes("_Z1fv\0x", 7), "_Z1fv\\x00x");
}

/* Case 37: whatever the bytes, what they become can be told apart and turned back. */
static void test_demangle_keeps_distinct_names_distinct(void **state)
{
	static const char *const pairs[][2] = {{"k\xff", "k\xfe"},
					       {"k\xff", "k\\xff"},
					       {"k\\xff", "k\\\\xff"},
					       {"k\n", "k\\n"},
					       {"k\xc3\x28", "k\xc3\x29"}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_string_not_equal(demangle(pairs[i][0]), demangle(pairs[i][1]));
}

static void unescape(const char *text, char *out)
{
	while (*text) {
		if (*text != '\\') {
			*out++ = *text++;
		} else if (text[1] == '\\') {
			*out++ = '\\';
			text += 2;
		} else {
			unsigned value;

			assert_int_equal(sscanf(text, "\\x%2x", &value), 1);
			*out++ = (char)value;
			text += 4;
		}
	}
}

static void test_demangle_escapes_can_be_turned_back(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char bytes[24], back[24];

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1664525u + 1013904223u;
			bytes[i] = (char)(seed >> 24);
			if (seed & 0x8000)
				bytes[i] = "\\x\xc2\xe2\x80\xf0"[(seed >> 16 & 0x7fff) % 6];
		}
		bytes[0] = 'k';
		unescape(demangle_bytes(bytes, sizeof(bytes)), back);
		assert_memory_equal(back, bytes, sizeof(bytes));
	}
}

/* The names of CUTLASS kernels exceed the 1024 characters at which some demanglers give up. */
static void test_demangle_reads_long_names(void **state)
{
	char mangled[8192];
	size_t at = 0;
	const char *full;

	(void)state;
	at += (size_t)sprintf(mangled, "_ZN7cutlass13device_kernelI");
	while (at < 6000)
		at += (size_t)sprintf(mangled + at, "NS_4gemm9GemmShapeILi128ELi%zuELi64EEE", at);
	sprintf(mangled + at, "EEvv");
	full = demangle(mangled);
	assert_ptr_equal(strstr(full, "void cutlass::device_kernel<cutlass::gemm::GemmShape<128,"),
			 full);
}

/* Substitutions that double: 300 characters that would demangle to 2^60 and more. */
static void write_bomb(char *mangled, int doublings)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t at = (size_t)sprintf(mangled, "_Z1f1aIiiE");

	for (int i = 0; i < doublings; i++) {
		char reference[8];

		if (i < 36)
			sprintf(reference, "S%c_", digits[i]);
		else
			sprintf(reference, "S%c%c_", digits[i / 36], digits[i % 36]);
		at += (size_t)sprintf(mangled + at, "S_I%s%sE", reference, reference);
	}
}

static void test_demangle_gives_up_on_bombs(void **state)
{
	static const char start[] = "f(a<int, int>, a<a<int, int>, a<int, int> >, ";
	char mangled[16384];

	(void)state;
	write_bomb(mangled, 3);
	assert_memory_equal(demangle(mangled), start, sizeof(start) - 1);
	for (int doublings = 20; doublings <= 1000; doublings += 70) {
		write_bomb(mangled, doublings);
		assert_string_equal(demangle(mangled), mangled);
	}
}

/* Nesting that deep recursion would not survive, in each place where the grammar nests. */
static void test_demangle_survives_nesting(void **state)
{
	static const struct {
		const char *before, *open, *middle, *close;
	} shapes[] = {
		{"_Z1f", "P", "i", ""},      {"_Z1f", "1aI", "i", "E"},
		{"_Z1f", "F", "vv", "E"},    {"_Z1fI", "Xad", "L_Z1gE", "E"},
		{"_Z", "Z", "1gv", "E1h"},   {"_Z1fI", "J", "", "E"},
		{"_Z1fI", "DpDO", "i", "E"},
	};
	const size_t size = 2 * KP_DEMANGLE_INPUT_MAX;
	char *mangled = malloc(size + 64);

	(void)state;
	assert_non_null(mangled);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (size_t depth = 100; depth <= 4000; depth += 1300) {
			char *at = mangled + sprintf(mangled, "%s", shapes[i].before);

			for (size_t n = 0; n < depth; n++)
				at += sprintf(at, "%s", shapes[i].open);
			at += sprintf(at, "%s", shapes[i].middle);
			for (size_t n = 0; n < depth; n++)
				at += sprintf(at, "%s", shapes[i].close);
			sprintf(at, "Evv");
			assert_non_null(demangle(mangled));
			assert_true(strlen(demangle(mangled)) <= KP_DEMANGLE_OUTPUT_MAX);
		}
	}
	free(mangled);
}

static void test_demangle_leaves_huge_names_mangled(void **state)
{
	const size_t length = 1 << 20;
	char *mangled = malloc(length + 1);

	(void)state;
	assert_non_null(mangled);
	memset(mangled, 'P', length);
	memcpy(mangled, "_Z1f", 4);
	mangled[length - 1] = 'i';
	mangled[length] = '\0';
	assert_string_equal(demangle(mangled), mangled);
	free(mangled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangle_reads_kernel_names),
		cmocka_unit_test(test_demangle_leaves_other_names_alone),
		cmocka_unit_test(test_demangle_escapes_what_is_no_text),
		cmocka_unit_test(test_demangle_keeps_distinct_names_distinct),
		cmocka_unit_test(test_demangle_escapes_can_be_turned_back),
		cmocka_unit_test(test_demangle_reads_long_names),
		cmocka_unit_test(test_demangle_gives_up_on_bombs),
		cmocka_unit_test(test_demangle_survives_nesting),
		cmocka_unit_test(test_demangle_leaves_huge_names_mangled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
