/*
 * Operators: kernels under the names that the driver reports, labelled by hand. The names come from
 * recorded traces and from the sources of the libraries that are named beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/demangle.h"
#include "analyzers/operators.h"

struct labelled {
	const char *operator, * mangled;
};

/* clang-format off */
static const struct labelled cublas[] = {
	{"gemm", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"},
	{"gemm", "nvjet_tst_128x64_64x6_2x1_v_bz_TNN"},
	{"gemm", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT"},
	{"gemm", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"},
	{"gemm", "ampere_sgemm_32x32_sliced1x4_tn"},
	{"gemm",
		"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage4_warpsiz"
		"e2x2x1_tensor16x8x16_execute_kernel__5x_cublas"},
	{"gemm",
		"_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif13__nv_bfloat16fS1_Lb0EfS1"
		"_S1_Lb1ELb0ELb0ELb0EEEvNS_18cublasSplitKParamsIT4_EEPKT2_PKT8_PT7_PT3_PK"
		"S3_SG_PKT9_S7_PSH_PvlPS3_PiSM_SM_SG_SG_SG_SG_SG_"},
	{"gemv",
		"_Z17gemv2T_kernel_valIiiffffLi128ELi16ELi4ELi4ELb0ELb1E18cublasGemvParam"
		"sExIi30cublasGemvTensorStridedBatchedIKfES3_S1_IfEfEEvT11_T4_S7_"},
	{"gemv",
		"_ZN8internal5gemvx6kernelIii13__nv_bfloat16S2_S2_fLb0ELb1ELb1ELb0ELi6ELb"
		"0E18cublasGemvParamsExIi30cublasGemvTensorStridedBatchedIKS2_ES6_S4_IS2_"
		"EfEEENSt9enable_ifIXntT5_EvE4typeET11_"},
	{"gemm",
		"_ZN7cutlass7Kernel2I50cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4"
		"EEvNT_6ParamsE"},
	{"gemm",
		"_ZN7cutlass7Kernel2I68cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x"
		"32_128x2_nn_align8EEvNT_6ParamsE"},
};

static const struct labelled attention[] = {
	{"attention",
		"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_35_16x12"
		"8x128_1x4x1_cga1x1x1_kernel0_0"},
	{"attention",
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x12"
		"8x128_4x1x1_kernel0_0"},
	{"attention", "fmha_cutlassF_bf16_aligned_64x128_rf_sm80"},
	{"attention",
		"_ZN13pytorch_flash16flash_fwd_kernelINS_23Flash_fwd_kernel_traitsILi64EL"
		"i128ELi128ELi4ELb0ELb0EN7cutlass6half_tENS_19Flash_kernel_traitsILi64ELi"
		"128ELi128ELi4ES3_EEEELb0ELb1ELb0ELb0ELb1ELb1ELb0EEEvNS_16Flash_fwd_param"
		"sE"},
	{"attention",
		"_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttn"
		"FwdSm90INS1_25CollectiveMainloopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi2EEEN"
		"S7_ILi1EEES9_EEENS6_IJNS7_ILi128EEENS7_ILi176EEESB_EEELi128ENS_10bfloat1"
		"6_tEfNS_4arch4Sm90ELb0ELb0ELb0ELb0ELb0ELb0ELb0ELb1ELb1ELb0ELb0ELb0EEENS1"
		"_21CollectiveEpilogueFwdINS6_IJSB_SB_SC_EEESA_SE_SG_Li256ELb0ELb0ELb0ELb"
		"0EEENS1_29StaticPersistentTileSchedulerILb0EEEEEEEEEvNT_6ParamsE"},
	{"attention",
		"_ZN10flashinfer33BatchDecodeWithPagedKVCacheKernelILNS_15PosEncodingMode"
		"E0ELj2ELj1ELj16ELj32ELj16ELj1ENS_16DefaultAttentionILb0ELb0ELb0ELb0EEENS"
		"_17BatchDecodeParamsIfffiEEEEvT7_"},
	{"attention",
		"_ZN10flashinfer36BatchDecodeWithPagedKVCacheKernelMLAILj2ELj16ELj2ELj32E"
		"Lj8ELj1ELj2ENS_16DefaultAttentionILb0ELb0ELb0ELb0EEENS_20BatchDecodePara"
		"msMLAI13__nv_bfloat16S4_S4_iEEEEvT7_"},
	{"attention", "kernel_unified_attention_2d"},
	{"attention", "triton_tem_fused_flex_attention_0"},
};

static const struct labelled pytorch[] = {
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIN"
		"3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_"},
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_21CUDAFunctorOnSelf"
		"_addIfEESt5arrayIPcLm2EEEEviT0_T1_"},
	{"elementwise",
		"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocas"
		"tINS0_13BinaryFunctorIN3c108BFloat16ES5_S5_NS0_15binary_internal10MulFun"
		"ctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_"},
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_17rsqrt_kernel_c"
		"udaERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE0_clEvEUlfE_St5arrayIPc"
		"Lm2EEEEviT0_T1_"},
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__b110"
		"8092_12_PowKernel_cu_751192d7_2139629pow_tensor_scalar_kernel_implIffEEv"
		"RNS_18TensorIteratorBaseET0_EUlfE_St5arrayIPcLm2EEEEviS6_T1_"},
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13AUnaryFunctorIllb"
		"NS0_51_GLOBAL__N__28ce311f_18_CompareEQKernel_cu_d8008c9616CompareEqFunc"
		"torIlEEEENS_6detail5ArrayIPcLi2EEEEEviT0_T1_"},
	{"copy",
		"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_ke"
		"rnel_cudaERNS_18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_"},
	{"copy",
		"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_c"
		"udaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPc"
		"Lm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi"
		"1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_"},
	{"copy",
		"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocas"
		"tIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clE"
		"vENKUlvE10_clEvEUlN3c108BFloat16EE_EEvS4_RKT_EUliE_EEviT1_"},
	{"copy",
		"_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter"
		"_gather_internal_kernelILb0ENS0_10OpaqueTypeILi8EEElEclINS0_12TensorAssignEEEvRN"
		"S_14TensorIteratorElllRKT_EUliE_EEviT1_"},
	{"reduction",
		"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffE"
		"EjfLi4ELi4EEEEEvT1_"},
	{"activation",
		"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_62_GLOBAL__N__7d"
		"4ed096_23_ActivationSiluKernel_cu_751192d7_1559511silu_kernelERNS_18Tens"
		"orIteratorBaseEENKUlvE_clEvENKUlvE4_clEvEUlN3c108BFloat16EE_St5arrayIPcL"
		"m2EEEEviT0_T1_"},
	{"activation",
		"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernel"
		"ImplERNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUlvE2_clEvEU"
		"lN3c108BFloat16EE_NS_6detail5ArrayIPcLi2EEEEEviT0_T1_"},
	{"softmax",
		"_ZN43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6320softmax_warp_forwardIf"
		"ffLi4ELb0ELb0EEEvPT0_PKT_iiiPKbib"},
	{"softmax",
		"_ZN2at6native12_GLOBAL__N_119cunn_SoftMaxForwardILi2EdddNS1_22SoftMaxFor"
		"wardEpilogueEEEvPT2_PKT0_i"},
	{"norm",
		"_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIN3c108BFloat16"
		"EfLb1EEEviT0_PKT_S8_S8_PS5_S9_PS6_"},
	{"embedding",
		"_ZN2at6native44_GLOBAL__N__50c743a2_11_Indexing_cu_89862edb21indexSelect"
		"SmallIndexIfljLi2ELi2ELin2EEEvNS_4cuda6detail10TensorInfoIT_T1_EENS5_IKS"
		"6_S7_EENS5_IKT0_S7_EEiiS7_l"},
	{"memory",
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIN3c10"
		"8BFloat16EEESt5arrayIPcLm1EEEEviT0_T1_"},
};

