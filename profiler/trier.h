/*
 * The process that answers what an A/B run asks to be tried (trace/ab_trials.h): it has no CUDA of
 * its own, and gives each trial a process, with a limit of time.
 *
 * It lives as long as kprof waits for the program, and ends with kprof whatever ends that.
 */
#ifndef KP_PROFILER_TRIER_H
#define KP_PROFILER_TRIER_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/ab_trials.h"

struct kp_trier {
	pid_t pid; /* 0: there is none */
};

/*
 * Makes the file of trials beside the plan, and starts the process. Answers are added to `results`
 * as lines (trace/ab_results.h). False: said why. Before kprof has threads.
 */
bool kp_trier_start(struct kp_trier *trier, const char *plan, const char *results, double limit_s);
/* Ends it, and what is being tried; removes all files. Once more does no harm. */
void kp_trier_stop(struct kp_trier *trier, const char *plan);

const char *kp_trial_fault_key(enum kp_ab_trial_fault fault);
/* The fault of that key; KP_AB_TRIAL_FAULT_COUNT: there is none. */
enum kp_ab_trial_fault kp_trial_fault_of(const char *key);
const char *kp_trial_fault_words(enum kp_ab_trial_fault fault);
/* Whether it says that the replacement is wrong, not that it could not be tried. */
bool kp_trial_fault_is_wrong(enum kp_ab_trial_fault fault);

#endif
