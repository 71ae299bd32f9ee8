/* What the readers of layouts share: torch_decode.c has the elementwise, torch_decode_rows.c the
 * others. */
#ifndef KP_ANALYZERS_TORCH_DECODE_H
#define KP_ANALYZERS_TORCH_DECODE_H

#include "analyzers/torch_launch.h"

/* Little-endian numbers at an offset, aligned or not. */
uint32_t kp_torch_load32(const void *from, size_t offset);
uint64_t kp_torch_load64(const void *from, size_t offset);

/*
 * An OffsetCalculator's dimensions, as those from `first` on of `count` tensors. False: too many,
 * or not one.
 */
bool kp_torch_decode_calculator(const void *from, size_t offset, uint8_t first,
				struct kp_torch_tensor *const *tensors, uint8_t count);

/* Reductions, softmax, norms, CAT and GATHER. `out` has the kernel's operation. */
bool kp_torch_decode_rows(const struct kp_torch_kind *kind, const void *const *params,
			  const uint32_t *grid, struct kp_torch_launch *out);

#endif