static const struct labelled compiled[] = {
	{"elementwise", "triton_poi_fused_add_0"},
	{"activation", "triton_poi_fused_clamp_copy__mul_silu_slice_0"},
	{"norm", "triton_red_fused_rms_norm_0"},
	{"norm", "triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_1"},
	{"softmax", "triton_per_fused__softmax_3"},
	{"reduction", "triton_red_fused_sum_2"},
	{"copy", "triton_poi_fused__to_copy_1"},
	{"copy", "triton_poi_fused_cat_5"},
	{"embedding", "triton_poi_fused_embedding_0"},
	{"rope", "triton_poi_fused_cat_cos_mul_sin_7"},
	{"gemm", "triton_tem_fused_mm_4"},
	{"activation", "triton_poi_fused_addmm_relu_0"},
	{"elementwise", "loop_add_fusion"},
	{"elementwise", "loop_multiply_fusion_3"},
	{"reduction", "input_reduce_fusion_1"},
	{"copy", "loop_transpose_fusion"},
	{"elementwise", "loop_convert_fusion_2"},
	{"copy", "wrapped_convert"},
	{"gemm", "gemm_fusion_dot_12"},
	{"unknown", "fusion_7"},
	{"softmax", "triton_softmax_1"},
	{"elementwise", "wrapped_add"},
};

