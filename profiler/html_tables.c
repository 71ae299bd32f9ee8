/* The tables of an HTML report: operators, kernels, memory operations, ranks; see html.h. */
#include <math.h>
#include <stdio.h>

#include "profiler/html.h"
#include "profiler/humanise.h"
#include "profiler/print_ranks.h"
#include "profiler/text.h"

#define DIGITS 3

static void duration_cell(FILE *file, double ns, bool wide)
{
	kp_html_cell(file, isfinite(ns) ? kp_human_duration(ns, DIGITS).text : "-", ns, wide);
}

void kp_html_table(FILE *file, const char *id, const char *title, const char *about)
{
	fprintf(file,
		"<section id=\"%s\"><h2 id=\"h-%s\">%s</h2>\n"
		"<p class=\"about\" id=\"a-%s\">%s</p>\n"
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-%s\">"
		"<table class=\"sortable\" aria-labelledby=\"h-%s\" aria-describedby=\"a-%s\">\n"
		"<thead><tr>",
		id, id, title, id, about, id, id, id);
}

static void end_table(FILE *file, size_t shown, size_t count)
{
	fputs("</tbody></table></div>\n", file);
	if (shown < count)
		fprintf(file, "<p class=\"dim\">%zu more row%s not shown.</p>\n", count - shown,
			count - shown == 1 ? " is" : "s are");
	fputs("</section>\n", file);
}

static void heads(FILE *file, const char *first, const char *const *titles)
{
	fprintf(file, "<th scope=\"col\" class=\"name\">%s</th>", first);
	for (; *titles; titles++)
		fprintf(file, "<th scope=\"col\"%s>%s</th>",
			(*titles)[0] == '~' ? " class=\"wide\"" : "",
			*titles + ((*titles)[0] == '~'));
}

static size_t limit(size_t count)
{
	return count < KP_HTML_ROWS_MOST ? count : KP_HTML_ROWS_MOST;
}

/* ---- operators and kernels ---- */

static void traffic_heads(FILE *file, const struct kp_report *report)
{
	if (report->traffic.any)
		fputs("<th scope=\"col\">GB/s</th><th scope=\"col\" class=\"wide\">Of peak</th>"
		      "<th scope=\"col\" class=\"wide\">Bound by</th>"
		      "<th scope=\"col\" class=\"wide\">Headroom</th>",
		      file);
	fputs("</tr></thead>\n<tbody>\n", file);
}

static void traffic_cells(FILE *file, const struct kp_report *report,
			  const struct kp_row_traffic *traffic)
{
	char text[64];

	if (!report->traffic.any)
		return;
	snprintf(text, sizeof text, "%s%.0f", traffic->source == KP_TRAFFIC_ESTIMATED ? "~" : "",
		 traffic->gbps);
	kp_html_cell(file, isfinite(traffic->gbps) ? text : "-", traffic->gbps, false);
	snprintf(text, sizeof text, "%.1f%%", traffic->peak_pct);
	kp_html_cell(file, isfinite(traffic->peak_pct) ? text : "-", traffic->peak_pct, true);
	fputs("<td class=\"wide\">", file);
	kp_html_text(file, kp_bound_name(traffic->bound));
	fputs("</td>", file);
	snprintf(text, sizeof text, "%.2fx", traffic->headroom);
	kp_html_cell(file, isfinite(traffic->headroom) ? text : "-", traffic->headroom, true);
}

static void figures(FILE *file, uint64_t calls, const struct kp_durations *durations,
		    const struct kp_shares *shares)
{
	bool timed = durations->timed > 0;
	char text[32];

	snprintf(text, sizeof text, "%.1f%%", shares->alone_pct);
	kp_html_cell(file, timed ? text : "-", timed ? shares->alone_pct : NAN, true);
	snprintf(text, sizeof text, "%.1f%%", shares->path_pct);
	kp_html_cell(file, timed ? text : "-", timed ? shares->path_pct : NAN, true);
	duration_cell(file, timed ? (double)durations->total_ns : NAN, false);
	kp_html_cell(file, kp_human_count(calls).text, (double)calls, false);
	duration_cell(file, timed ? durations->mean_ns : NAN, true);
	duration_cell(file, timed ? durations->median_ns : NAN, true);
	duration_cell(file, timed ? (double)durations->max_ns : NAN, true);
}

static const char *const figure_heads[] = {"Share",    "~Alone",  "~On path", "Total", "Calls",
					   "~Average", "~Median", "~Max",     NULL};

void kp_html_operators(FILE *file, const struct kp_report *report)
{
	size_t shown = limit(report->operator_count);

	if (report->operator_count == 0)
		return;
	kp_html_table(
		file, "operators", "Operators",
		"Share of kernel time, the sum of all kernels&#39; durations; alone: of the span, "
		"in which nothing else ran; on path: of the span, on the critical path, outside of "
		"which a faster kernel wins nothing for certain");
	heads(file, "Operator", figure_heads);
	traffic_heads(file, report);
	for (size_t i = 0; i < shown; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		fprintf(file,
			"<tr><th scope=\"row\" class=\"name\"><span class=\"dot k%u\"></span>",
			kp_html_color(i));
		kp_html_text(file, row->name);
		if (*kp_operator_mark(row))
			fprintf(file, "<span>%s</span>", kp_operator_mark(row));
		fputs("</th>", file);
		kp_html_share(file, row->shares.kernel_pct, row->above_threshold);
		figures(file, row->calls, &row->durations, &row->shares);
		traffic_cells(file, report, &row->traffic);
		fputs("</tr>\n", file);
	}
	end_table(file, shown, report->operator_count);
}

