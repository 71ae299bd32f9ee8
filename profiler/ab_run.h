/*
 * What programs under A/B need: rules, as the user named them, and a folder for this run alone with
 * their plan, a file for results, and the counts. kprof ab and kprof top --rules. Not thread-safe.
 */
#ifndef KP_PROFILER_AB_RUN_H
#define KP_PROFILER_AB_RUN_H

#include <limits.h>
#include <stdbool.h>

#include "analyzers/ab_rules.h"
#include "profiler/settings.h"
#include "profiler/trier.h"

struct kp_ab_run {
	const struct kp_settings *settings; /* its ab_* */
	struct kp_ab_rules *rules;
	char folder[PATH_MAX]; /* empty: there is none */
	char plan[PATH_MAX + 16], raw[PATH_MAX + 16];
	struct kp_trier trier; /* while the programs run */
};

/* Launches of a phase, or ranges; 0: there are no phases. */
uint32_t kp_ab_run_phase(const struct kp_settings *settings);

/* Reads the rules. False, said: what is wrong with them. kp_ab_run_end in either case. */
bool kp_ab_run_read(struct kp_ab_run *run, const struct kp_settings *settings);
/* Makes the folder and its files, and starts what tries replacements. False: said. */
bool kp_ab_run_prepare(struct kp_ab_run *run);
/* Programs that are started from here on have the rules. False: said. */
bool kp_ab_run_export(const struct kp_ab_run *run);
/* After the programs have ended: says which rules were taken back, a line each. */
void kp_ab_run_tell_wrong(const struct kp_ab_run *run);
/* Removes all of it. */
void kp_ab_run_end(struct kp_ab_run *run);

#endif
