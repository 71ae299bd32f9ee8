/* Data flow between launches in order; for torch_sequence.c and torch_rope.c. Pure. */
#ifndef KP_ANALYZERS_TORCH_FLOW_H
#define KP_ANALYZERS_TORCH_FLOW_H

#include "analyzers/torch_sequence.h"

/* Whether launch `reader` finds in its tensor `input` exactly what `writer`'s first output is. */
bool kp_torch_flow_feeds(const struct kp_torch_launch *launches, size_t writer, size_t reader,
			 uint8_t input);

/* Whether no launch before `reader` writes any of its tensor `input`. */
bool kp_torch_flow_is_outside(const struct kp_torch_launch *launches, size_t reader, uint8_t input);

/* Whether a launch computes in the type of what it reads; a cast, of what it reads or writes. */
bool kp_torch_flow_has_own_type(const struct kp_torch_launch *launch);

/* Sets what a whole sequence is known by beside its operands, which are set. */
void kp_torch_flow_finish(const struct kp_torch_launch *launches, size_t count,
			  struct kp_torch_sequence *sequence);

/* Rotary embeddings. */
enum kp_torch_match kp_torch_rope_match(const struct kp_torch_launch *launches, size_t count,
					struct kp_torch_sequence *out);

#endif
