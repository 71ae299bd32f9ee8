/* Both storage types of a version for any GPU; included with GENERAL_DIM
 * (attention_general_body.cuh explains). */
#define GENERAL_TYPE __nv_bfloat16
#define GENERAL_NAME PREFILL_SYMBOL(any_, GENERAL_DIM, of_bf16)
#define GENERAL_SYMBOL PREFILL_SYMBOL(any_, GENERAL_DIM, bf16)
#include "kernels/attention_general_body.cuh"
#undef GENERAL_TYPE
#undef GENERAL_NAME
#undef GENERAL_SYMBOL

#define GENERAL_TYPE __half
#define GENERAL_NAME PREFILL_SYMBOL(any_, GENERAL_DIM, of_fp16)
#define GENERAL_SYMBOL PREFILL_SYMBOL(any_, GENERAL_DIM, fp16)
#include "kernels/attention_general_body.cuh"
#undef GENERAL_TYPE
#undef GENERAL_NAME
#undef GENERAL_SYMBOL
#undef GENERAL_DIM
