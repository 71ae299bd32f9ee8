/*
 * Rules of A/B as kprof top shows them: what each process's board says of them
 * (trace/board_rules.h), added up by name, and what launching was like before a rule was last
 * switched and since.
 *
 * Before and since are complete seconds, ten at most, without the one in which it was switched.
 * Launches that a rule fits come whether or not they are replaced: how many of them there are in a
 * second says how fast the program is, and the time of all kernels over these, how much work each
 * stands for. What was before is kept where the boards' history does not reach back any more. Pure
 * but for that; not thread-safe.
 */
#ifndef KP_TUI_TOP_RULES_H
#define KP_TUI_TOP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/board_rules.h"
#include "trace/status.h"
#include "tui/top.h"

#define KP_TOP_STRETCH_S 10

/* What came a second, in some seconds. */
struct kp_top_stretch {
	double seconds; /* the longest of any process; 0: nothing is known */
	double fitted_per_s, replaced_per_s, kernels_per_s;
	double kernel_ns_per_s; /* summed over streams and GPUs */
	double units_per_s;     /* of the range that was named; 0 without */
};

struct kp_top_rule {
	char name[KP_BOARD_RULE_NAME_BYTES];
	uint32_t processes; /* that have it; and in how many of them it is */
	uint32_t off, wrong, shadow;
	uint64_t seen, fitted, replaced, compared;
	uint64_t switched_ns; /* the last time in any; 0: never */
	/* Before: unknown where it was never switched, or one that runs now did not run then. */
	struct kp_top_stretch before, since;
	bool incomparable;              /* that is so */
	double history[KP_TOP_HISTORY]; /* launches that it fits, in each second */
};

/* Fills top->rules. Errors: KP_NO_MEMORY. */
enum kp_status kp_top_find_rules(struct kp_top *top);
void kp_top_rules_fini(struct kp_top *top);
/* By how many percent `since` is above `before`; NaN: either is unknown, or 0. */
double kp_top_change_pct(double before, double since);
/* The time of all kernels for each launch that the rule fits; NaN: unknown. */
double kp_top_each_ns(const struct kp_top_stretch *stretch);

#endif
