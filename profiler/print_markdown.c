/*
 * The report as Markdown, for a ticket; see print.h. The lines about the run, its losses and its
 * timeline are those of the text, as blocks of code; the ranking and what follows from it are
 * tables and lists.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/findings.h"
#include "profiler/humanise.h"
#include "profiler/markdown.h"
#include "profiler/print.h"

#define DIGITS 3
#define NAME_COLUMNS 80
#define WIDTH 100

/* What `print` writes, as a block below a heading; nothing where that is nothing. Errors:
 * KP_NO_MEMORY. */
static enum kp_status block(FILE *file, const char *heading, const struct kp_report *report,
			    const struct kp_view *view,
			    void (*print)(FILE *file, const struct kp_report *report,
					  const struct kp_view *view))
{
	struct kp_view plain = *view;
	char *lines = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&lines, &size);

	if (!memory)
		return KP_NO_MEMORY;
	plain.colors = false;
	plain.width = WIDTH;
	print(memory, report, &plain);
	if (fclose(memory) != 0 || !lines) {
		free(lines);
		return KP_NO_MEMORY;
	}
	const char *from = lines;
	while (*from == '\n')
		from++;
	if (*from)
		fputs(heading, file);
	if (*from)
		kp_markdown_block(file, from);
	free(lines);
	return KP_OK;
}

enum kp_status kp_print_markdown_header(FILE *file, const struct kp_report *report,
					const struct kp_view *view)
{
	return block(file, "", report, view, kp_print_header);
}

/* `names`: how many columns hold names. */
static void print_titles(FILE *file, const struct kp_report *report, const char *titles, int names)
{
	fprintf(file,
		"\n| %s | Share of kernel time | Share of wall time, alone | Total | Calls | "
		"Average |%s\n|%s--:|--:|--:|--:|--:|%s\n",
		titles, report->traffic.any ? " GB/s | Of the peak | Bound by | Headroom |" : "",
		names == 2 ? "---|---|" : "---|", report->traffic.any ? "--:|--:|---|--:|" : "");
}

static void print_traffic(FILE *file, const struct kp_row_traffic *traffic)
{
	if (isfinite(traffic->gbps))
		fprintf(file, " %s%.0f |", traffic->source == KP_TRAFFIC_ESTIMATED ? "~" : "",
			traffic->gbps);
	else
		fputs(" - |", file);
	if (isfinite(traffic->gbps) && isfinite(traffic->peak_pct))
		fprintf(file, " %.1f%% |", traffic->peak_pct);
	else
		fputs(" - |", file);
	fprintf(file, " %s |", kp_bound_name(traffic->bound));
	if (isfinite(traffic->headroom))
		fprintf(file, " %.2fx |", traffic->headroom);
	else
		fputs(" - |", file);
}

/* The cells behind the name of a row. */
static void print_cells(FILE *file, const struct kp_report *report, bool marked,
			const struct kp_shares *shares, uint64_t calls,
			const struct kp_durations *durations, const struct kp_row_traffic *traffic)
{
	const char *bold = marked ? "**" : "";

	if (durations->timed > 0)
		fprintf(file, " %s%.1f%%%s | %.1f%% | %s | %s | %s |", bold, shares->kernel_pct,
			bold, shares->alone_pct,
			kp_human_duration((double)durations->total_ns, DIGITS).text,
			kp_human_count(calls).text,
			kp_human_duration(durations->mean_ns, DIGITS).text);
	else
		fprintf(file, " - | - | - | %s | - |", kp_human_count(calls).text);
	if (report->traffic.any)
		print_traffic(file, traffic);
	fputc('\n', file);
}

static void print_rest(FILE *file, size_t shown, size_t count, const char *what)
{
	if (shown < count)
		fprintf(file, "\n%zu more %s%s not shown.\n", count - shown, what,
			count - shown == 1 ? " is" : "s are");
}

static size_t limit(const struct kp_view *view, size_t count)
{
	return view->top && view->top < count ? (size_t)view->top : count;
}

