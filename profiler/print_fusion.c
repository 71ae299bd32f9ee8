/* Fusion candidates for people, and as CSV; see print_fusion.h. */
#include "profiler/print_fusion.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/fields.h"
#include "profiler/humanise.h"
#include "profiler/print_timeline.h"
#include "profiler/text.h"

#define DIGITS 3
/* Columns before what a candidate is, and of the lines below it. */
#define INDENT 6

#define RANGE_BYTES (2 * KP_HUMAN_BYTES + 8)

/* «1.2% to 3.4%». */
static void range_pct(char out[RANGE_BYTES], double low, double high)
{
	snprintf(out, RANGE_BYTES, "%s to %s", kp_human_percent(low).text,
		 kp_human_percent(high).text);
}

static void print_summary(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_fusion *fusion = &report->fusion;
	char gain[RANGE_BYTES];

	range_pct(gain, fusion->gain_low_pct, fusion->gain_high_pct);
	kp_print_line(file, view, KP_STYLE_PLAIN, "Fusion",
		      "%s of %s launches could be fused away: %s of the span to win (modelled; "
		      "--fusion lists the chains)",
		      kp_human_count(fusion->launches_saved).text,
		      kp_human_count(report->counts.kernels).text, gain);
}

/* The steps in order, equal ones after each other once: «mul mul add» is «mul ×2, add». */
static size_t add_steps(const struct kp_fusion_row *row, char *out, size_t size)
{
	size_t length = 0;

	out[0] = '\0';
	for (size_t i = 0, end; i < row->member_count && length < size; i = end) {
		char times[24] = "";

		for (end = i + 1; end < row->member_count &&
				  strcmp(row->members[i].step, row->members[end].step) == 0;
		     end++)
			;
		if (end - i > 1)
			snprintf(times, sizeof times, " ×%zu", end - i);
		length += (size_t)snprintf(out + length, size - length, "%s%s%s", i ? ", " : "",
					   row->members[i].step, times);
	}
	return length < size ? length : size - 1;
}

/* How it is launched, and how long the GPU is idle between two of its kernels. */
static void tell_launching(const struct kp_fusion_row *row, char *out, size_t size)
{
	uint64_t eager_runs = row->runs - row->graph_runs, between = row->member_count - 1;
	uint64_t graph_gaps = row->graph_runs * between, eager_gaps = eager_runs * between;
	char graph[80] = "", eager[80] = "";

	if (graph_gaps)
		snprintf(graph, sizeof graph, ", %s between kernels",
			 kp_human_duration((double)row->graph_gap_ns / (double)graph_gaps, DIGITS)
				 .text);
	if (eager_gaps)
		snprintf(eager, sizeof eager, ", %s between kernels",
			 kp_human_duration((double)(row->gap_ns - row->graph_gap_ns) /
						   (double)eager_gaps,
					   DIGITS)
				 .text);
	if (!eager_runs)
		snprintf(out, size, "in graphs%s", graph);
	else if (!row->graph_runs)
		snprintf(out, size, "launched one by one%s", eager);
	else
		snprintf(out, size, "%s runs in graphs%s, %s one by one%s",
			 kp_human_count(row->graph_runs).text, graph,
			 kp_human_count(eager_runs).text, eager);
}

static void print_bytes(const struct kp_fusion_row *row, char *out, size_t size)
{
	out[0] = '\0';
	if (!isfinite(row->bytes))
		return;
	snprintf(out, size, "; %s to %s of %s of memory traffic saved (%s)",
		 kp_human_bytes((uint64_t)fmax(row->bytes_saved_low, 0), DIGITS).text,
		 kp_human_bytes((uint64_t)fmax(row->bytes_saved_high, 0), DIGITS).text,
		 kp_human_bytes((uint64_t)fmax(row->bytes, 0), DIGITS).text,
		 kp_traffic_source_name(row->bytes_source));
}

