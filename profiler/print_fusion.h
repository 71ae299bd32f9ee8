/* Fusion candidates (analyzers/fusion.h) in the text report, as CSV, and in its document. */
#ifndef KP_PROFILER_PRINT_FUSION_H
#define KP_PROFILER_PRINT_FUSION_H

#include "profiler/emit.h"
#include "profiler/print.h"

/* One line where there is something to win; all candidates where the view asks for them. */
void kp_print_fusion(FILE *file, const struct kp_report *report, const struct kp_view *view);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_print_fusion_csv(FILE *file, const struct kp_report *report);
void kp_document_fusion(struct kp_emit *emit, const struct kp_report *report);

#endif
