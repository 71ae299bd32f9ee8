/* First exposure of the user's replacements in another process; see trace/ab_trials.h. */
#ifndef KP_INJECT_AB_TRIAL_H
#define KP_INJECT_AB_TRIAL_H

#include "inject/ab_state.h"

/* Where trials are asked for, by the path of the plan. */
void kp_ab_trials_open(const char *plan);
/*
 * KP_AB_REASON_COUNT: a replacement may run in the program; else why not. What was not tried yet is
 * copied, for a process that tries it.
 */
enum kp_ab_reason kp_ab_trial_passed(struct kp_ab_variant *variant, struct kp_ab_context *context,
				     const struct kp_ab_job *job);
/* Asks for what was copied. Worker only, without the mutex. */
void kp_ab_trials_work(void);
void kp_ab_trials_forget(void);

#endif
