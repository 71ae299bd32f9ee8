/*
 * Trying a replacement of the user's on a launch that the program has left (trace/ab_trials.h):
 * its data is copied to memory of this process on the same GPU, each piece with a guard on both
 * sides, and it runs there twice.
 *
 * For a process that is there for this alone: what is tried may crash it, hang it, or end its
 * context for good. What the GPU has is not freed.
 */
#ifndef KP_PROFILER_TRIAL_H
#define KP_PROFILER_TRIAL_H

#include "trace/ab_trials.h"

struct kp_trial {
	_Atomic uint32_t launched; /* 1: from here on, what goes wrong is the replacement's doing */
	_Atomic uint32_t fault;    /* enum kp_ab_trial_fault */
	_Atomic int32_t error;     /* CUresult, of KP_AB_TRIAL_GPU and some others; 0: none */
};

/* `path`: the file of the launch. All of *out may be seen by another process meanwhile. */
void kp_trial_run(const struct kp_ab_plan *plan, const char *path, struct kp_trial *out);

#endif