static const struct labelled serving[] = {
	{"norm", "_ZN4vllm15rms_norm_kernelIN3c104HalfEEEvPT_PKS3_S6_fii"},
	{"norm", "_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16EEEvPT_S4_PKS3_fii"},
	{"rope", "_ZN4vllm23rotary_embedding_kernelIN3c108BFloat16ELb1EEEvPKlPT_S6_PKS5_illliii"},
	{"kv-cache",
		"_ZN4vllm30reshape_and_cache_flash_kernelIttLNS_18Fp8KVCacheDataTypeE0EEE"
		"vPKT_S4_PT0_S6_PKlllllliiiPKfS9_"},
	{"moe",
		"_ZN4vllm3moe17single_group_topk6detail29single_group_topk_warp_kernelIff"
		"iLNS0_11ScoringFuncE1ELi512ELi22EEEvPKT_PfPT1_PKT0_lllbfb"},
	{"moe", "fused_moe_kernel"},
	{"activation",
		"_ZN4vllm18act_and_mul_kernelIN3c108BFloat16EXadL_ZNS_11silu_kernelIS2_EE"
		"T_RKS4_EELb1EEEvPS4_PKS4_i"},
	{"norm", "_ZN10flashinfer4norm13RMSNormKernelILj8E13__nv_bfloat16EEvPT0_S4_S4_jjjff"},
	{"norm",
		"_ZN12tensorrt_llm7kernels21fusedQKNormRopeKernelIN3c104HalfENS2_8BFloat1"
		"6ELi128ELb0EEEvPviiifPKvS7_S7_PKlii"},
	{"gemm",
		"_ZN6marlin6MarlinILl1125899906910725ELl1125899907892224ELl11258999069107"
		"25ELl1125899906910725ELi256ELi1ELi8ELi8ELb1ELi4ELi2ELb0EEEvPK4int4S3_PS1"
		"_S4_S3_PKfS3_S6_S3_PKiiiiiiPibbbi"},
	{"gemv", "_Z13mul_mat_vec_qIL9ggml_type12ELi1ELi1EEvPKvS2_PKiPfiiiiiiiiiiii"},
	{"norm", "_Z12rms_norm_f32ILi1024EEvPKfPfiiiiiiiii"},
	{"quantize", "_Z13quantize_q8_1PKfPvlllllii"},
	{"communication",
		"_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageIL"
		"m4096EE"},
	{"communication",
		"_ZN4vllm26cross_device_reduce_1stageIfLi2EEEvPNS_8RankDataENS_11RankSign"
		"alsEPNS_6SignalEPT_ii"},
};