static enum kp_status print_operators(FILE *file, const struct kp_report *report,
				      const struct kp_view *view)
{
	size_t shown = limit(view, report->operator_count);
	enum kp_status status = KP_OK;

	fputs("\n## Operators\n", file);
	print_titles(file, report, "Operator", 1);
	for (size_t i = 0; i < shown && status == KP_OK; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		fputs("| ", file);
		status = kp_markdown_code(file, row->name, NAME_COLUMNS);
		fprintf(file, "%s |", kp_operator_mark(row));
		print_cells(file, report, row->above_threshold, &row->shares, row->calls,
			    &row->durations, &row->traffic);
	}
	print_rest(file, shown, report->operator_count, "operator");
	return status;
}

static enum kp_status print_kernels(FILE *file, const struct kp_report *report,
				    const struct kp_view *view)
{
	size_t shown = limit(view, report->whole_count);
	enum kp_status status = KP_OK;

	fputs("\n## Kernels\n", file);
	print_titles(file, report, "Kernel | Operator", 2);
	for (size_t i = 0; i < shown && status == KP_OK; i++) {
		const struct kp_whole_kernel *kernel = &report->wholes[i];
		const struct kp_kernel_row *row = &kernel->row;

		fputs("| ", file);
		status = kp_markdown_code(file, row->shortened, NAME_COLUMNS);
		for (size_t k = 0; k < kernel->operator_count && status == KP_OK; k++) {
			fputs(k ? ", " : " | ", file);
			status = kp_markdown_code(
				file, report->operators[kernel->operators[k]].name, NAME_COLUMNS);
		}
		fputs(" |", file);
		print_cells(file, report, row->above_threshold, &row->shares, row->calls,
			    &row->durations, &row->traffic);
	}
	print_rest(file, shown, report->whole_count, "kernel");
	return status;
}

static void print_finding(FILE *file, const struct kp_finding *finding)
{
	char win[128];

	kp_finding_win_words(&finding->win, win, sizeof win);
	fprintf(file, "1. **%s** ", kp_finding_key(finding->id));
	kp_markdown_text(file, finding->sentence);
	fprintf(file, ". *%s confidence%s%s.* ", kp_confidence_key(finding->confidence),
		*win ? "; " : "", win);
	kp_markdown_text(file, finding->remedy);
	fputs(".\n", file);
}

static void print_findings(FILE *file, const struct kp_report *report)
{
	if (report->findings.count > 0)
		fputs("\n## Findings\n\n", file);
	for (size_t i = 0; i < report->findings.count; i++)
		print_finding(file, &report->findings.items[i]);
}

/* What a reader of the tables must know to read them rightly. */
static void print_assumptions(FILE *file, const struct kp_report *report)
{
	fputs("\n## How to read this\n\n", file);
	fputs("- Share of kernel time: of the sum of all kernels' durations; bold above ", file);
	fprintf(file, "%g %%.\n", report->options.threshold_pct);
	fputs("- Share of wall time, alone: of the span, in which nothing else ran on the GPU. At "
	      "no cost at all, this much is saved where all else stays where it is; less where "
	      "launches come too late, unless the program waits for each of them.\n",
	      file);
	if (report->windows.any)
		fputs("- All figures are of what was recorded, in windows.\n", file);
	if (report->traffic.any)
		fputs("- GB/s: measured by hardware counters; ~ estimated over many launches. "
		      "Headroom: the time now ÷ that at the nearer ceiling, with the bytes moved "
		      "now.\n",
		      file);
	if (report->advice) {
		fputc('\n', file);
		kp_markdown_text(file, report->advice);
		fputc('\n', file);
	}
}

enum kp_status kp_print_markdown(FILE *file, const struct kp_report *report,
				 const struct kp_view *view)
{
	enum kp_status status;

	fputs("# Where the GPU time goes\n\n", file);
	status = kp_print_markdown_header(file, report, view);
	if (status == KP_OK && report->operator_count > 0)
		status = print_operators(file, report, view);
	if (status == KP_OK && report->kernel_count > 0)
		status = print_kernels(file, report, view);
	if (status != KP_OK)
		return status;
	print_findings(file, report);
	status = block(file, "\n## Time between kernels\n\n", report, view, kp_print_timeline);
	print_assumptions(file, report);
	return status;
}
