/* NVTX ranges; see print_ranges.h. */
#include "profiler/print_ranges.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/fields.h"
#include "profiler/humanise.h"
#include "profiler/print_timeline.h"
#include "profiler/style.h"
#include "profiler/text.h"

#define DIGITS 3
#define NUMBERS 54 /* columns before the name */
#define NAME_LEAST 16
#define NAME_BYTES 256

/* One line on what is known, and one on why not more is. */
static void print_notes(FILE *file, const struct kp_report_ranges *ranges,
			const struct kp_view *view)
{
	char text[512];

	snprintf(text, sizeof text,
		 "Ranges own what was launched in them, %s: %s kernels; %s were launched in none.",
		 kp_ownership_words[ranges->by], kp_human_count(ranges->owned).text,
		 kp_human_count(ranges->outside).text);
	kp_text_wrap(file, text, 0, 0, view->width);
	if (ranges->why_time) {
		snprintf(text, sizeof text,
			 "By time: a kernel belongs to the ranges that were open when it started, "
			 "because %s.",
			 ranges->why_time);
		kp_text_wrap(file, text, 0, 0, view->width);
	}
	if (ranges->unattributed) {
		snprintf(text, sizeof text,
			 "%s kernels (%s) are not attributed: it is not certain in which range "
			 "they were launched.",
			 kp_human_count(ranges->unattributed).text,
			 kp_human_duration((double)ranges->unattributed_ns, DIGITS).text);
		kp_text_wrap(file, text, 0, 0, view->width);
	}
	if (ranges->left_out)
		fprintf(file, "%s of %s ranges are left out: too many, or with impossible times.\n",
			kp_human_count(ranges->left_out).text, kp_human_count(ranges->ranges).text);
	if (ranges->of_process)
		kp_text_wrap(file,
			     "+ started and ended, not pushed and popped: belongs to all threads, "
			     "and stands beside the others.",
			     0, 0, view->width);
}

static void print_row(FILE *file, const struct kp_range_row *row, const struct kp_view *view)
{
	char name[NAME_BYTES];
	size_t indent = 2 * (size_t)row->depth, width = view->width;
	size_t room = width > NUMBERS + NAME_LEAST + indent ? width - NUMBERS - indent : NAME_LEAST;

	kp_print_cell(file, kp_human_percent(row->kernel_pct), 6);
	kp_print_cell(file, kp_human_duration((double)row->kernel_ns, DIGITS), 8);
	fprintf(file, " %8" PRIu64 " %8" PRIu64, row->kernels, row->calls);
	kp_print_cell(file, kp_human_duration((double)row->idle_ns, DIGITS), 9);
	kp_print_cell(file, kp_human_duration((double)row->host_ns, DIGITS), 8);
	snprintf(name, sizeof name, "%s%s%s%s%s", row->of_process ? "+ " : "",
		 row->depth == 0 && row->domain[0] ? "[" : "",
		 row->depth == 0 && row->domain[0] ? row->domain : "",
		 row->depth == 0 && row->domain[0] ? "] " : "", row->name[0] ? row->name : "\"\"");
	fprintf(file, " %*s", (int)indent, "");
	kp_text_fit(file, name, room);
	fputc('\n', file);
}

enum kp_status kp_print_ranges(FILE *file, const struct kp_report *report,
			       const struct kp_view *view)
{
	const struct kp_report_ranges *ranges = report->ranges;
	uint64_t *shown;
	bool *hidden;
	size_t more = 0;

	if (!ranges || ranges->row_count == 0) {
		fputs("No NVTX range is in the trace.\n", file);
		return KP_OK;
	}
	shown = calloc(ranges->row_count + 1, sizeof *shown); /* of each row's own, plus one */
	hidden = calloc(ranges->row_count, sizeof *hidden);
	if (!shown || !hidden) {
		free(shown);
		free(hidden);
		return KP_NO_MEMORY;
	}
	kp_style_begin(file, view->colors, KP_STYLE_TITLE);
	fputs(" Share      GPU  Kernels   Ranges Idle in it     Host Range", file);
	kp_style_end(file, view->colors, KP_STYLE_TITLE);
	fputc('\n', file);
	for (size_t i = 0; i < ranges->row_count; i++) {
		size_t parent = ranges->rows[i].parent;
		bool outer = parent == KP_RANGE_NO_PARENT;

		hidden[i] = (!outer && hidden[parent]) ||
			    (view->top && shown[outer ? 0 : parent + 1]++ >= view->top);
		more += hidden[i];
		if (!hidden[i])
			print_row(file, &ranges->rows[i], view);
	}
	free(shown);
	free(hidden);
	if (more)
		fprintf(file, "and %zu more: --top 0 shows all\n", more);
	fputc('\n', file);
	print_notes(file, ranges, view);
	return KP_OK;
}