/* samples/llm_decode: static functions, so that some compilers put them into a namespace. */
static const struct labelled own[] = {
	{"embedding", "_Z16embedding_kernelP13__nv_bfloat16PKS_PKimi"},
	{"norm", "_Z18inverse_rms_kernelPfPK13__nv_bfloat16i"},
	{"elementwise", "_Z12scale_kernelP13__nv_bfloat16PKS_PKfS2_mi"},
	{"elementwise", "_Z10add_kernelP13__nv_bfloat16PKS_m"},
	{"activation", "_Z11silu_kernelP13__nv_bfloat16m"},
	{"elementwise", "_ZL10mul_kernelP13__nv_bfloat16PKS_m"},
	{"rope", "_Z11rope_kernelP13__nv_bfloat16PKi6layoutm"},
	{"kv-cache", "_Z19cache_append_kernelP13__nv_bfloat16PKS_PKi6layoutm"},
	{"copy", "_Z18split_heads_kernelP13__nv_bfloat16PKS_6layoutm"},
	{"copy", "_Z18merge_heads_kernelP13__nv_bfloat16PKS_6layoutm"},
	{"copy", "_Z16last_rows_kernelP13__nv_bfloat16PKS_iim"},
	{"sampling", "_Z13argmax_kernelPiPK13__nv_bfloat16i"},
	{"softmax", "_Z14softmax_kernelP13__nv_bfloat16PKiii"},
	{"attention", "_Z18naive_flash_kernel9attentionf"},
	{"gemm", "_Z13matmul_kernel6matmul"},
	{"memory", "_Z11fill_kernelP13__nv_bfloat16mmff"},
	{"unknown", "_Z14advance_kernelPii"},
};

/* What stands in template arguments and parameters does not make the kernel. */
static const struct labelled misleading[] = {
	{"unknown", "_Z5stageIN4nccl9AllReduceE7softmaxEvT_"},
	{"unknown", "_Z5stageIXadL_Z10all_reducePfEEEvPf"},
	{"unknown", "_Z5stageP9attention"},
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi4E14gemm_allreduceSt5arra"
		"yIPcLm3EEEEviT0_T1_"},
	{"elementwise",
		"_ZN2at6native29vectorized_elementwise_kernelILi4E17not_a_silu_kernelSt5a"
		"rrayIPcLm3EEEEviT0_T1_"},
	{"unknown", "_Z13process_stopsPi"},
	{"unknown", "_Z9conversePi"},
	{"unknown", ""},
	{"unknown", "\\x80\xff((((<<<<"},
};
/* clang-format on */

struct fixture {
	struct kp_operators *operators;
	struct kp_arena *arena;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	assert_int_equal(kp_operators_builtin(&fixture.operators), KP_OK);
	fixture.arena = kp_arena_create();
	assert_non_null(fixture.arena);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	kp_operators_destroy(fixture->operators);
	kp_arena_destroy(fixture->arena);
	return 0;
}

static const char *operator_of(const struct kp_operators *operators, const struct kp_label *label)
{
	struct kp_variant variant = kp_operators_variant(operators, label->variant);

	return kp_operators_name(operators, variant.operator_index);
}

