/* From the arguments of attention_prefill to a launch. Pure but for `encode`. Not installed. */
#ifndef KP_KERNELS_ATTENTION_PREPARE_H
#define KP_KERNELS_ATTENTION_PREPARE_H

#include "kernels/attention_call.h"
#include "kernels/attention_prefill.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `encode` NULL: no version with the copy engine is chosen. Errors: KP_INVALID (see _supports),
 * KP_IO (a map cannot be made).
 */
enum kp_status kp_attention_prefill_prepare(const struct kp_attention_prefill_args *args,
					    const struct kp_kernel_device *device,
					    kp_encode_map encode, struct kp_kernel_plan *plan,
					    struct kp_attention_call *call);

/* Dynamic shared memory that a kernel needs at most; 0 for those of other operators. */
uint32_t kp_attention_prefill_shared_bytes(enum kp_kernel_id kernel);

#ifdef __cplusplus
}
#endif

#endif
