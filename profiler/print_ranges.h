/* NVTX ranges and what they own: as a table of the text report, as CSV, and in the document. */
#ifndef KP_PROFILER_PRINT_RANGES_H
#define KP_PROFILER_PRINT_RANGES_H

#include "profiler/emit.h"
#include "profiler/print.h"

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_print_ranges(FILE *file, const struct kp_report *report,
			       const struct kp_view *view);
enum kp_status kp_print_ranges_csv(FILE *file, const struct kp_report *report);
/* A member of the report's open map; null where the trace has no ranges. */
void kp_document_ranges(struct kp_emit *emit, const struct kp_report *report);

#endif