static void check(struct fixture *fixture, const struct labelled *names, size_t count)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		struct kp_text mangled = {names[i].mangled, strlen(names[i].mangled)};
		const char *full = kp_demangle(fixture->arena, mangled), *found;
		struct kp_label label;

		assert_non_null(full);
		assert_int_not_equal(strncmp(full, "_Z", 2),
				     0); /* the test's own names are right */
		assert_int_equal(kp_operators_match(fixture->operators, full, &label), KP_OK);
		found = operator_of(fixture->operators, &label);
		if (strcmp(found, names[i].operator) != 0) {
			print_error("%s, not %s: %s\n", found, names[i].operator, full);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

#define TEST_LABELS(table)                                                                         \
	static void test_operators_label_##table(void **state)                                     \
	{                                                                                          \
		check(*state, table, sizeof(table) / sizeof(table[0]));                            \
	}

TEST_LABELS(cublas)
TEST_LABELS(attention)
TEST_LABELS(pytorch)
TEST_LABELS(compiled)
TEST_LABELS(serving)
TEST_LABELS(own)
TEST_LABELS(misleading)

static void test_operators_all_have_names_and_rules(void **state)
{
	struct fixture *fixture = *state;
	size_t count = kp_operators_count(fixture->operators);

	assert_true(count >= 19);
	assert_string_equal(kp_operators_name(fixture->operators, KP_OPERATOR_UNKNOWN), "unknown");
	for (size_t i = 0; i < count; i++) {
		assert_true(strlen(kp_operators_name(fixture->operators, i)) > 0);
		assert_true(strlen(kp_operators_about(fixture->operators, i)) > 0);
	}
}

static void match_is(const struct kp_operators *operators, const char *full, const char *expected)
{
	struct kp_label label;

	assert_int_equal(kp_operators_match(operators, full, &label), KP_OK);
	assert_string_equal(operator_of(operators, &label), expected);
}

/* Every pattern is tried on a name, which in a hostile trace may be as long as strings can be. */
static void test_operators_look_at_the_beginning_of_long_names(void **state)
{
	const struct fixture *fixture = *state;
	char name[4096];

	memset(name, 'y', sizeof(name));
	memcpy(name, "gemm_", 5);
	name[sizeof(name) - 1] = '\0';
	match_is(fixture->operators, name, "gemm");
	memset(name, 'y', 5);
	memcpy(name + sizeof(name) - 6, "_gemm", 5);
	match_is(fixture->operators, name, "unknown");
}

/* A name that no demangler reads is no function: its letters say nothing. */
static void test_operators_do_not_guess_mangled_names(void **state)
{
	struct fixture *fixture = *state;

	match_is(fixture->operators, "_ZN5stageI10all_reduceEvPf", "unknown");
}

static void test_operators_conditions(void **state)
{
	static const char yaml[] = "operators:\n"
				   "- {name: first, about: a}\n"
				   "- {name: second, about: b}\n"
				   "rules:\n"
				   "- {operator: first, function: ['inner::*kernel', 'plain'],"
				   " argument: [Op*]}\n"
				   "- {operator: second, words: [rms norm, solo]}\n"
				   "- {operator: second, scope: outer}\n";
	struct kp_operators *operators;
	struct kp_rules_error error;

	(void)state;
	assert_int_equal(kp_operators_create(yaml, strlen(yaml), &operators, &error), KP_OK);
	match_is(operators, "void a::inner::my_kernel<b::OpAdd>(int)", "first");
	match_is(operators, "void a::winner::my_kernel<b::OpAdd>(int)", "unknown");
	match_is(operators, "void a::inner::my_kernel<b::NotOp>(int)", "unknown");
	match_is(operators, "void plain<X<OpMul> >(int)", "first");
	match_is(operators, "void explain<X<OpMul> >(int)", "unknown");
	match_is(operators, "void f<solo>(int)", "unknown");
	match_is(operators, "FusedRMSNormKernel<8>(int)", "second");
	match_is(operators, "norm_of_rms(int)", "second");
	match_is(operators, "normal_rms(int)", "unknown");
	match_is(operators, "void outer::g<4>(int)", "second");
	match_is(operators, "void g<outer::T>(outer::T)", "unknown");
	kp_operators_destroy(operators);
}

static void test_operators_bad_rules_name_their_line(void **state)
{
#define A "operators:\n- {name: a, about: b}\n"
	static const struct {
		const char *yaml;
		size_t line;
		const char *says;
	} bad[] = {
		{"", 1, "no rules"},
		{"- a\n", 1, "a mapping"},
		{"rulez: []\n", 1, "no key «rulez»"},
		{A "rules:\n- {operator: z, words: [q]}\n", 4, "no operator is called «z»"},
		{A "rules:\n- {operator: a}\n", 4, "needs a condition"},
		{A "rules:\n- {words: [q]}\n", 4, "needs the key «operator»"},
		{A "rules:\n- {operator: a, colour: [q]}\n", 4, "no key «colour»"},
		{A "rules:\n- {operator: a, words: []}\n", 4, "empty list"},
		{A "rules:\n- operator: a\n  words: [q, '']\n", 5, "empty text"},
		{A "rules:\n- operator: a\n  words: [q]\n  words: [r]\n", 6, "twice"},
		{A "rules:\n- {operator: a, words: [{b: c}]}\n", 4, "a text is expected"},
		{A "rules:\n- {operator: a, words: q, helper: 1}\n", 4, "neither true nor false"},
		{A "rules: {operator: a}\n", 3, "«rules» is a list"},
		{A "- {name: a, about: c}\n", 3, "an operator «a» already"},
		{A "- {name: all, about: c}\n", 3, "«all» stands for the whole of a plan"},
		{A "- {name: 'b,c', about: c}\n", 3, "«b,c»: neither , nor ="},
		{A "- {name: 'b=2', about: c}\n", 3, "«b=2»: neither , nor ="},
		{"operators:\n- {name: a}\n", 2, "needs the key «about»"},
		{"operators: [\n", 2, "not YAML"},
		{A "sequences:\n- {operator: a, variant: v, steps: [[a]]}\n", 4, "2 to 8 steps"},
		{A "sequences:\n- {operator: a, variant: v, steps: [a, b]}\n", 4,
		 "no operator is called «b»"},
		{"types:\n- {type: bf16}\n", 2, "needs a condition"},
	};
#undef A

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kp_operators *operators;
		struct kp_rules_error error;

		assert_int_equal(
			kp_operators_create(bad[i].yaml, strlen(bad[i].yaml), &operators, &error),
			KP_INVALID);
		assert_null(operators);
		if (!strstr(error.text, bad[i].says) || error.line != bad[i].line)
			fail_msg("%s: line %zu: %s", bad[i].yaml, error.line, error.text);
	}
}

