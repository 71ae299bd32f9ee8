/* The report as one HTML file; see print.h for what, html.h for how. */
#include <math.h>
#include <stddef.h>

#include "profiler/html.h"
#include "profiler/humanise.h"
#include "profiler/roofline.h"
#include "profiler/text.h"

#define DIGITS 3
/* Of html/report.js: what the policy allows to run. A test compares. */
#define SCRIPT_HASH "sha256-/CLfzfzDryWIfiXWaeStQ8BTZQu7ZzA2M001O96Zmd0="

extern const unsigned char kp_html_css[], kp_html_js[];
extern const size_t kp_html_css_length, kp_html_js_length;

static void put_bytes(FILE *file, const unsigned char *bytes, size_t length)
{
	fwrite(bytes, 1, length, file);
}

/* The first command of the trace, or what it was made of, for the title. */
static void command_of(const struct kp_report *report, char *out, size_t size)
{
	snprintf(out, size, "%s", "trace");
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_info *info = &report->processes[i].process->info;
		bool named = KP_HAS(info, PROCESS, command);
		struct kp_text text = named ? info->command : info->source;

		if ((!named && !KP_HAS(info, PROCESS, source)) || report->processes[i].kernels == 0)
			continue;
		kp_text_visible(out, size, text.bytes, text.length);
		return;
	}
}

static void put_head(FILE *file, const char *command)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src '" SCRIPT_HASH "'; base-uri 'none'; "
	      "form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
	      file);
	kp_html_text(file, command);
	fputs(" – kprof</title>\n<style>\n", file);
	put_bytes(file, kp_html_css, kp_html_css_length);
	fputs("</style>\n</head>\n<body>\n", file);
}

static void put_card(FILE *file, const char *title, const char *value, const char *words)
{
	fputs("<div class=\"card\"><span>", file);
	kp_html_text(file, title);
	fputs("</span><b>", file);
	kp_html_text(file, value);
	fputs("</b><span>", file);
	kp_html_text(file, words);
	fputs("</span></div>\n", file);
}

static void put_win_card(FILE *file, const struct kp_report *report)
{
	const struct kp_finding *best = NULL;
	char value[32];

	for (size_t i = 0; i < report->findings.count; i++) {
		const struct kp_finding *one = &report->findings.items[i];

		if (isfinite(one->win.span_likely_pct) &&
		    (!best || one->win.span_likely_pct > best->win.span_likely_pct))
			best = one;
	}
	if (!best || best->win.span_likely_pct < 0.1)
		return;
	snprintf(value, sizeof value, "%.1f%%", best->win.span_likely_pct);
	put_card(file, "Likely to win", value, kp_finding_key(best->id));
}

static void put_cards(FILE *file, const struct kp_report *report)
{
	char value[64], words[160];

	fputs("<div class=\"cards\">\n", file);
	snprintf(value, sizeof value, "%.1f%%",
		 report->span_ns ? 100 * (double)report->busy_ns / (double)report->span_ns : 0);
	snprintf(words, sizeof words, "%s of %s",
		 kp_human_duration((double)report->busy_ns, DIGITS).text,
		 kp_human_duration((double)report->span_ns, DIGITS).text);
	put_card(file, report->gpu_count > 1 ? "GPUs busy" : "GPU busy", value, words);
	snprintf(words, sizeof words, "%s launches of %zu kernels",
		 kp_human_count(report->counts.kernels).text, report->distinct_kernels);
	put_card(file, "Kernel time", kp_human_duration((double)report->kernel_ns, DIGITS).text,
		 words);
	if (report->operator_count > 0) {
		snprintf(value, sizeof value, "%.1f%%", report->operators[0].shares.kernel_pct);
		put_card(file, "Largest operator", value, report->operators[0].name);
	}
	if (report->ranks.count > 0) {
		snprintf(value, sizeof value, "%.2f", report->ranks.compute_imbalance);
		snprintf(words, sizeof words, "most ÷ mean compute of %zu ranks",
			 report->ranks.count);
		put_card(file, "Imbalance", value, words);
	}
	put_win_card(file, report);
	fputs("</div>\n", file);
}

static void put_links(FILE *file, const struct kp_report *report)
{
	const struct {
		bool there;
		const char *id, *title;
	} links[] = {
		{true, "findings", "Findings"},
		{report->overview.count > 0, "timeline", "Timeline"},
		{report->operator_count > 0, "operators", "Operators"},
		{report->kernel_count > 0, "kernels", "Kernels"},
		{report->ranks.count > 0, "ranks", "Ranks"},
		{report->traffic.any, "roofline", "Roofline"},
		{report->fusion.count > 0, "fusion", "Fusion"},
		{report->operator_count > 0, "plan", "Plan"},
		{true, "run", "The run"},
	};

	fputs("<nav aria-label=\"Sections\">", file);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (links[i].there)
			fprintf(file, "<a href=\"#%s\">%s</a>", links[i].id, links[i].title);
	fputs("</nav>\n", file);
}

static enum kp_status put_roofline(FILE *file, const struct kp_report *report)
{
	enum kp_status status;

	if (!report->traffic.any)
		return KP_OK;
	fputs("<section id=\"roofline\"><h2>Roofline</h2>\n"
	      "<div class=\"scroll roof\" tabindex=\"0\" role=\"region\" "
	      "aria-label=\"Roofline\">\n",
	      file);
	status = kp_print_svg(file, report);
	fputs("</div></section>\n", file);
	return status;
}

static void put_foot(FILE *file, const struct kp_report *report)
{
	fputs("</main>\n<footer><p>", file);
	kp_html_print(file,
		      "* more than %g %% of kernel time. ~ estimated. Made by kprof " KPROF_VERSION
		      "; this file needs no other and loads none.",
		      report->options.threshold_pct);
	fputs("</p></footer>\n<script>", file);
	put_bytes(file, kp_html_js, kp_html_js_length);
	fputs("</script>\n</body>\n</html>\n", file);
}

enum kp_status kp_print_html(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	enum kp_status status;
	char command[512];

	command_of(report, command, sizeof command);
	put_head(file, command);
	fputs("<header><h1>Where the GPU time goes</h1>\n<p class=\"mono dim\">", file);
	kp_html_text(file, command);
	fputs("</p>\n", file);
	put_links(file, report);
	put_cards(file, report);
	fputs("</header>\n<main>\n", file);
	kp_html_findings(file, report);
	kp_html_overview(file, report);
	kp_html_operators(file, report);
	kp_html_kernels(file, report);
	kp_html_ranks(file, report);
	status = put_roofline(file, report);
	if (status != KP_OK)
		return status;
	kp_html_lines(file, report, view, "Time between kernels", "idle", kp_print_timeline);
	kp_html_memops(file, report);
	kp_html_fusion(file, report);
	kp_html_plan(file, report);
	kp_html_lines(file, report, view, "The run", "run", kp_print_header);
	put_foot(file, report);
	return KP_OK;
}
