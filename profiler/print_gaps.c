/* What each GPU waited for, in detail: as tables of the text report, and as CSV; see print.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/humanise.h"
#include "profiler/print_timeline.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define DIGITS 4
#define MAX_GPUS 16
#define PATH_OPERATORS 8
#define PATH_WORTH_PCT 0.05 /* less is shown as nothing */
#define MORE_BYTES 40       /* of how many more there are */

static void print_title(FILE *file, const struct kp_view *view, const char *title)
{
	kp_style_begin(file, view->colors, KP_STYLE_TITLE);
	fputs(title, file);
	kp_style_end(file, view->colors, KP_STYLE_TITLE);
	fputc('\n', file);
}

void kp_print_cell(FILE *file, struct kp_human value, size_t width)
{
	size_t taken = kp_text_columns(value.text);

	fprintf(file, "%*s%s ", taken < width ? (int)(width - taken) : 0, "", value.text);
}

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_causes(FILE *file, const struct kp_idle_row *row, const struct kp_view *view)
{
	print_title(file, view, " Share    Total     Gaps Cause of idle time; shares of it");
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++) {
		const struct kp_gap_part *part = &row->parts[i];

		if (!part->total_ns)
			continue;
		kp_print_cell(file, kp_human_percent(percent_of(part->total_ns, row->idle_ns)), 6);
		kp_print_cell(file, kp_human_duration((double)part->total_ns, DIGITS), 8);
		fprintf(file, "%8" PRIu64 " %s%s\n", part->gaps, kp_gap_words[i],
			part->inferred_ns == 0                ? ""
			: part->inferred_ns == part->total_ns ? " (inferred)"
							      : " (partly inferred)");
	}
}

/* What is hidden is so only if the host did not wait for it, which the trace does not say. */
static void print_hidden(FILE *file, const struct kp_report *report, size_t gpu,
			 const struct kp_view *view)
{
	const struct kp_path_parts *path = &report->timeline->idle[gpu].path;
	double span_ns = (double)report->gpus[gpu].span_ns;
	char text[400];

	if (!path->hidden_ns)
		return;
	snprintf(text, sizeof text,
		 "What is hidden is not on the path, unless the program waits for each launch, "
		 "which a trace cannot tell: kernels, copies and sets are %s of the span if it "
		 "does not, and at most %s if it does",
		 kp_human_percent(100 * (double)(path->kernel_ns + path->memory_ns) / span_ns).text,
		 kp_human_percent(100 *
				  (double)(path->kernel_ns + path->memory_ns + path->hidden_ns) /
				  span_ns)
			 .text);
	kp_text_wrap(file, text, 0, 2, view->width);
}

/* What a faster kernel could shorten, and what it could not; all of it is the span. */
static void print_path(FILE *file, const struct kp_report *report, size_t gpu,
		       const struct kp_view *view)
{
	const struct kp_idle_row *row = &report->timeline->idle[gpu];
	const struct {
		uint64_t ns;
		const char *words;
	} rows[] = {
		{row->path.kernel_ns, "kernels"},
		{row->path.memory_ns, "memory copies and sets"},
		{row->path_idle_ns, "idle time, for its causes"},
		{row->path.others_ns, "something ran, but what the path waited for is not known"},
		{row->path.hidden_ns, "hidden: what ran while launches came too late"},
	};

	print_title(file, view, " Share    Total Critical path; shares of the span");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].ns)
			continue;
		kp_print_cell(file,
			      kp_human_percent(percent_of(rows[i].ns, report->gpus[gpu].span_ns)),
			      6);
		kp_print_cell(file, kp_human_duration((double)rows[i].ns, DIGITS), 8);
		fprintf(file, "%s\n", rows[i].words);
	}
	print_hidden(file, report, gpu, view);
	if (row->path.cuts > 0)
		fprintf(file, "Found in %s pieces, for so much ran without a pause\n",
			kp_human_count(row->path.cuts + 1).text);
}

/* An operator's share of the path: as it is found; and if the host waited for all that is hidden.
 */
struct path_share {
	const char *name;
	double least_pct, most_pct;
};

/* Largest first; of equal ones in the order of the report. */
static int by_share(const void *left, const void *right)
{
	const struct path_share *a = left, *b = right;

	if (a->most_pct != b->most_pct)
		return a->most_pct < b->most_pct ? 1 : -1;
	if (a->least_pct != b->least_pct)
		return a->least_pct < b->least_pct ? 1 : -1;
	return strcmp(a->name, b->name);
}

static bool any_hidden(const struct kp_report *report)
{
	bool any = false;

	for (size_t i = 0; i < report->gpu_count; i++)
		any |= report->timeline->idle[i].path.hidden_ns > 0;
	return any;
}

/* What of an operator is hidden ran alone or beside others: alone it is worth all of its time. */
static size_t path_shares(const struct kp_report *report, struct path_share *shares)
{
	bool hidden = any_hidden(report);

	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];
		double path_pct = row->shares.path_pct, alone_pct = row->shares.alone_pct;

		shares[i] = (struct path_share){row->name, path_pct, path_pct};
		if (hidden && alone_pct > path_pct)
			shares[i].most_pct = alone_pct;
	}
	qsort(shares, report->operator_count, sizeof(*shares), by_share);
	return report->operator_count;
}

