/* Signatures and short names: where C++ cuts, not where the first bracket stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/demangle.h"
#include "analyzers/names.h"
#include "analyzers/signature.h"

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

static const char *copy(struct kp_span span)
{
	return kp_arena_copy(arena, span.begin, kp_span_length(span));
}

static const char *function_of(const char *full)
{
	return copy(kp_signature_function(full, NULL));
}

static const char *parameters_of(const char *full)
{
	struct kp_span parameters;

	kp_signature_function(full, &parameters);
	return copy(parameters);
}

static const char *named_in(const char *full)
{
	return copy(kp_signature_named(kp_signature_function(full, NULL)).name);
}

/* clang-format off */
static const struct {
	const char *full, *function, *parameters, *named;
} signatures[] = {
	{"f(int)", "f", "int", "f"},
	{"void a::f<4, b<(c)1> >(int, d)", "a::f<4, b<(c)1> >", "int, d", "f"},
	{"unsigned int f<int>(x)", "f<int>", "x", "f"},
	{"std::enable_if<!(false), void>::type a::kernel<int>(p<int>)", "a::kernel<int>", "p<int>",
	 "kernel"},
	{"(anonymous namespace)::f(float*)", "(anonymous namespace)::f", "float*", "f"},
	{"void (anonymous namespace)::f<(anonymous namespace)::g>(h)",
		"(anonymous namespace)::f<(anonymous namespace)::g>", "h", "f"},
	{"void f<void (*)(int), int (char)>(x)", "f<void (*)(int), int (char)>", "x", "f"},
	{"void <unnamed>::f<(int)4, <unnamed>::g>(<unnamed>::h)",
		"<unnamed>::f<(int)4, <unnamed>::g>", "<unnamed>::h", "f"},
	{"void a::<unnamed>::f<a::<unnamed>::g<b>>(h)", "a::<unnamed>::f<a::<unnamed>::g<b>>", "h",
	 "f"},
	{"void a::f<4, b<(c)1> >", "a::f<4, b<(c)1> >", "", "f"},
	{"void f<4> g", "void f<4> g", "", "void f<4> g"},
	{"void <unnamed", "void <unnamed", "", "void <unnamed"},
	{"void ", "void ", "", "void "},
	{"void (*f<int>(float))(int)", "f<int>", "float", "f"},
	{"decltype (g(1)) f<int>(int)", "f<int>", "int", "f"},
	{"void f<((4)>(2)), g<1> >(x)", "f<((4)>(2)), g<1> >", "x", "f"},
	{"void f<&(A::operator->())>(x)", "f<&(A::operator->())>", "x", "f"},
	{"void f<&(A::operator<(A const&))>(x)", "f<&(A::operator<(A const&))>", "x", "f"},
	{"void f<&(A::operator>>(A const&)), 1>(x)", "f<&(A::operator>>(A const&)), 1>", "x", "f"},
	{"void F<int>::operator()<4>(x) const", "F<int>::operator()<4>", "x", "F"},
	{"bool A::operator< <int>(x)", "A::operator< <int>", "x", "A"},
	{"A::operator float const*()", "A::operator float const*", "", "A"},
	{"operator\"\" _k(char const*)", "operator\"\" _k", "char const*", "operator\"\" _k"},
	{"void f(int)::{lambda(int)#1}::operator()(int) const",
	 "f(int)::{lambda(int)#1}::operator()", "int", "f"},
	{"void k<2, A<b>::operator()<c, d>(e, f)::{lambda(int)#1}>(int)",
		"k<2, A<b>::operator()<c, d>(e, f)::{lambda(int)#1}>", "int", "k"},
	{"void h<f()::{lambda()#1}::operator()() const::{lambda(x)#2}>(y)",
		"h<f()::{lambda()#1}::operator()() const::{lambda(x)#2}>", "y", "h"},
	{"f[abi:cxx11](int)", "f[abi:cxx11]", "int", "f[abi:cxx11]"},
	{"f(int) [clone .isra.0]", "f", "int", "f"},
	{"nvjet_tst_128x64_64x6_2x1_v_bz_TNN", "nvjet_tst_128x64_64x6_2x1_v_bz_TNN", "",
	 "nvjet_tst_128x64_64x6_2x1_v_bz_TNN"},
	{"Memcpy HtoD", "Memcpy HtoD", "", "Memcpy HtoD"},
	{"a name (with brackets)", "a name (with brackets)", "", "a name (with brackets)"},
	{"", "", "", ""},
	{"f<", "f<", "", "f<"},
	{"f(((", "f(((", "", "f((("},
	{">>>>", ">>>>", "", ">>>>"},
	{"operator", "operator", "", "operator"},
};
/* clang-format on */

