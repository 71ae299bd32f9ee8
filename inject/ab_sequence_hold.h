/* Copies of launches, and launching them. Private to inject/ab_sequence*.c; with the lock,
 * but for copying. */
#ifndef KP_INJECT_AB_SEQUENCE_HOLD_H
#define KP_INJECT_AB_SEQUENCE_HOLD_H

#include "inject/ab.h"
#include "inject/ab_sequence_match.h"

/*
 * Copies one that is sure to be launched later as it would be now. False: it may not be. Without
 * the lock: the program's pointers may be no good, and its handler of that fault may jump out.
 */
bool kp_ab_held_copy(const struct kp_ab_launch *launch, const struct kp_ab_layout *layout,
		     uint64_t members, struct kp_ab_held *out);
/* Such a copy, to where it is held. */
void kp_ab_held_move(const struct kp_ab_held *from, struct kp_ab_held *to);
/* The context that is current, if the stream is its own, and no thread's; NULL: it is not. */
CUcontext kp_ab_held_context(CUstream stream);
/* Launches them in order, up to one that fails: its result. In their context. */
CUresult kp_ab_held_launch(const struct kp_ab_held *held, uint32_t count, CUcontext context,
			   CUstream stream);
/* Makes a context current, if it is not. False: it cannot be. Then back. */
bool kp_ab_held_enter(CUcontext context, bool *pushed);
void kp_ab_held_leave(bool pushed);

#endif
