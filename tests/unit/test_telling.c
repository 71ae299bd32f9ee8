/* The part of a generic kernel's name that says what it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/telling.h"

static void check(const char *name, const char *expected)
{
	struct kp_word word = kp_name_telling(name);

	assert_int_equal(word.length, strlen(expected));
	assert_memory_equal(word.bytes, expected, word.length);
}

static void test_functor_inside_wrappers(void **state)
{
	(void)state;
	check("elementwise_kernel<128, 4, BinaryFunctor<BFloat16, BFloat16, MulFunctor<float>>>",
	      "MulFunctor");
	check("vectorized_elementwise_kernel<4, rsqrt_kernel_cuda(float)>", "rsqrt_kernel_cuda");
	check("index_elementwise_kernel<128, 4, index_copy_kernel_impl<OpaqueType<2>>(int)>",
	      "index_copy_kernel_impl");
	check("reduce_kernel<512, 1, ReduceOp<float, MeanOps<...>, unsigned int, float, ...>>",
	      "MeanOps");
	check("Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align1>",
	      "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align1");
}

static void test_names_without_one(void **state)
{
	(void)state;
	check("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "");
	check("softmax_warp_forward<float, float, float, 11, false, false>", "");
	check("", "");
	check("<", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functor_inside_wrappers),
		cmocka_unit_test(test_names_without_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
