/*
 * The options of kprof plan: what the command line said, and what a plan takes of it.
 *
 * Lists are NAME=VALUE, separated by commas: «attention=3x,gemm=1.2x».
 */
#ifndef KP_PROFILER_PLAN_OPTIONS_H
#define KP_PROFILER_PLAN_OPTIONS_H

#include <stdbool.h>

#include "analyzers/plan.h"

/* As given; NULL and 0: not given. */
struct kp_plan_settings {
	const char *targets, *whole_targets, *shares, *fewer_bytes, *fewer_launches,
		*engineer_weeks;
	const char *ab; /* file of a report of kprof ab */
	double engineer_week;
	double realistic_pct;
	double gpus, gpu_price, gpu_hour, hours_per_year, gpu_watts, kwh_price;
	double requests_per_s, tokens_per_s;
	const char *unit_range;
	int unit; /* enum kp_plan_unit */
	double units_per_range;
	const char *currency;
};

extern const char *const kp_plan_unit_names[KP_PLAN_UNIT_COUNT + 1];

/* Fills `inputs`, which borrows from `settings`; false after saying why. kp_plan_options_free ends
 * it in either case. */
bool kp_plan_options(const struct kp_plan_settings *settings, struct kp_plan_inputs *inputs);
void kp_plan_options_free(struct kp_plan_inputs *inputs);

#endif
