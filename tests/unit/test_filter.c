/* Patterns on kernel names: globs, functions out of mangled names, lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inject/filter.h"

#define ELEMENTWISE                                                                                \
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"               \
	"St5arrayIPcLm3EEEEviT0_T1_"

static void test_filter_finds_functions(void **state)
{
	static const char *const rows[][3] = {
		{ELEMENTWISE, "at::native::vectorized_elementwise_kernel",
		 "vectorized_elementwise_kernel"},
		{"_Z12vector_scalePfS_i", "vector_scale", "vector_scale"},
		{"_ZL6kernelv", "kernel", "kernel"},
		{"_ZN12_GLOBAL__N_14softE", "(anonymous namespace)::soft", "soft"},
		{"_ZNSt3abcE", "std::abc", "abc"},
		{"_ZN7cutlass6KernelI4GemmEEvT_", "cutlass::Kernel", "Kernel"},
		{"triton_red_fused_0", "triton_red_fused_0", "triton_red_fused_0"},
		{"void a::softmax<float, 4>(float*)", "a::softmax", "softmax"},
		{"", "", ""},
		{"_Z", "", ""},
		{"_Z99short", "", ""},
		{"_Z99999999999999999999x", "", ""},
		{"_ZN2at", "at", "at"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char function[128];
		size_t last;

		kp_filter_function(rows[i][0], function, sizeof(function), &last);
		assert_string_equal(function, rows[i][1]);
		assert_string_equal(function + last, rows[i][2]);
	}
}

static void test_filter_cuts_long_names(void **state)
{
	char out[8];
	size_t last;

	(void)state;
	kp_filter_function("_ZN10abcdefghij3xyzE", out, sizeof(out), &last);
	assert_string_equal(out, "abcdefg");
	assert_true(last <= strlen(out));
	kp_filter_function("a_plain_name", out, sizeof(out), &last);
	assert_string_equal(out, "a_plain");
}

static void test_filter_matches_globs(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} rows[] = {
		{"gemm", "gemm", true},
		{"gemm", "gemm2", false},
		{"gemm*", "gemm2", true},
		{"*gemm*", "sm90_gemm_f16", true},
		{"*gemm", "sm90_gemm_f16", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxbyycz", false},
		{"g?mm", "gumm", true},
		{"g?mm", "gmm", false},
		{"k[0-9]", "k7", true},
		{"k[0-9]", "kx", false},
		{"k[!0-9]", "kx", true},
		{"k[]]", "k]", true},
		{"k[", "k[", true},
		{"*", "", true},
		{"at::native::*", ELEMENTWISE, true},
		{"vectorized_*", ELEMENTWISE, true},
		{"_ZN2at6native*", ELEMENTWISE, true},
		{"native", ELEMENTWISE, false},
		{"copy*,soft*,gemm", "softmax", true},
		{"copy*,,gemm", "softmax", false},
		{"****************************b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(kp_filter_takes(rows[i].pattern, "", rows[i].name), rows[i].fits);
		assert_int_equal(kp_filter_takes("", rows[i].pattern, rows[i].name), !rows[i].fits);
	}
	assert_true(kp_filter_takes("", "", "anything"));
	assert_false(kp_filter_takes("gemm*", "*_f16", "gemm_f16"));
	assert_true(kp_filter_takes("gemm*", "*_f16", "gemm_f32"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_finds_functions),
		cmocka_unit_test(test_filter_cuts_long_names),
		cmocka_unit_test(test_filter_matches_globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
