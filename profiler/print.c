/* Prints a report in the format that is asked for; see print.h. */
#include "profiler/print.h"

#include <stdarg.h>
#include <string.h>

#include "profiler/document.h"
#include "profiler/print_fusion.h"
#include "profiler/print_processes.h"
#include "profiler/print_ranges.h"
#include "profiler/roofline.h"
#include "profiler/shapes.h"
#include "profiler/text.h"

void kp_print_line(FILE *file, const struct kp_view *view, enum kp_style style, const char *label,
		   const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	kp_style_begin(file, view->colors, style);
	fprintf(file, "%-*s", KP_PRINT_LABEL, label);
	kp_text_wrap(file, text, KP_PRINT_LABEL, KP_PRINT_LABEL, view->width);
	kp_style_end(file, view->colors, style);
}

struct kp_view kp_view_of(const struct kp_settings *settings, FILE *file)
{
	return (struct kp_view){
		.by = (enum kp_by)settings->by,
		.names = (enum kp_names)settings->names,
		.shares = settings->shares,
		.roofline = settings->roofline,
		.findings = settings->findings,
		.gaps = settings->gaps,
		.fusion = settings->fusion,
		.shapes = settings->shapes,
		.iterations = settings->iterations != NULL,
		.top = settings->top,
		.width = kp_style_width(file),
		.colors = kp_style_colors(file, (enum kp_color)settings->color),
	};
}

struct kp_report_options kp_view_analysis(const struct kp_settings *settings, enum kp_format format)
{
	bool range = settings->iterations && strcmp(settings->iterations, "auto") != 0;
	/* Tables that hold one part of a report alone, and pictures; rules may ask for any. */
	bool part =
		(format == KP_FORMAT_CSV || format == KP_FORMAT_SVG) && !settings->fail_on.count;

	return (struct kp_report_options){
		.threshold_pct = settings->threshold_pct,
		.busy_shares = settings->shares || format != KP_FORMAT_TEXT,
		.timeline = true,
		.overview = format == KP_FORMAT_HTML,
		.ranges = !part || settings->by == KP_BY_RANGE,
		.no_iterations = part && !settings->iterations,
		.no_fusion = part && !settings->fusion,
		.findings = {settings->min_gain_pct, settings->silenced},
		.iterations = range ? settings->iterations : NULL,
		.process_times = settings->by == KP_BY_PROCESS || format != KP_FORMAT_TEXT,
	};
}

enum kp_status kp_print_report(FILE *file, const struct kp_report *report, enum kp_format format,
			       const struct kp_view *view)
{
	switch (format) {
	case KP_FORMAT_YAML:
	case KP_FORMAT_JSON:
		return kp_document_report(file, report, format);
	case KP_FORMAT_MARKDOWN:
		return kp_print_markdown(file, report, view);
	case KP_FORMAT_CSV:
		if (view->iterations)
			return kp_print_iterations_csv(file, report);
		if (view->fusion)
			return kp_print_fusion_csv(file, report);
		if (view->shapes)
			return kp_print_shapes_csv(file, report, view);
		if (view->gaps)
			return kp_print_gaps_csv(file, report), KP_OK;
		if (view->by == KP_BY_RANGE)
			return kp_print_ranges_csv(file, report);
		return view->by == KP_BY_PROCESS ? kp_print_processes_csv(file, report)
						 : kp_print_csv(file, report);
	case KP_FORMAT_SVG:
		return kp_print_svg(file, report);
	case KP_FORMAT_HTML:
		return kp_print_html(file, report, view);
	case KP_FORMAT_TEXT:
	case KP_FORMAT_COUNT:
		break;
	}
	return kp_print_text(file, report, view);
}
