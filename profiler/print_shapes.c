/*
 * Shapes as a part of the text report: of each operator, or kernel with --by kernel, how stable
 * they are, and those with most time. See shapes.h.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/humanise.h"
#include "profiler/print_timeline.h"
#include "profiler/shapes.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define DIGITS 3
/* The text shows so many shapes of a row at most; YAML has more. */
#define SHOWN_MOST 8
#define INDENT 2
#define LEAST_NAME 16 /* columns of a name */
#define NAME_AT (INDENT + 7 + 9 + 9)

static struct kp_human flops_of(double flops)
{
	static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
	struct kp_human out;
	size_t unit = 0;

	while (flops >= 1000 && unit + 1 < sizeof units / sizeof *units) {
		flops /= 1000;
		unit++;
	}
	snprintf(out.text, sizeof out.text, "%.*f%s",
		 flops < 10    ? 2
		 : flops < 100 ? 1
			       : 0,
		 flops, units[unit]);
	return out;
}

static struct kp_human bytes_of(double bytes)
{
	return kp_human_bytes(bytes < 1e19 ? (uint64_t)bytes : UINT64_MAX, DIGITS);
}

/* What a call is at least, and what was moved. */
static void print_work(FILE *file, const struct kp_shape *shape, const struct kp_view *view)
{
	char text[256];
	int length;

	if (!isfinite(shape->work.least_bytes))
		return;
	length = snprintf(text, sizeof text, "modelled: %s, at least %s a call",
			  flops_of(shape->work.flops).text, bytes_of(shape->work.least_bytes).text);
	if (isfinite(shape->waste) && length > 0 && (size_t)length < sizeof text)
		snprintf(text + length, sizeof text - (size_t)length, "; %s: %s, %.2f times that",
			 kp_traffic_source_name(shape->use.bytes_source),
			 bytes_of(shape->bytes_per_call).text, shape->waste);
	fprintf(file, "%*s", NAME_AT, "");
	kp_text_wrap(file, text, NAME_AT, NAME_AT, view->width);
}

/* What a shape is, and, where there is room, the kernel's name; an empty one is not asked for. */
static void print_described(FILE *file, const char *described, const char *name,
			    const struct kp_view *view)
{
	size_t end = NAME_AT + strlen(described);

	if (!*name || end + 2 + LEAST_NAME > view->width) {
		kp_text_wrap(file, described, NAME_AT, NAME_AT, view->width);
		return;
	}
	fprintf(file, "%s  ", described);
	kp_text_fit(file, name, view->width - end - 2);
	fputc('\n', file);
}

static void print_shape(FILE *file, const struct kp_report *report, const struct kp_shape *shape,
			bool with_kernel, const struct kp_view *view)
{
	struct kp_human launches;
	char described[160];

	snprintf(launches.text, sizeof launches.text, "%" PRIu64, shape->use.launches);
	fprintf(file, "%*s", INDENT, "");
	kp_print_cell(file, kp_human_percent(shape->share_pct), 6);
	kp_print_cell(file, kp_human_duration((double)shape->use.total_ns, DIGITS), 8);
	kp_print_cell(file, launches, 8);
	kp_shapes_describe(described, sizeof described, shape);
	print_described(file, described,
			with_kernel ? report->kernels[shape->kernel].shortened : "", view);
	print_work(file, shape, view);
}

static void print_rest(FILE *file, const struct kp_stability *stability, size_t shown)
{
	double listed_pct = 0;

	if (stability->count <= shown)
		return;
	for (size_t i = 0; i < shown; i++)
		listed_pct += stability->shapes[i].share_pct;
	fprintf(file, "%*s", INDENT, "");
	kp_print_cell(file, kp_human_percent(fmax(100 - listed_pct, 0)), 6);
	fprintf(file, "%*sand %" PRIu64 " more\n", 18, "", stability->count - shown);
}

static void print_row(FILE *file, const struct kp_report *report, const char *name,
		      double kernel_pct, const struct kp_stability *stability, bool with_kernel,
		      const struct kp_view *view)
{
	size_t most = view->top && view->top < SHOWN_MOST ? (size_t)view->top : SHOWN_MOST;
	size_t shown = stability->shape_count < most ? stability->shape_count : most;

	char verdict[96];

	snprintf(verdict, sizeof verdict, " (%s of kernel time): %s",
		 kp_human_percent(kernel_pct).text, kp_shapes_verdict_name(stability->verdict));
	fputc('\n', file);
	kp_style_begin(file, view->colors, KP_STYLE_STRONG);
	size_t taken = kp_text_columns(verdict);
	kp_text_fit(file, name,
		    view->width > taken + LEAST_NAME ? view->width - taken : LEAST_NAME);
	kp_style_end(file, view->colors, KP_STYLE_STRONG);
	fprintf(file, "%s\n", verdict);
	fprintf(file, "%*s", INDENT, "");
	kp_text_wrap(file, stability->reason, INDENT, INDENT, view->width);
	for (size_t i = 0; i < shown; i++)
		print_shape(file, report, &stability->shapes[i], with_kernel, view);
	print_rest(file, stability, shown);
}

static void print_kernel(FILE *file, const struct kp_report *report,
			 const struct kp_kernel_row *row, const struct kp_view *view)
{
	print_row(file, report, row->shortened, row->shares.kernel_pct, row->stability, false,
		  view);
}

static void print_operator(FILE *file, const struct kp_report *report,
			   const struct kp_operator_row *row, const struct kp_view *view)
{
	print_row(file, report, row->name, row->shares.kernel_pct, row->stability, true, view);
}

/* How much of what libraries launched is known. */
static void print_calls(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_library_account *library = &report->library;
	char text[256];

	if (!report->library_any)
		return;
	snprintf(
		text, sizeof text,
		"Library calls and parameters: %s of %s launches whose sizes are known are tied to "
		"their kernels, and %s kernels of graphs; FLOPs and bytes are modelled from sizes.",
		kp_human_count(library->launches_tied).text, kp_human_count(library->launches).text,
		kp_human_count(library->graph_launches).text);
	kp_text_wrap(file, text, 0, 0, view->width);
}

void kp_print_shapes(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	bool kernels = view->by == KP_BY_KERNEL;
	size_t count = kernels ? report->kernel_count : report->operator_count;
	size_t shown = view->top && view->top < count ? (size_t)view->top : count;

	if (count == 0)
		return;
	fputc('\n', file);
	kp_style_begin(file, view->colors, KP_STYLE_TITLE);
	fputs("Shapes: are they fixed enough to specialise?", file);
	kp_style_end(file, view->colors, KP_STYLE_TITLE);
	fputc('\n', file);
	for (size_t i = 0; i < shown; i++) {
		if (kernels)
			print_kernel(file, report, &report->kernels[report->kernels_by_time[i]],
				     view);
		else
			print_operator(file, report, &report->operators[i], view);
	}
	if (shown < count)
		fprintf(file, "\nand %zu more %s\n", count - shown,
			kernels ? "kernels" : "operators");
	fputc('\n', file);
	kp_text_wrap(
		file,
		"Share and time are of the operator or kernel above; then launches, and the "
		"shape. A grid is how the work was cut: sizes are known of library calls, and of "
		"kernels whose parameters are known.",
		0, 0, view->width);
	print_calls(file, report, view);
}
