/* Prints comparisons: as text, and as the document kprof.diff/v1; see docs/diff.md. */
#ifndef KP_PROFILER_PRINT_DIFF_H
#define KP_PROFILER_PRINT_DIFF_H

#include <stdio.h>

#include "analyzers/diff.h"
#include "profiler/format.h"
#include "profiler/print.h"

/* One comparison as text. Errors: KP_NO_MEMORY. */
enum kp_status kp_print_diff(FILE *file, const struct kp_diff *diff, const struct kp_view *view);

/* document_diff.c: all of them, which share a base, as YAML or JSON. Errors: KP_NO_MEMORY. */
enum kp_status kp_document_diff(FILE *file, const struct kp_diff *const *diffs, size_t count,
				enum kp_format format);

#endif
