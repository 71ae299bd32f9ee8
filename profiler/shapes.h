/* Shapes of kernels and operators in reports: as keys of YAML and JSON, as CSV, and in words. */
#ifndef KP_PROFILER_SHAPES_H
#define KP_PROFILER_SHAPES_H

#include "analyzers/report.h"
#include "profiler/emit.h"
#include "profiler/print.h"

/* The member «stability»: of an operator, or (report NULL) of a kernel, without its shapes. */
void kp_shapes_emit(struct kp_emit *emit, const struct kp_report *report,
		    const struct kp_stability *stability);
/* The member «library_calls» of a report: calls whose shapes are known; null without any. */
void kp_shapes_emit_calls(struct kp_emit *emit, const struct kp_report *report);
/* All listed shapes, of operators or (by kernel) of kernels. Errors: KP_NO_MEMORY. */
enum kp_status kp_print_shapes_csv(FILE *file, const struct kp_report *report,
				   const struct kp_view *view);
/* The part of the text report. */
void kp_print_shapes(FILE *file, const struct kp_report *report, const struct kp_view *view);
/* "grid 4x8x1, block 128", or "m 2048, n 4, k 2048, bf16 -> bf16, TN". */
void kp_shapes_describe(char *out, size_t size, const struct kp_shape *shape);

#endif
