/* Prints a report in the format that is asked for. */
#ifndef KP_PROFILER_PRINT_H
#define KP_PROFILER_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/format.h"
#include "profiler/settings.h"
#include "profiler/style.h"

/* What the text shows, and how. The other formats hold everything. */
struct kp_view {
	enum kp_by by;
	enum kp_names names;
	bool shares;
	bool gaps, iterations; /* in detail */
	bool fusion;           /* list candidates */
	bool findings;         /* all, with their evidence */
	bool shapes;           /* likewise */
	bool roofline;         /* draw it, below the ranking */
	uint64_t top;          /* rows at each level; 0: all */
	size_t width;          /* columns */
	bool colors;
};

/* The view that the settings ask for, on `file`. */
struct kp_view kp_view_of(const struct kp_settings *settings, FILE *file);
/* The analysis that a format and the settings need. */
struct kp_report_options kp_view_analysis(const struct kp_settings *settings,
					  enum kp_format format);

/* Errors: KP_NO_MEMORY. Trouble with the file is left to its owner (ferror). */
enum kp_status kp_print_report(FILE *file, const struct kp_report *report, enum kp_format format,
			       const struct kp_view *view);
enum kp_status kp_print_text(FILE *file, const struct kp_report *report,
			     const struct kp_view *view);
enum kp_status kp_print_markdown(FILE *file, const struct kp_report *report,
				 const struct kp_view *view);
/* The lines of the header, as a block of code. */
enum kp_status kp_print_markdown_header(FILE *file, const struct kp_report *report,
					const struct kp_view *view);
/* One file that needs no other. */
enum kp_status kp_print_html(FILE *file, const struct kp_report *report,
			     const struct kp_view *view);
enum kp_status kp_print_csv(FILE *file, const struct kp_report *report);
/*
 * When the GPUs ran and waited: in short where that says something, in detail where the view asks
 * for it; and the same as CSV.
 */
void kp_print_timeline(FILE *file, const struct kp_report *report, const struct kp_view *view);
void kp_print_gaps_csv(FILE *file, const struct kp_report *report);
enum kp_status kp_print_iterations_csv(FILE *file, const struct kp_report *report);

/* Columns that labels take. */
#define KP_PRINT_LABEL 11
/* One line of the header or behind the table, wrapped behind its label. */
__attribute__((format(printf, 5, 6))) void kp_print_line(FILE *file, const struct kp_view *view,
							 enum kp_style style, const char *label,
							 const char *format, ...);
/* The lines above the table: what ran, on what, for how long, and what is missing. */
void kp_print_header(FILE *file, const struct kp_report *report, const struct kp_view *view);

#endif
