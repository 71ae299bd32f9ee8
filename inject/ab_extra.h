/* What goes with a comparison: one with other inputs, and pieces in float64. With the mutex. */
#ifndef KP_INJECT_AB_EXTRA_H
#define KP_INJECT_AB_EXTRA_H

#include "inject/ab_state.h"

/*
 * ab_extra.c: a comparison with other inputs, as a whole; its slot. NULL: there is none, or
 * `launch` is NULL (a call).
 */
struct kp_ab_slot *kp_ab_extra(struct kp_ab_context *context, const struct kp_ab_job *job,
			       const struct kp_ab_launch *launch, const struct kp_ab_view *view,
			       uint32_t tried);

/*
 * ab_truth.c: inputs of pieces, before the candidate; results, after the original; and what they
 * say of an output of the job.
 */
void kp_ab_truth_begin(struct kp_ab_slot *slot, uint32_t tried);
void kp_ab_truth_fetch(struct kp_ab_slot *slot);
struct kp_piece_errors kp_ab_truth_of(const struct kp_ab_slot *slot, uint32_t data);

#endif
