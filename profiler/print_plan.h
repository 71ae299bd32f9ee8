/* A plan in each of its formats. Trouble with the file is left to its owner (ferror). */
#ifndef KP_PROFILER_PRINT_PLAN_H
#define KP_PROFILER_PRINT_PLAN_H

#include <stdio.h>

#include "analyzers/plan.h"
#include "profiler/format.h"
#include "profiler/print.h"

/* What is printed; all borrowed. */
struct kp_plan_view {
	const struct kp_report *report;
	const struct kp_plan_inputs *inputs;
	const struct kp_plan *plan;
	const char *currency; /* NULL: not said */
	struct kp_view view;
};

void kp_plan_print_text(FILE *file, const struct kp_plan_view *view);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_plan_print_markdown(FILE *file, const struct kp_plan_view *view);
/* kprof.plan/v1, as YAML or JSON. Errors: KP_NO_MEMORY. */
enum kp_status kp_plan_print_document(FILE *file, const struct kp_plan_view *view,
				      enum kp_format format);

#endif
