/* What the files of a plan share: private to plan*.c. */
#ifndef KP_ANALYZERS_PLAN_PARTS_H
#define KP_ANALYZERS_PLAN_PARTS_H

#include "analyzers/plan.h"
#include "trace/arena.h"

#define KP_PLAN_SENTENCES_MAX 16

/* A list of sentences in the making. Zeroed but for the arena: none. */
struct kp_plan_sentences {
	struct kp_arena *arena;
	const char *items[KP_PLAN_SENTENCES_MAX];
	size_t count;
	bool failed; /* no memory */
};

struct kp_plan_build {
	const struct kp_report *report;
	const struct kp_plan_inputs *inputs;
	struct kp_plan *plan;
	char *error;       /* KP_PLAN_ERROR_BYTES */
	double share_left; /* of the trace's share, for operators whose share is not given */
};

#define KP_PLAN_TRIALS "autotuning" /* the operator of what compilers try; see plan.c */

/* plan.c: what is said of an operator; NULL: nothing. The operator of a name; NULL: none. */
const struct kp_plan_wish *kp_plan_wish_of(const struct kp_plan_inputs *inputs, const char *name);
const struct kp_operator_row *kp_plan_operator(const struct kp_report *report, const char *name);

/* Says why, and returns KP_INVALID. */
__attribute__((format(printf, 2, 3))) enum kp_status kp_plan_refuse(struct kp_plan_build *build,
								    const char *format, ...);

/* plan_limits.c: what no launch is shorter than; limit and ceiling of a card. */
double kp_plan_launch_ns(const struct kp_report *report);
void kp_plan_limit(const struct kp_plan_build *build, struct kp_plan_card *card);

/* plan_check.c: inputs that cannot be, and traces that hold nothing; a card's target against what
 * is possible, before its goal is used; shares, and what they leave. Errors: KP_INVALID. */
enum kp_status kp_plan_check_inputs(struct kp_plan_build *build);
enum kp_status kp_plan_check_target(struct kp_plan_build *build, const struct kp_plan_card *card,
				    const struct kp_plan_wish *wish);
enum kp_status kp_plan_check_shares(struct kp_plan_build *build);

/* plan_notes.c: sentences on a card, and what the plan assumes. Errors: KP_NO_MEMORY. */
enum kp_status kp_plan_note(const struct kp_plan_build *build, struct kp_plan_card *card);
enum kp_status kp_plan_assume(const struct kp_plan_build *build);

#endif