static void test_signature_cuts_where_cpp_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		assert_string_equal(function_of(signatures[i].full), signatures[i].function);
		assert_string_equal(parameters_of(signatures[i].full), signatures[i].parameters);
		assert_string_equal(named_in(signatures[i].full), signatures[i].named);
	}
}

static void test_signature_splits_arguments(void **state)
{
	static const char text[] =
		"4, f<1, 2>, (a)(3), g(x, y)::{lambda(p, q)#1}, h [3],  &(A::operator,(B))";
	static const char *const parts[] = {"4",      "f<1, 2>",
					    "(a)(3)", "g(x, y)::{lambda(p, q)#1}",
					    "h [3]",  "&(A::operator,(B))"};
	struct kp_span rest = {text, text + strlen(text)}, part;
	size_t count = 0;

	(void)state;
	for (; kp_signature_argument(&rest, &part); count++) {
		assert_true(count < sizeof(parts) / sizeof(parts[0]));
		assert_string_equal(copy(part), parts[count]);
	}
	assert_int_equal(count, sizeof(parts) / sizeof(parts[0]));
}

/* clang-format off */
static const struct {
	const char *mangled, *brief;
} names[] = {
	{
		"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIN"
		"3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_",
	 "vectorized_elementwise_kernel<8, CUDAFunctor_add<BFloat16>>"},
	{
		"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_62_GLOBAL__N__7d"
		"4ed096_23_ActivationSiluKernel_cu_751192d7_1559511silu_kernelERNS_18Tens"
		"orIteratorBaseEENKUlvE_clEvENKUlvE4_clEvEUlN3c108BFloat16EE_St5arrayIPcL"
		"m2EEEEviT0_T1_",
	 "vectorized_elementwise_kernel<8, silu_kernel(BFloat16)>"},
	{
		"_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__b110"
		"8092_12_PowKernel_cu_751192d7_2139629pow_tensor_scalar_kernel_implIffEEv"
		"RNS_18TensorIteratorBaseET0_EUlfE_St5arrayIPcLm2EEEEviS6_T1_",
	 "vectorized_elementwise_kernel<4, pow_tensor_scalar_kernel_impl<float, float>(float)>"},
	{
		"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocas"
		"tIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clE"
		"vENKUlvE10_clEvEUlN3c108BFloat16EE_EEvS4_RKT_EUliE_EEviT1_",
	 "elementwise_kernel<128, 4, direct_copy_kernel_cuda(BFloat16)>"},
	{
		"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_c"
		"udaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPc"
		"Lm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi"
		"1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
	 "unrolled_elementwise_kernel<direct_copy_kernel_cuda(float), 4>"},
	{
		"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffE"
		"EjfLi4ELi4EEEEEvT1_",
	 "reduce_kernel<512, 1, ReduceOp<float, MeanOps<...>, unsigned int, float, ...>>"},
	{
		"_ZN43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6320softmax_warp_forwardIf"
		"ffLi4ELb0ELb0EEEvPT0_PKT_iiiPKbib",
	 "softmax_warp_forward<float, float, float, 4, false, false>"},
	{"_ZN7cutlass7Kernel2I50cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4EEvNT_6ParamsE",
	 "Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>"},
	{
		"_ZN13pytorch_flash16flash_fwd_kernelINS_23Flash_fwd_kernel_traitsILi64EL"
		"i128ELi128ELi4ELb0ELb0EN7cutlass6half_tENS_19Flash_kernel_traitsILi64ELi"
		"128ELi128ELi4ES3_EEEELb0ELb1ELb0ELb0ELb1ELb1ELb0EEEvNS_16Flash_fwd_param"
		"sE",

		"flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, ...>, false, t"
		"rue, false, false, true, ...>"},
	{
		"_ZN8internal5gemvx6kernelIii13__nv_bfloat16S2_S2_fLb0ELb1ELb1ELb0ELi6ELb"
		"0E18cublasGemvParamsExIi30cublasGemvTensorStridedBatchedIKS2_ES6_S4_IS2_"
		"EfEEENSt9enable_ifIXntT5_EvE4typeET11_",

		"gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, flo"
		"at, false, true, true, ...>"},
	{"_Z13mul_mat_vec_qIL9ggml_type12ELi1ELi1EEvPKvS2_PKiPfiiiiiiiiiiii",
	 "mul_mat_vec_q<(ggml_type)12, 1, 1>"},
	{"_Z3fooIPFviEEvv", "foo<void (*)(int)>"},
	{"_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE",
	 "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
	{"_ZN6Scaler3runIfEEvPT_", "Scaler::run<float>"},
	{"_ZN6ScalerIfE6kernelEPf", "Scaler<float>::kernel"},
	{"nvjet_tst_128x64_64x6_2x1_v_bz_TNN", "nvjet_tst_128x64_64x6_2x1_v_bz_TNN"},
	{"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
		"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"},
	{"triton_poi_fused_add_0", "triton_poi_fused_add_0"},
	{
		"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_35_16x12"
		"8x128_1x4x1_cga1x1x1_kernel0_0",

		"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_35_16x12"
		"8x128_1x4x1_cga1x1x1_kernel0_0"},
	{"a name (with brackets)", "a name (with brackets)"},
	{"", ""},
};
/* clang-format on */

static const char *demangle(const char *mangled)
{
	return kp_demangle(arena, (struct kp_text){mangled, strlen(mangled)});
}

static void test_names_are_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(
			kp_name_shorten(arena, demangle(names[i].mangled), KP_NAME_BRIEF),
			names[i].brief);
}