void kp_html_kernels(FILE *file, const struct kp_report *report)
{
	size_t shown = limit(report->whole_count);

	if (report->whole_count == 0)
		return;
	kp_html_table(file, "kernels", "Kernels", "By time; the colour is that of the operator");
	heads(file, "Kernel", figure_heads);
	traffic_heads(file, report);
	for (size_t i = 0; i < shown; i++) {
		const struct kp_whole_kernel *kernel = &report->wholes[i];
		const struct kp_kernel_row *row = &kernel->row;

		fputs("<tr><td class=\"name\"><code>", file);
		kp_html_text(file, row->shortened);
		fputs("</code><span class=\"dim\">", file);
		for (size_t k = 0; k < kernel->operator_count; k++) {
			fprintf(file, "%s<span class=\"dot k%u\"></span>", k ? ", " : "",
				kp_html_color(kernel->operators[k]));
			kp_html_text(file, report->operators[kernel->operators[k]].name);
		}
		fprintf(file,
			"<span class=\"wide\"> · grid %u×%u×%u, block %u×%u×%u</span></span></td>",
			row->grid[0], row->grid[1], row->grid[2], row->block[0], row->block[1],
			row->block[2]);
		kp_html_share(file, row->shares.kernel_pct, row->above_threshold);
		figures(file, row->calls, &row->durations, &row->shares);
		traffic_cells(file, report, &row->traffic);
		fputs("</tr>\n", file);
	}
	end_table(file, shown, report->whole_count);
}

/* ---- memory operations ---- */

void kp_html_memops(FILE *file, const struct kp_report *report)
{
	static const char *const titles[] = {"Total", "Calls", "Bytes", "~Average", "~Max", NULL};

	if (report->memop_count == 0)
		return;
	kp_html_table(file, "memory", "Memory operations", "Copies and sets");
	heads(file, "Operation", titles);
	fputs("</tr></thead>\n<tbody>\n", file);
	for (size_t i = 0; i < report->memop_count; i++) {
		const struct kp_memop_row *row = &report->memops[i];
		bool timed = row->durations.timed > 0;

		fputs("<tr><th scope=\"row\" class=\"name\">", file);
		kp_html_text(file, row->name);
		fputs("</th>", file);
		duration_cell(file, timed ? (double)row->durations.total_ns : NAN, false);
		kp_html_cell(file, kp_human_count(row->calls).text, (double)row->calls, false);
		kp_html_cell(file, kp_human_bytes(row->bytes, DIGITS).text, (double)row->bytes,
			     false);
		duration_cell(file, timed ? row->durations.mean_ns : NAN, true);
		duration_cell(file, timed ? (double)row->durations.max_ns : NAN, true);
		fputs("</tr>\n", file);
	}
	end_table(file, report->memop_count, report->memop_count);
}

/* ---- ranks ---- */

static void rank_row(FILE *file, const struct kp_report_ranks *ranks, const struct kp_rank_row *row,
		     double most_ns)
{
	bool told = ranks->operations > 0;
	char name[64], text[32];

	kp_ranks_name(row, name, sizeof name);
	fputs("<tr><th scope=\"row\" class=\"name\">", file);
	kp_html_text(file, name);
	if (KP_HAS(&row->process->info, PROCESS, host)) {
		char host[256];

		kp_text_visible(host, sizeof host, row->process->info.host.bytes,
				row->process->info.host.length);
		fputs(" <span class=\"dim\">", file);
		kp_html_text(file, host);
		fputs("</span>", file);
	}
	fputs("</th>", file);
	fprintf(file,
		"<td class=\"share\" data-v=\"%.9g\"><i style=\"--w:%.1f%%\"></i><span>%s"
		"</span></td>",
		(double)row->compute_ns, most_ns > 0 ? 100 * (double)row->compute_ns / most_ns : 0,
		kp_human_duration((double)row->compute_ns, DIGITS).text);
	duration_cell(file, (double)row->communication_ns, true);
	duration_cell(file, told ? (double)row->wait_ns : NAN, false);
	snprintf(text, sizeof text, "%.1f%%",
		 told ? 100 * (double)row->last_arrivals / (double)ranks->operations : 0);
	kp_html_cell(file, told ? text : "-", (double)row->last_arrivals, false);
	duration_cell(file, (double)row->busy_ns, true);
	kp_html_cell(file, kp_human_count(row->kernels).text, (double)row->kernels, true);
	fputs("</tr>\n", file);
}

void kp_html_ranks(FILE *file, const struct kp_report *report)
{
	static const char *const titles[] = {"Compute", "~Comm.",   "Waited", "Came last",
					     "~Busy",   "~Kernels", NULL};
	const struct kp_report_ranks *ranks = &report->ranks;
	size_t shown = limit(ranks->count);
	double most_ns = 0;
	char words[1024];

	if (ranks->count == 0)
		return;
	kp_ranks_words(ranks, words, sizeof words);
	kp_html_table(file, "ranks", "Ranks", "Compute is kernel time without communication");
	heads(file, "Rank", titles);
	fputs("</tr></thead>\n<tbody>\n", file);
	for (size_t i = 0; i < ranks->count; i++)
		most_ns = fmax(most_ns, (double)ranks->rows[i].compute_ns);
	for (size_t i = 0; i < shown; i++)
		rank_row(file, ranks, &ranks->rows[i], most_ns);
	fputs("</tbody></table></div>\n<p>", file);
	kp_html_text(file, words);
	fputs("</p>\n", file);
	if (shown < ranks->count)
		fprintf(file, "<p class=\"dim\">%zu more rank%s not shown.</p>\n",
			ranks->count - shown, ranks->count - shown == 1 ? " is" : "s are");
	fputs("</section>\n", file);
}
