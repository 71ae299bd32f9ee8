/*
 * The report as one HTML file: parts, and what they share. Private to html*.c and print_html.c.
 *
 * Nothing of a trace becomes markup: names go through kp_html_text, which leaves no character that
 * could end a text or an attribute. A policy in the head forbids all that could be loaded, and all
 * scripts but the one whose hash it names. Sizes are bounded: tables say what they leave out.
 */
#ifndef KP_PROFILER_HTML_H
#define KP_PROFILER_HTML_H

#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/print.h"

/* Rows of a table; what is beyond is counted below it. */
#define KP_HTML_ROWS_MOST 200
/* Operators with a colour of their own; the others share one more. */
#define KP_HTML_COLORS 7

/* Text of any origin, escaped, control characters made visible. NULL is nothing. */
void kp_html_text(FILE *file, const char *text);
/* printf of what is no markup either. */
__attribute__((format(printf, 2, 3))) void kp_html_print(FILE *file, const char *format, ...);

/* A cell with a number: what is shown, and what sorting goes by. */
void kp_html_cell(FILE *file, const char *shown, double value, bool wide);
/* A cell of a share, with a bar. */
void kp_html_share(FILE *file, double pct, bool marked);
/* The class of an operator's colour, by its place in the ranking. */
unsigned kp_html_color(size_t operator_index);

/* The lines that `print` writes for a terminal, label and words, as a list of terms; false where
 * there are none, or no memory. */
bool kp_html_lines(FILE *file, const struct kp_report *report, const struct kp_view *view,
		   const char *title, const char *id,
		   void (*print)(FILE *file, const struct kp_report *report,
				 const struct kp_view *view));

/* The beginning of a section with one table, up to the cells of its head. All is markup. */
void kp_html_table(FILE *file, const char *id, const char *title, const char *about);

/* Whole sections; nothing where there is nothing to show. */
void kp_html_operators(FILE *file, const struct kp_report *report);
void kp_html_kernels(FILE *file, const struct kp_report *report);
void kp_html_memops(FILE *file, const struct kp_report *report);
void kp_html_ranks(FILE *file, const struct kp_report *report);
void kp_html_overview(FILE *file, const struct kp_report *report);
void kp_html_findings(FILE *file, const struct kp_report *report);
void kp_html_fusion(FILE *file, const struct kp_report *report);
void kp_html_plan(FILE *file, const struct kp_report *report);

#endif
