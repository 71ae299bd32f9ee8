/* Assumptions of a plan that the user edits, and the plan that follows from them. */
#ifndef KP_TUI_PLAN_EDIT_H
#define KP_TUI_PLAN_EDIT_H

#include "analyzers/plan.h"
#include "analyzers/report.h"

#define KP_PLAN_EDIT_WISHES 32 /* operators with a target */

struct kp_plan_edit {
	struct kp_plan_inputs inputs;
	struct kp_plan_wish wishes[KP_PLAN_EDIT_WISHES];
	char names[KP_PLAN_EDIT_WISHES][64];
	struct kp_plan *plan; /* NULL: there is none, for the reason in `error` */
	char error[KP_PLAN_ERROR_BYTES];
	bool made; /* or tried, from the report as it is */
};

enum kp_status kp_plan_edit_init(struct kp_plan_edit *edit);
void kp_plan_edit_fini(struct kp_plan_edit *edit);
/* Another report is there: the plan follows from it next time. */
void kp_plan_edit_reset(struct kp_plan_edit *edit);
/* Makes the plan where it is not made. Errors: KP_NO_MEMORY. */
enum kp_status kp_plan_edit_make(struct kp_plan_edit *edit, const struct kp_report *report);
/* The target of an operator; 0: none. False: there are too many. */
bool kp_plan_edit_target(struct kp_plan_edit *edit, const char *name, double target);
double kp_plan_edit_target_of(const struct kp_plan_edit *edit, const char *name);

#endif