static void test_operators_tell_variant_type_and_library(void **state)
{
	static const struct {
		const char *name, *variant, *dtype, *library;
	} labels[] = {
		{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "bf16", "bf16", "cuBLAS"},
		{"nvjet_hsh_96x128_64x7_2x1_v_bz_TNN", "fp16", "fp16", "cuBLAS"},
		{"nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_ovscale_TNT", "fp8", "fp8", "cuBLAS"},
		{"nvjet_sss_tf32_128x256_TNT", "tf32", "tf32", "cuBLAS"},
		{"ampere_sgemm_32x32_sliced1x4_tn", "fp32", "fp32", "cuBLAS"},
		{"void cublasLt::splitKreduce_kernel<32, int, float, __nv_bfloat16, float>(int)",
		 "bf16", "bf16", "cuBLAS"},
		{"void pytorch_flash::flash_fwd_splitkv_kernel<cutlass::half_t>(int)", "decode",
		 "fp16", "FlashAttention"},
		{"void at::native::vectorized_elementwise_kernel<4, "
		 "at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
		 "fill", "fp32", "PyTorch"},
		{"void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)", "RMS", "bf16",
		 "vLLM"},
		{"silu_kernel(__nv_bfloat16*, unsigned long)", "other", "bf16", NULL},
		{"triton_poi_fused_mul_silu_3", "gated", NULL, "TorchInductor"},
		{"advance_kernel(int*, int)", NULL, NULL, NULL},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		struct kp_label label;
		const char *found[3];
		const char *wanted[3] = {labels[i].variant, labels[i].dtype, labels[i].library};

		assert_int_equal(kp_operators_match(fixture->operators, labels[i].name, &label),
				 KP_OK);
		found[0] = kp_operators_variant(fixture->operators, label.variant).name;
		found[1] = label.dtype;
		found[2] = label.library;
		for (int k = 0; k < 3; k++)
			if (strcmp(found[k] ? found[k] : "-", wanted[k] ? wanted[k] : "-") != 0)
				fail_msg("%s: %s, not %s", labels[i].name, found[k], wanted[k]);
	}
}