/* X(key, member): the numbers of a row, for CSV and documents. */
#define RANGE_NUMBERS(X)                                                                           \
	X("ranges", calls)                                                                         \
	X("host_total_ns", host_ns)                                                                \
	X("launches", kernels)                                                                     \
	X("kernel_total_ns", kernel_ns)                                                            \
	X("own_launches", own_kernels)                                                             \
	X("own_kernel_total_ns", own_kernel_ns)                                                    \
	X("busy_ns", busy_ns)                                                                      \
	X("idle_ns", idle_ns)

enum kp_status kp_print_ranges_csv(FILE *file, const struct kp_report *report)
{
	const struct kp_report_ranges *ranges = report->ranges;
	enum kp_status status = KP_OK;

#define HEADER(key, member) "," key
	fputs("domain,name,depth,kind" RANGE_NUMBERS(HEADER) ",kernel_pct,owned_by\r\n", file);
#undef HEADER
	for (size_t i = 0; ranges && status == KP_OK && i < ranges->row_count; i++) {
		const struct kp_range_row *row = &ranges->rows[i];

		status = kp_fields_csv_text(file, row->domain);
		fputc(',', file);
		if (status == KP_OK)
			status = kp_fields_csv_text(file, row->name);
		fprintf(file, ",%u,%s", row->depth, row->of_process ? "process" : "thread");
#define NUMBER(key, member) fprintf(file, ",%" PRIu64, row->member);
		RANGE_NUMBERS(NUMBER)
#undef NUMBER
		fprintf(file, ",%.4f,%s\r\n", row->kernel_pct, kp_ownership_keys[ranges->by]);
	}
	return status;
}

static void emit_row(struct kp_emit *emit, const struct kp_range_row *row)
{
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "name", row->name);
	kp_emit_string(emit, "domain", row->domain);
	kp_emit_string(emit, "kind", row->of_process ? "process" : "thread");
	if (row->parent == KP_RANGE_NO_PARENT)
		kp_emit_null(emit, "parent");
	else
		kp_emit_count(emit, "parent", row->parent);
	kp_emit_count(emit, "depth", row->depth);
#define EMIT(key, member) kp_emit_count(emit, key, row->member);
	RANGE_NUMBERS(EMIT)
#undef EMIT
	kp_emit_number(emit, "kernel_pct", row->kernel_pct, 4);
	kp_emit_map_end(emit);
}

void kp_document_ranges(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_report_ranges *ranges = report->ranges;

	if (!ranges) {
		kp_emit_null(emit, "ranges");
		return;
	}
	kp_emit_map_begin(emit, "ranges");
	kp_emit_string(emit, "owned_by", kp_ownership_keys[ranges->by]);
	kp_emit_string(emit, "by_time_because", ranges->why_time);
	kp_emit_count(emit, "count", ranges->ranges);
	kp_emit_count(emit, "left_out", ranges->left_out);
	kp_emit_count(emit, "kernels_owned", ranges->owned);
	kp_emit_count(emit, "kernels_outside", ranges->outside);
	kp_emit_count(emit, "kernels_unattributed", ranges->unattributed);
	kp_emit_count(emit, "owned_kernel_total_ns", ranges->owned_ns);
	kp_emit_count(emit, "outside_kernel_total_ns", ranges->outside_ns);
	kp_emit_count(emit, "unattributed_kernel_total_ns", ranges->unattributed_ns);
	kp_emit_list_begin(emit, "rows");
	for (size_t i = 0; i < ranges->row_count; i++)
		emit_row(emit, &ranges->rows[i]);
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
}
