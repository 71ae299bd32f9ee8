/* The ranks of a distributed job, for people and for programs; nothing where there are no two. */
#ifndef KP_PROFILER_PRINT_RANKS_H
#define KP_PROFILER_PRINT_RANKS_H

#include "profiler/emit.h"
#include "profiler/print.h"

/* The sentence about them, and the table. */
void kp_print_ranks(FILE *file, const struct kp_report *report, const struct kp_view *view);
/* What the sentence says; empty where there are no two ranks. */
void kp_ranks_words(const struct kp_report_ranks *ranks, char *out, size_t size);
/* «3», or as far as it can be shown. */
void kp_ranks_name(const struct kp_rank_row *row, char *out, size_t size);
/* The member «ranks» of the open map: null where there are no two. */
void kp_document_ranks(struct kp_emit *emit, const struct kp_report *report);

#endif