/* Rules on top are asked first, may name operators of their own, and take a label away. */
static void test_operators_user_rules_come_first(void **state)
{
	static const char yaml[] = "operators:\n"
				   "- {name: beam, about: our own}\n"
				   "rules:\n"
				   "- {operator: beam, variant: step, function: 'beam_*'}\n"
				   "- {operator: gemm, function: 'my_secret'}\n"
				   "- {operator: unknown, function: 'copy_*'}\n"
				   "libraries:\n"
				   "- {library: ours, function: ['beam_*', 'nvjet_*']}\n";
	struct kp_operators *operators;
	struct kp_rules_error error;
	struct kp_label label;

	(void)state;
	assert_int_equal(kp_operators_builtin(&operators), KP_OK);
	match_is(operators, "my_secret(__half*)", "unknown");
	assert_int_equal(kp_operators_add(operators, yaml, strlen(yaml), &error), KP_OK);
	match_is(operators, "my_secret(__half*)", "gemm");
	match_is(operators, "beam_step", "beam");
	match_is(operators, "copy_thing", "unknown");
	match_is(operators, "softmax_kernel", "softmax");
	assert_int_equal(kp_operators_match(operators, "my_secret(__half*)", &label), KP_OK);
	assert_int_equal(label.source, KP_LABEL_USER);
	assert_string_equal(kp_operators_variant(operators, label.variant).name, "fp16");
	assert_int_equal(kp_operators_match(operators, "nvjet_hsh_96x128", &label), KP_OK);
	assert_int_equal(label.source, KP_LABEL_NAME);
	assert_string_equal(label.library, "ours");
	/* What was taken away was taken away by somebody, and had a label by its name. */
	assert_int_equal(kp_operators_match(operators, "copy_thing", &label), KP_OK);
	assert_int_equal(label.source, KP_LABEL_USER);
	assert_int_equal(label.variant, KP_OPERATOR_UNKNOWN);
	label.variant = kp_operators_variant(operators, label.named_variant).operator_index;
	assert_string_equal(kp_operators_name(operators, label.variant), "copy");
	kp_operators_destroy(operators);
}

/* Rules with broken bytes are read or refused with a line, and never harm. */
static void test_operators_survive_broken_rules(void **state)
{
	extern const unsigned char kp_operators_yaml[];
	extern const size_t kp_operators_yaml_length;
	char *text = malloc(kp_operators_yaml_length);
	uint32_t random = 1;

	(void)state;
	assert_non_null(text);
	for (int round = 0; round < 200; round++) {
		struct kp_operators *operators;
		struct kp_rules_error error;
		struct kp_label label;
		enum kp_status status;

		memcpy(text, kp_operators_yaml, kp_operators_yaml_length);
		for (int i = 0; i < 1 + round % 4; i++) {
			random = random * 1664525U + 1013904223U;
			text[random % kp_operators_yaml_length] = (char)(random >> 24);
		}
		status = kp_operators_create(text, kp_operators_yaml_length - (size_t)round,
					     &operators, &error);
		if (status == KP_OK)
			assert_int_equal(kp_operators_match(operators, "void a::b<c>(d)", &label),
					 KP_OK);
		else
			assert_true(error.line > 0 && error.text[0]);
		kp_operators_destroy(operators);
	}
	free(text);
}

/* A few bytes must not become gigabytes. */
static void test_operators_refuse_many_aliases(void **state)
{
	static const char item[] = "- {operator: a, words: *w}\n";
	static const char head[] = "operators:\n- {name: a, about: b}\nrules:\n"
				   "- {operator: a, words: &w [";
	const size_t size = sizeof(head) + 2 * 4000 + 4 + 4000 * sizeof(item);
	char *text = malloc(size), *at = text;
	struct kp_operators *operators;
	struct kp_rules_error error;

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "%s", head);
	for (int i = 0; i < 4000; i++)
		at += sprintf(at, "x,");
	at += sprintf(at, "]}\n");
	for (int i = 0; i < 4000; i++)
		at += sprintf(at, "%s", item);
	assert_int_equal(kp_operators_create(text, (size_t)(at - text), &operators, &error),
			 KP_INVALID);
	assert_non_null(strstr(error.text, "patterns"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators_label_cublas),
		cmocka_unit_test(test_operators_label_attention),
		cmocka_unit_test(test_operators_label_pytorch),
		cmocka_unit_test(test_operators_label_compiled),
		cmocka_unit_test(test_operators_label_serving),
		cmocka_unit_test(test_operators_label_own),
		cmocka_unit_test(test_operators_label_misleading),
		cmocka_unit_test(test_operators_all_have_names_and_rules),
		cmocka_unit_test(test_operators_look_at_the_beginning_of_long_names),
		cmocka_unit_test(test_operators_do_not_guess_mangled_names),
		cmocka_unit_test(test_operators_conditions),
		cmocka_unit_test(test_operators_bad_rules_name_their_line),
		cmocka_unit_test(test_operators_tell_variant_type_and_library),
		cmocka_unit_test(test_operators_user_rules_come_first),
		cmocka_unit_test(test_operators_survive_broken_rules),
		cmocka_unit_test(test_operators_refuse_many_aliases),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
