/* The timeline of an HTML report, at a glance: an area a GPU, a colour an operator; see html.h. */
#include <math.h>

#include "profiler/html.h"
#include "profiler/humanise.h"

#define GPUS_MOST 16
#define HEIGHT 56
#define DIGITS 3
#define LEAST 0.2 /* of the height: less is not drawn */

/* How much of a stretch an operator takes, 0 to 1: where kernels overlap, they share it. */
static double part_of(const struct kp_overview_line *line, size_t operator_index, size_t bin)
{
	double sum = 0;

	for (size_t i = 0; i < line->operators; i++)
		sum += line->time_ns[i * KP_OVERVIEW_BINS + bin];
	double whole = fmax(sum, (double)line->bin_ns);
	return line->time_ns[operator_index * KP_OVERVIEW_BINS + bin] / whole;
}

/* What the operators of one colour take of a stretch, and what those below take. */
static void stack(const struct kp_overview_line *line, unsigned color, size_t bin, double *below,
		  double *own)
{
	*below = *own = 0;
	for (size_t i = 0; i < line->operators; i++) {
		if (kp_html_color(i) < color)
			*below += part_of(line, i, bin);
		else if (kp_html_color(i) == color)
			*own += part_of(line, i, bin);
	}
}

static void put_color(FILE *file, const struct kp_overview_line *line, unsigned color)
{
	bool any = false;

	for (size_t bin = 0; bin < line->bins; bin++) {
		double below, own;

		stack(line, color, bin, &below, &own);
		if (own * HEIGHT < LEAST)
			continue;
		if (!any)
			fprintf(file, "<path class=\"k%u\" d=\"", color);
		any = true;
		fprintf(file, "M%zu %.1fh1v%.1fh-1z", bin, HEIGHT * (1 - below - own),
			HEIGHT * own);
	}
	if (any)
		fputs("\"/>", file);
}

/* Where the GPU's first and last activity lie, memory operations too, by stretches of its line. */
static void put_view(FILE *file, const struct kp_overview_line *line, const struct kp_gpu_row *gpu)
{
	double bin_ns = line->bin_ns ? (double)line->bin_ns : 1;
	double left = ((double)gpu->first_ns - (double)line->origin_ns) / bin_ns;
	double width = (double)(gpu->last_ns - gpu->first_ns) / bin_ns;

	if (!line->bin_ns || !(width > 0)) {
		left = 0;
		width = 1;
	}
	fprintf(file, "viewBox=\"%.3f 0 %.3f %d\"", left, width, HEIGHT);
}

static void put_gpu(FILE *file, const struct kp_report *report, size_t number)
{
	const struct kp_overview_line *line = &report->overview.lines[number];
	const struct kp_gpu_row *gpu = &report->gpus[number];
	uint64_t length_ns = gpu->last_ns - gpu->first_ns;
	bool windows = gpu->span_ns != length_ns;
	double busy_pct = gpu->span_ns ? 100 * (double)gpu->busy_ns / (double)gpu->span_ns : 0;

	fputs("<figure><figcaption><span>", file);
	kp_html_print(file, "GPU %zu", number);
	if (gpu->info && KP_HAS(gpu->info, DEVICE, name))
		kp_html_print(file, ", %.*s", (int)gpu->info->name.length, gpu->info->name.bytes);
	fprintf(file, "</span><span>busy %.1f%% of %s%s</span></figcaption><svg class=\"line\" ",
		busy_pct, kp_human_duration((double)gpu->span_ns, DIGITS).text,
		windows ? " in windows" : "");
	put_view(file, line, gpu);
	fprintf(file,
		" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"GPU %zu, from start to "
		"end of its span: how much of the time each operator takes\">",
		number);
	for (unsigned color = 0; color <= KP_HTML_COLORS; color++)
		put_color(file, line, color);
	fprintf(file, "</svg><div class=\"ends\"><span>%s</span><span>%s%s</span></div></figure>\n",
		windows ? "first activity" : "0", kp_human_duration((double)length_ns, DIGITS).text,
		windows ? " later" : "");
}

static void put_keys(FILE *file, const struct kp_report *report)
{
	fputs("<ul class=\"keys\">", file);
	for (size_t i = 0; i < report->operator_count && i < KP_HTML_COLORS; i++) {
		fprintf(file, "<li><span class=\"dot k%u\"></span>", kp_html_color(i));
		kp_html_text(file, report->operators[i].name);
		fputs("</li>", file);
	}
	if (report->operator_count > KP_HTML_COLORS)
		fprintf(file, "<li><span class=\"dot k%d\"></span>others</li>", KP_HTML_COLORS);
	fputs("</ul>\n", file);
}

void kp_html_overview(FILE *file, const struct kp_report *report)
{
	size_t count = report->overview.count < GPUS_MOST ? report->overview.count : GPUS_MOST;
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= report->overview.lines[i].bins > 0;
	if (!any)
		return;
	fputs("<section id=\"timeline\"><h2>Timeline</h2>\n", file);
	for (size_t i = 0; i < count; i++)
		if (report->overview.lines[i].bins)
			put_gpu(file, report, i);
	put_keys(file, report);
	fputs("<p class=\"dim\">Height is the part of each stretch in which the operator&#39;s "
	      "kernels ran; what is empty was idle.</p>\n",
	      file);
	if (count < report->gpu_count)
		fprintf(file, "<p class=\"dim\">%zu more GPUs are not drawn.</p>\n",
			report->gpu_count - count);
	fputs("</section>\n", file);
}
