/* Both storage types of a Hopper version; included with HOPPER_VERSION and the sizes that
 * attention_hopper_body.cuh names. GPUs of another kind get kernels that do nothing, and that
 * nobody launches. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#define HOPPER_TYPE __nv_bfloat16
#define HOPPER_TEXT "bf16"
#define HOPPER_NAME PREFILL_SYMBOL(hopper_, HOPPER_VERSION, of_bf16)
#define HOPPER_SYMBOL PREFILL_SYMBOL(hopper_, HOPPER_VERSION, bf16)
#include "kernels/attention_hopper_body.cuh"
#undef HOPPER_TYPE
#undef HOPPER_TEXT
#undef HOPPER_NAME
#undef HOPPER_SYMBOL

#define HOPPER_TYPE __half
#define HOPPER_TEXT "f16"
#define HOPPER_NAME PREFILL_SYMBOL(hopper_, HOPPER_VERSION, of_fp16)
#define HOPPER_SYMBOL PREFILL_SYMBOL(hopper_, HOPPER_VERSION, fp16)
#include "kernels/attention_hopper_body.cuh"
#undef HOPPER_TYPE
#undef HOPPER_TEXT
#undef HOPPER_NAME
#undef HOPPER_SYMBOL

#else

extern "C" __global__ void PREFILL_SYMBOL(hopper_, HOPPER_VERSION,
					  bf16)(const __grid_constant__ struct kp_attention_call)
{
}
extern "C" __global__ void PREFILL_SYMBOL(hopper_, HOPPER_VERSION,
					  fp16)(const __grid_constant__ struct kp_attention_call)
{
}

#endif

#undef HOPPER_VERSION
#undef HOPPER_DIM
#undef HOPPER_DIM_HALF
#undef HOPPER_KEYS
#undef HOPPER_KEYS_HALF
#undef HOPPER_GROUPS
#undef HOPPER_Q_STAGES
#undef HOPPER_CROSS