static void test_names_say_more_when_asked(void **state)
{
	const char *full = "void n::f<m::A<m::B<1, 2>, std::array<char*, 3ul> >, std::array<char*, "
			   "3ul>, g(int)::{lambda()#1}::operator()() const::{lambda(m::C)#2}>(int)";

	(void)state;
	assert_string_equal(kp_name_shorten(arena, full, KP_NAME_BRIEF),
			    "f<A<B<1, 2>, array<char*, 3ul>>, g(C)>");
	assert_string_equal(kp_name_shorten(arena, full, KP_NAME_ARGUMENTS),
			    "f<A<B<1, 2>, array<char*, 3ul>>, array<char*, 3ul>, "
			    "g(int)::{lambda()#1}::operator()()::{lambda(C)#2}>");
	assert_string_equal(kp_name_shorten(arena, full, KP_NAME_QUALIFIED),
			    "n::f<m::A<m::B<1, 2>, std::array<char*, 3ul> >, std::array<char*, "
			    "3ul>, g(int)::{lambda()#1}::operator()() const::{lambda(m::C)#2}>");
	assert_string_equal(kp_name_shorten(arena, full, KP_NAME_FULL), full);
}

static void shorten_all(const char *const *full, size_t count, const char **out)
{
	assert_int_equal(kp_names_shorten_all(arena, full, count, out), KP_OK);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(out[i], out[j]);
}