/* "gemm 0.0% to 1.4%"; nothing where that is less than can be shown. */
static size_t put_share(char *out, size_t size, const struct path_share *share, bool first)
{
	struct kp_human least = kp_human_percent(share->least_pct);
	struct kp_human most = kp_human_percent(share->most_pct);
	bool same = strcmp(least.text, most.text) == 0;
	int length;

	if (share->most_pct < PATH_WORTH_PCT)
		return 0;
	length = snprintf(out, size, "%s%s %s%s%s", first ? "" : ", ", share->name, least.text,
			  same ? "" : " to ", same ? "" : most.text);
	return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

/* Operators by their time on it, over all GPUs. */
static void print_path_operators(FILE *file, const struct kp_report *report,
				 const struct kp_view *view)
{
	const char *title =
		any_hidden(report) ? "On the critical path, of the span, and if what is hidden is: "
				   : "On the critical path, of the span: ";
	struct path_share *shares = calloc(report->operator_count + 1, sizeof(*shares));
	size_t used = 0, shown = 0, worth = 0, count = shares ? path_shares(report, shares) : 0;
	char line[1024] = "";

	while (worth < count && shares[worth].most_pct >= PATH_WORTH_PCT)
		worth++;
	for (; shown < worth && shown < PATH_OPERATORS; shown++) {
		size_t length = put_share(line + used, sizeof line - used - MORE_BYTES,
					  &shares[shown], !shown);

		if (!length)
			break;
		used += length;
	}
	line[used] = '\0';
	free(shares);
	if (!shown)
		return;
	if (shown < worth)
		snprintf(line + used, sizeof line - used, ", and %zu more", worth - shown);
	fprintf(file, "\n%s", title);
	kp_text_wrap(file, line, strlen(title), 2, view->width);
}

/* At the borders of a recording and of its windows gaps are cut: their length is not known. */
static void print_cut(FILE *file, const struct kp_idle_row *row)
{
	uint64_t whole_ns = 0;

	for (unsigned i = 0; i < KP_GAP_BIN_COUNT; i++)
		whole_ns += row->bins[i].total_ns;
	if (whole_ns >= row->idle_ns)
		return;
	kp_print_cell(file, kp_human_percent(percent_of(row->idle_ns - whole_ns, row->idle_ns)), 6);
	kp_print_cell(file, kp_human_duration((double)(row->idle_ns - whole_ns), DIGITS), 8);
	fprintf(file, "%8s not known: cut at a border, and not among the longest\n", "-");
}

static void print_lengths(FILE *file, const struct kp_idle_row *row, const struct kp_view *view)
{
	print_title(file, view, " Share    Total     Gaps Length of a gap; shares of idle time");
	for (unsigned i = 0; i < KP_GAP_BIN_COUNT; i++) {
		if (!row->bins[i].gaps)
			continue;
		kp_print_cell(file,
			      kp_human_percent(percent_of(row->bins[i].total_ns, row->idle_ns)), 6);
		kp_print_cell(file, kp_human_duration((double)row->bins[i].total_ns, DIGITS), 8);
		fprintf(file, "%8" PRIu64 " ", row->bins[i].gaps);
		if (i < KP_GAP_BIN_COUNT - 1)
			fprintf(file, "below %s\n",
				kp_human_duration((double)kp_gap_bins_ns[i], 3).text);
		else
			fprintf(file, "%s and longer\n",
				kp_human_duration((double)kp_gap_bins_ns[i - 1], 3).text);
	}
	print_cut(file, row);
	if (row->node_gaps > 0)
		fprintf(file, "Between kernels of one graph launch: median %s, %s gaps\n",
			kp_human_duration(row->node_gap_median_ns, DIGITS).text,
			kp_human_count(row->node_gaps).text);
}

static void print_longest(FILE *file, const struct kp_report *report, size_t gpu,
			  const struct kp_view *view)
{
	const struct kp_idle_row *row = &report->timeline->idle[gpu];

	print_title(file, view, "  Length       At Longest gaps: cause, kernels before and behind");
	for (size_t i = 0; i < row->longest_count; i++) {
		const struct kp_gap_long *gap = &row->longest[i];
		uint64_t from_ns = report->gpus[gpu].first_ns;
		size_t half = view->width > 60 ? (view->width - 26) / 2 : 20;

		kp_print_cell(file, kp_human_duration((double)gap->length_ns, DIGITS), 8);
		kp_print_cell(
			file,
			kp_human_duration(gap->at_ns > from_ns ? (double)(gap->at_ns - from_ns) : 0,
					  DIGITS),
			8);
		fprintf(file, "%s%s\n%18s", kp_gap_words[gap->cause],
			gap->inferred ? " (inferred)" : "", "");
		kp_text_fit(file, gap->before ? gap->before : "(begin)", half);
		fputs(" … ", file);
		kp_text_fit(file, gap->behind ? gap->behind : "(end)", half);
		fputc('\n', file);
	}
}

void kp_print_gaps(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	for (size_t i = 0; i < report->gpu_count && i < MAX_GPUS; i++) {
		const struct kp_idle_row *row = &report->timeline->idle[i];

		fprintf(file, "\nGPU %zu: idle %s of %s, %s gaps\n", i,
			kp_human_duration((double)row->idle_ns, DIGITS).text,
			kp_human_duration((double)report->gpus[i].span_ns, DIGITS).text,
			kp_human_count(row->gaps).text);
		print_path(file, report, i, view);
		print_causes(file, row, view);
		print_lengths(file, row, view);
		print_longest(file, report, i, view);
	}
	print_path_operators(file, report, view);
	if (report->gpu_count > MAX_GPUS)
		fprintf(file, "\nand %zu more GPUs: --format yaml has all\n",
			report->gpu_count - MAX_GPUS);
}

void kp_print_gaps_csv(FILE *file, const struct kp_report *report)
{
	fputs("gpu,cause,total_ns,inferred_ns,gaps\r\n", file);
	for (size_t i = 0; report->timeline && i < report->gpu_count; i++)
		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++) {
			const struct kp_gap_part *part = &report->timeline->idle[i].parts[k];

			fprintf(file, "%zu,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n", i,
				kp_gap_keys[k], part->total_ns, part->inferred_ns, part->gaps);
		}
}
