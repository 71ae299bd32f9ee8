/* The parts of the text report about a timeline; see kp_print_timeline of print.h. */
#ifndef KP_PROFILER_PRINT_TIMELINE_H
#define KP_PROFILER_PRINT_TIMELINE_H

#include "profiler/humanise.h"
#include "profiler/print.h"

/* Of a cause: its key in YAML and CSV, and words for people. */
extern const char *const kp_gap_keys[KP_GAP_CAUSE_COUNT];
extern const char *const kp_gap_words[KP_GAP_CAUSE_COUNT];

/* A cell of such a table and a space: right-aligned by columns, not by bytes. */
void kp_print_cell(FILE *file, struct kp_human value, size_t width);
/* In detail. */
void kp_print_gaps(FILE *file, const struct kp_report *report, const struct kp_view *view);
void kp_print_iterations(FILE *file, const struct kp_report *report, const struct kp_view *view);

#endif