static void print_candidate(FILE *file, const struct kp_fusion_row *row, const struct kp_view *view)
{
	struct kp_human gaps = kp_human_duration((double)row->gap_ns, DIGITS);
	char steps[600], gain[RANGE_BYTES], bytes[160], where[280], text[1600];

	range_pct(gain, row->gain_low_pct, row->gain_high_pct);
	fprintf(file, "%*s",
		(int)(16 - kp_text_columns(gain)) > 0 ? (int)(16 - kp_text_columns(gain)) : 0, "");
	fprintf(file, "%s ", gain);
	kp_print_cell(file, kp_human_duration(row->gain.low, DIGITS), 7);
	kp_print_cell(file, kp_human_duration(row->gain.high, DIGITS), 7);
	fprintf(file, "%8s ", kp_human_count(row->runs).text);
	fprintf(file, "%7zu ", row->member_count);
	kp_print_cell(file, kp_human_duration((double)row->kernel_ns, DIGITS), 7);
	fprintf(file, "%*s%s\n",
		kp_text_columns(gaps.text) < 7 ? (int)(7 - kp_text_columns(gaps.text)) : 0, "",
		gaps.text);
	add_steps(row, steps, sizeof steps);
	tell_launching(row, where, sizeof where);
	print_bytes(row, bytes, sizeof bytes);
	snprintf(text, sizeof text, "%s (%s): %s; %s%s. %s%s", row->name,
		 kp_fusion_confidence_name(row->confidence), steps, where, bytes,
		 row->about ? "Instead: " : "", row->about ? row->about : "");
	fprintf(file, "%*s", INDENT, "");
	kp_text_wrap(file, text, INDENT, INDENT, view->width);
}

static void print_all(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_fusion *fusion = &report->fusion;
	size_t shown = view->top && view->top < fusion->count ? (size_t)view->top : fusion->count;

	if (!fusion->count) {
		kp_text_wrap(file,
			     "No chain of kernels recurs that one kernel could do (see fusion.md).",
			     0, 0, view->width);
		return;
	}
	kp_style_begin(file, view->colors, KP_STYLE_TITLE);
	fputs(" Gain of the span     Low    High     Runs Kernels    Time    Gaps", file);
	kp_style_end(file, view->colors, KP_STYLE_TITLE);
	fputc('\n', file);
	for (size_t i = 0; i < shown; i++)
		print_candidate(file, &fusion->rows[i], view);
	if (fusion->count + fusion->more > shown)
		fprintf(file, "and %zu more: --top 0, or --format yaml\n",
			fusion->count + fusion->more - shown);
	kp_text_wrap(
		file,
		"What flows from kernel to kernel is concluded from their order, which recurs. "
		"Low: the one kernel takes as long as the longest, and only gaps that a GPU "
		"needs go; high: as long as the shortest that handles whole tensors, and all gaps "
		"go, those too in which the CPU was late.",
		0, 0, view->width);
}

void kp_print_fusion(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_fusion *fusion = &report->fusion;

	if (fusion->gain_high_pct >= KP_FUSION_TELL_PCT)
		print_summary(file, report, view);
	if (!view->fusion)
		return;
	fputc('\n', file);
	print_all(file, report, view);
}

static void csv_number(FILE *file, double value, int decimals)
{
	if (isfinite(value))
		fprintf(file, "%.*f", decimals, value);
	fputc(',', file);
}

static enum kp_status csv_row(FILE *file, const struct kp_fusion_row *row)
{
	char steps[600];
	enum kp_status status;

	fprintf(file, "%s,", row->id);
	status = kp_fields_csv_text(file, row->name);
	fprintf(file, ",%s,%s,%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
		kp_fusion_confidence_name(row->confidence), kp_fusion_flow_name(row->flow),
		row->member_count, row->runs, row->graph_runs, row->kernel_ns, row->gap_ns);
	csv_number(file, row->bytes, 0);
	csv_number(file, row->gain.low, 0);
	csv_number(file, row->gain.high, 0);
	csv_number(file, row->gain_low_pct, 3);
	csv_number(file, row->gain_high_pct, 3);
	add_steps(row, steps, sizeof steps);
	if (status == KP_OK)
		status = kp_fields_csv_text(file, steps);
	fputs("\r\n", file);
	return status;
}

enum kp_status kp_print_fusion_csv(FILE *file, const struct kp_report *report)
{
	enum kp_status status = KP_OK;

	fputs("id,name,confidence,data_flow_by,kernels,runs,runs_in_graphs,kernel_time_ns,gap_ns,"
	      "bytes,gain_low_ns,gain_high_ns,gain_low_pct,gain_high_pct,steps\r\n",
	      file);
	for (size_t i = 0; status == KP_OK && i < report->fusion.count; i++)
		status = csv_row(file, &report->fusion.rows[i]);
	return status;
}
