/* Findings in the text report and in the document kprof.report/v1. */
#ifndef KP_PROFILER_FINDINGS_H
#define KP_PROFILER_FINDINGS_H

#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/emit.h"
#include "profiler/print.h"

/* The first ones in a line or two each; or, where the view asks for it, all with their evidence,
 * and what was held back. Nothing where there are none. */
void kp_print_findings(FILE *file, const struct kp_report *report, const struct kp_view *view);
/* «saves at most 17.4 % of the span, likely 14.9 %»; empty where it saves nothing. */
void kp_finding_win_words(const struct kp_win *win, char *out, size_t size);
/* The members «findings» and «findings_held» of the open map. */
void kp_document_findings(struct kp_emit *emit, const struct kp_report *report);

#endif