/* Case 39: different kernels never share a name. */
static void test_names_stay_different(void **state)
{
	static const char *const full[] = {
		"void a::f<int, std::array<char*, 2ul> >(int)",
		"void a::f<int, std::array<char*, 3ul> >(int)",
		"void a::g(int)",
		"void b::g(int)",
		"void c::g(int)",
		"void c::g(float)",
		"void h(int)",
		"void h(int)",
		"void h(int)",
		"h#2",
		"plain",
		"f<g()::{lambda()#1}::operator()() const::{lambda(int)#1}>(x)",
		"f<g()::{lambda()#2}::operator()() const::{lambda(int)#1}>(x)",
	};
	const char *out[sizeof(full) / sizeof(full[0])];

	(void)state;
	shorten_all(full, sizeof(full) / sizeof(full[0]), out);
	assert_string_equal(out[0], "f<int, array<char*, 2ul>>");
	assert_string_equal(out[1], "f<int, array<char*, 3ul>>");
	assert_string_equal(out[2], "a::g");
	assert_string_equal(out[3], "b::g");
	assert_string_equal(out[4], "void c::g(int)");
	assert_string_equal(out[5], "void c::g(float)");
	assert_string_equal(out[6], "void h(int)");
	assert_string_equal(out[7], "void h(int)#2");
	assert_string_equal(out[8], "void h(int)#3");
	assert_string_equal(out[9], "h#2");
	assert_string_equal(out[10], "plain");
}

static void test_names_do_not_reuse_numbers(void **state)
{
	static const char *const full[] = {"k", "k", "k#2", "k#2", "k#3", ""};
	const char *out[6];

	(void)state;
	shorten_all(full, 6, out);
	assert_string_equal(out[0], "k");
	assert_string_equal(out[1], "k#4");
	assert_string_equal(out[2], "k#2");
	assert_string_equal(out[4], "k#3");
	assert_int_equal(kp_names_shorten_all(arena, NULL, 0, NULL), KP_OK);
}

/* Names made of the pieces that confuse: nothing crashes, hangs, or grows. */
static void test_names_survive_fragments(void **state)
{
	static const char *const fragments[] = {
		"operator",  "operator()", "operator<", "operator->",
		"{lambda(",  "}",          "#1",        "<",
		">",         "(",          ")",         "::",
		" ",         " const",     ",",         "&",
		"*",         "f",          "int",       "[",
		"]",         "->",         "\"\"",      "(anonymous namespace)",
		"decltype ", "...",        "\\x00",     "\xc3\xa9"};
	uint32_t seed = 5;

	(void)state;
	for (int round = 0; round < 30000; round++) {
		char full[1024] = "";

		for (int i = 0; i < 40; i++) {
			seed = seed * 1664525u + 1013904223u;
			strcat(full, fragments[(seed >> 12) %
					       (sizeof(fragments) / sizeof(fragments[0]))]);
		}
		full[(seed >> 8) % sizeof(full)] = '\0';
		for (int detail = 0; detail < KP_NAME_DETAIL_COUNT; detail++) {
			const char *name =
				kp_name_shorten(arena, full, (enum kp_name_detail)detail);

			assert_non_null(name);
			assert_true(strlen(name) <= 2 * strlen(full) + 16);
		}
	}
}

static void test_names_survive_depth(void **state)
{
	const size_t depth = 20000;
	char *full = malloc(3 * depth + 64), *at = full;

	(void)state;
	assert_non_null(full);
	at += strlen(strcpy(at, "void f<"));
	for (size_t i = 0; i < depth; i++)
		at += strlen(strcpy(at, "a<"));
	*at++ = '1';
	for (size_t i = 0; i <= depth; i++)
		*at++ = '>';
	strcpy(at, "(x)");
	for (int detail = 0; detail < KP_NAME_DETAIL_COUNT; detail++)
		assert_non_null(kp_name_shorten(arena, full, (enum kp_name_detail)detail));
	free(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signature_cuts_where_cpp_does),
		cmocka_unit_test(test_signature_splits_arguments),
		cmocka_unit_test(test_names_are_short),
		cmocka_unit_test(test_names_say_more_when_asked),
		cmocka_unit_test(test_names_stay_different),
		cmocka_unit_test(test_names_do_not_reuse_numbers),
		cmocka_unit_test(test_names_survive_fragments),
		cmocka_unit_test(test_names_survive_depth),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
