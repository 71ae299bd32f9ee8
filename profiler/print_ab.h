/* The report of an A/B run, as text and as kprof.ab/v1. */
#ifndef KP_PROFILER_PRINT_AB_H
#define KP_PROFILER_PRINT_AB_H

#include <stdio.h>

#include "analyzers/ab_rules.h"
#include "profiler/ab_judged.h"
#include "profiler/arms.h"
#include "profiler/format.h"

struct kp_ab_report {
	const struct kp_ab_rules *rules;
	const struct kp_ab_results *results;
	const struct kp_ab_judged *judged;
	enum kp_ab_mode mode;
	const char *unit;            /* the range by which phases count; NULL: by launches */
	uint32_t phase;              /* so many */
	enum kp_arms_verdict output; /* of CMD, in both arms */
};

/* By enum kp_ab_mode, ended by NULL. */
extern const char *const kp_ab_mode_names[];

/* Units a second in an arm: 0, originals; 1. NaN: phases do not count by ranges. */
double kp_ab_units_per_s(const struct kp_ab_report *view, int arm);

/* Of one of the sums of squares. NaN: nothing was computed in float64. */
double kp_ab_truth_rms(const struct kp_ab_accuracy *accuracy, double squares);

/* All of the originals that the program did not see. */
uint64_t kp_ab_replaced(const struct kp_ab_rule_result *result);

void kp_ab_print_text(FILE *file, const struct kp_ab_report *view);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_ab_print_document(FILE *file, const struct kp_ab_report *view,
				    enum kp_format format);

#endif
