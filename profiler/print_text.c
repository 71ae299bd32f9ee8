/*
 * The report as text; see print.h: header, ranking, memory operations, what the marks mean, and one
 * closing sentence. Rows are gathered first, then laid out by columns.c.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzers/demangle.h"
#include "profiler/columns.h"
#include "profiler/findings.h"
#include "profiler/print.h"
#include "profiler/print_fusion.h"
#include "profiler/print_processes.h"
#include "profiler/print_ranges.h"
#include "profiler/print_ranks.h"
#include "profiler/roofline.h"
#include "profiler/shapes.h"
#include "profiler/text.h"
#include "trace/arena.h"

/* The rows of a table while they are gathered; room for all of them is there from the start. */
struct gathering {
	const struct kp_report *report;
	const struct kp_view *view;
	struct kp_arena *names; /* escaped mangled names */
	struct kp_table_row *rows;
	size_t count;
};

static const char *name_of(struct gathering *gathering, const struct kp_kernel_row *kernel)
{
	switch (gathering->view->names) {
	case KP_NAMES_FULL:
		return kernel->full;
	case KP_NAMES_MANGLED:
		return kp_demangle_escape(
			gathering->names,
			(struct kp_text){kernel->mangled, strlen(kernel->mangled)});
	case KP_NAMES_SHORT:
		break;
	}
	return kernel->shortened;
}

/* The name of an operator; marked where most of it is written out as kernels of other kinds. */
static const char *operator_name_of(struct gathering *gathering,
				    const struct kp_operator_row *operator)
{
	const char *mark = kp_operator_mark(operator);
	size_t length = strlen(operator->name), mark_bytes = strlen(mark) + 1;
	char *name;

	if (!*mark)
		return operator->name;
	name = kp_arena_alloc(gathering->names, length + mark_bytes);
	if (!name)
		return NULL;
	memcpy(name, operator->name, length);
	memcpy(name + length, mark, mark_bytes);
	return name;
}

#define OPERATORS_COLUMNS 16

/* Whose work a kernel does, most time first: as many as the column has room for, and how many more
 * there are. */
static const char *operators_of(struct gathering *gathering, const struct kp_whole_kernel *kernel)
{
	const struct kp_operator_row *operators = gathering->report->operators;
	char text[4 * OPERATORS_COLUMNS], more[24] = "";
	size_t length = 0;

	if (kernel->operator_count == 1)
		return operators[kernel->operators[0]].name;
	for (size_t i = 0; i < kernel->operator_count; i++) {
		const char *name = operators[kernel->operators[i]].name;
		size_t left = kernel->operator_count - i - 1, room = OPERATORS_COLUMNS;

		snprintf(more, sizeof more, " +%zu", kernel->operator_count - i);
		room -= left ? strlen(" +1") : 0;
		if (i > 0 && length + strlen(", ") + strlen(name) > room)
			break;
		more[0] = '\0';
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%.*s",
					   i ? ", " : "", OPERATORS_COLUMNS - 3, name);
	}
	snprintf(text + length, sizeof text - length, "%s", more);
	return kp_arena_copy(gathering->names, text, strlen(text));
}

static size_t limit(const struct kp_view *view, size_t count)
{
	return view->top && view->top < count ? (size_t)view->top : count;
}

/* Adds a row's numbers to the one that stands for the rest. */
static void add_to_rest(struct kp_table_row *rest, uint64_t calls,
			const struct kp_durations *durations, const struct kp_estimate *estimate,
			const struct kp_host_times *host, const struct kp_shares *shares)
{
	rest->rest++;
	rest->calls += calls;
	rest->durations.timed += durations->timed;
	rest->durations.total_ns += durations->total_ns;
	rest->estimate.total_ns += estimate->total_ns;
	rest->estimate.calls += estimate->calls;
	rest->host.tied += host->tied;
	rest->host.call.timed += host->call.timed;
	rest->host.call.total_ns += host->call.total_ns;
	rest->shares.kernel_pct += shares->kernel_pct;
	rest->shares.busy_pct += shares->busy_pct;
	rest->shares.span_pct += shares->span_pct;
}

static enum kp_status add_kernel(struct gathering *gathering, const struct kp_kernel_row *kernel,
				 unsigned depth)
{
	struct kp_table_row *row = &gathering->rows[gathering->count++];

	*row = (struct kp_table_row){
		.name = name_of(gathering, kernel),
		.operator_name = gathering->report->operators[kernel->operator_index].name,
		.depth = depth,
		.calls = kernel->calls,
		.durations = kernel->durations,
		.estimate = kernel->estimate,
		.host = kernel->host,
		.shares = kernel->shares,
		.traffic = gathering->report->traffic.any ? &kernel->traffic : NULL,
		.marked = kernel->above_threshold,
	};
	return row->name ? KP_OK : KP_NO_MEMORY;
}

/*
 * The kernels of one operator, or of one variant of it, largest first, and a row for those that are
 * not shown.
 */
static enum kp_status add_beneath(struct gathering *gathering,
				  const struct kp_operator_row *operator, const size_t * variant,
				  unsigned depth)
{
	const struct kp_kernel_row *kernels = &gathering->report->kernels[operator->first_kernel];
	size_t shown = limit(gathering->view, operator->kernel_count), seen = 0;
	struct kp_table_row rest = {.depth = depth, .rest_of = "kernel"};
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < operator->kernel_count && status == KP_OK; i++) {
		if (variant && kernels[i].variant_index != *variant)
			continue;
		if (seen++ < shown)
			status = add_kernel(gathering, &kernels[i], depth);
		else
			add_to_rest(&rest, kernels[i].calls, &kernels[i].durations,
				    &kernels[i].estimate, &kernels[i].host, &kernels[i].shares);
	}
	if (rest.rest > 0)
		gathering->rows[gathering->count++] = rest;
	return status;
}

/* The variants of one operator, all of them: they are few. */
static enum kp_status add_variants(struct gathering *gathering,
				   const struct kp_operator_row *operator)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < operator->variant_count && status == KP_OK; i++) {
		size_t number = operator->first_variant + i;
		const struct kp_variant_row *variant = &gathering->report->variants[number];

		gathering->rows[gathering->count++] = (struct kp_table_row){
			.name = variant->name ? variant->name : "(not told)",
			.depth = 1,
			.calls = variant->calls,
			.durations = variant->durations,
			.estimate = variant->estimate,
			.shares = variant->shares,
			.marked = variant->above_threshold,
		};
		status = add_beneath(gathering, operator, & number, 2);
	}
	return status;
}

static enum kp_status gather_operators(struct gathering *gathering)
{
	const struct kp_report *report = gathering->report;
	size_t shown = limit(gathering->view, report->operator_count);
	struct kp_table_row rest = {.rest_of = "operator"};
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < shown && status == KP_OK; i++) {
		const struct kp_operator_row *operator= & report->operators[i];
		gathering->rows[gathering->count++] = (struct kp_table_row){
			.name = operator_name_of(gathering, operator),
			.calls = operator->calls,
			.durations = operator->durations,
			.estimate = operator->estimate,
			.host = operator->host,
			.shares = operator->shares,
			.traffic = report->traffic.any ? &operator->traffic : NULL,
			.marked = operator->above_threshold, };
		if (!gathering->rows[gathering->count - 1].name)
			return KP_NO_MEMORY;
		status = gathering->view->by == KP_BY_VARIANT
				 ? add_variants(gathering, operator)
				 : add_beneath(gathering, operator, NULL, 1);
	}
	for (size_t i = shown; i < report->operator_count; i++)
		add_to_rest(&rest, report->operators[i].calls, &report->operators[i].durations,
			    &report->operators[i].estimate, &report->operators[i].host,
			    &report->operators[i].shares);
	if (rest.rest > 0)
		gathering->rows[gathering->count++] = rest;
	return status;
}

static enum kp_status gather_kernels(struct gathering *gathering)
{
	const struct kp_report *report = gathering->report;
	size_t shown = limit(gathering->view, report->whole_count);
	struct kp_table_row rest = {.rest_of = "kernel"};
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < shown && status == KP_OK; i++) {
		const char *operators = operators_of(gathering, &report->wholes[i]);

		status = add_kernel(gathering, &report->wholes[i].row, 0);
		gathering->rows[gathering->count - 1].operator_name = operators;
		status = operators ? status : KP_NO_MEMORY;
	}
	for (size_t i = shown; i < report->whole_count; i++) {
		const struct kp_kernel_row *kernel = &report->wholes[i].row;
		add_to_rest(&rest, kernel->calls, &kernel->durations, &kernel->estimate,
			    &kernel->host, &kernel->shares);
	}
	if (rest.rest > 0)
		gathering->rows[gathering->count++] = rest;
	return status;
}

static void print_ranking(FILE *file, const struct gathering *gathering)
{
	const struct kp_view *view = gathering->view;
	const struct kp_table table = {
		.kind = KP_TABLE_RANKING,
		.name_title = view->by == KP_BY_KERNEL    ? "Kernel"
			      : view->by == KP_BY_VARIANT ? "Operator/Variant/Kernel"
							  : "Operator/Kernel",
		.rows = gathering->rows,
		.row_count = gathering->count,
		.traffic = gathering->report->traffic.any,
		.estimates = gathering->report->windows.scaled,
	};
	char left_out[128];
	bool any = false;

	fputc('\n', file);
	kp_table_print(file, &table, view, left_out, sizeof left_out);
	for (size_t i = 0; i < gathering->count; i++)
		any |= gathering->rows[i].marked;
	fputc('\n', file);
	if (view->shares)
		kp_text_wrap(file,
			     "Kernel, Busy, Span: shares of the sum of all kernel times, of the "
			     "time in which any kernel ran, and of the whole span; Alone: the part "
			     "of the span in which nothing else ran.",
			     0, 0, view->width);
	if (table.estimates)
		kp_text_wrap(file,
			     "~ the whole run, estimated from the windows; ±95%: half the width of "
			     "the 95 % confidence interval. All else is of what was recorded.",
			     0, 0, view->width);
	if (table.traffic)
		kp_print_traffic_notes(file, gathering->report, view);
	if (any)
		fprintf(file, "* more than %g%% of kernel time\n",
			gathering->report->options.threshold_pct);
	if (left_out[0]) {
		char text[sizeof left_out + 80];

		snprintf(text, sizeof text,
			 "No room for %s: widen the terminal, or use --format yaml.", left_out);
		kp_text_wrap(file, text, 0, 0, view->width);
	}
}

static enum kp_status print_memops(FILE *file, const struct kp_report *report,
				   const struct kp_view *view)
{
	struct kp_table_row *rows = calloc(report->memop_count, sizeof *rows);
	char left_out[128];

	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < report->memop_count; i++) {
		rows[i].name = report->memops[i].name;
		rows[i].calls = report->memops[i].calls;
		rows[i].bytes = report->memops[i].bytes;
		rows[i].durations = report->memops[i].durations;
	}
	const struct kp_table table = {
		KP_TABLE_MEMOPS, "Memory operation", rows, report->memop_count, false, false};
	fputc('\n', file);
	kp_table_print(file, &table, view, left_out, sizeof left_out);
	free(rows);
	return KP_OK;
}

/* The rows of the ranking again, with what their launches took on the CPU. */
static void print_host(FILE *file, const struct gathering *gathering)
{
	const struct kp_view *view = gathering->view;
	const struct kp_table table = {
		.kind = KP_TABLE_HOST,
		.name_title = view->by == KP_BY_KERNEL ? "Kernel" : "Operator/Kernel",
		.rows = gathering->rows,
		.row_count = gathering->count,
	};
	char left_out[128];

	fputc('\n', file);
	kp_table_print(file, &table, view, left_out, sizeof left_out);
	fputc('\n', file);
	kp_text_wrap(file,
		     "Call: the median time of a launch's call, that of a graph's launch divided "
		     "among its kernels. Queue: from there to the kernel's start, of a graph's "
		     "first kernel. Tied: launches whose call is known.",
		     0, 0, view->width);
}

enum kp_status kp_print_text(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	struct gathering gathering = {.report = report, .view = view};
	/* Every operator and variant may have a row for its rest, and so may the table. */
	size_t room =
		report->kernel_count + 2 * report->operator_count + 2 * report->variant_count + 1;
	enum kp_status status = KP_NO_MEMORY;

	gathering.rows = calloc(room, sizeof *gathering.rows);
	gathering.names = kp_arena_create();
	if (!gathering.rows || !gathering.names)
		goto out;
	status = view->by == KP_BY_KERNEL ? gather_kernels(&gathering)
					  : gather_operators(&gathering);
	if (status != KP_OK)
		goto out;
	kp_print_header(file, report, view);
	if (view->by == KP_BY_PROCESS) {
		fputc('\n', file);
		status = kp_print_processes(file, report, view);
	}
	if (view->by == KP_BY_RANGE) {
		fputc('\n', file);
		status = kp_print_ranges(file, report, view);
	}
	if (status != KP_OK)
		goto out;
	if (gathering.count > 0)
		print_ranking(file, &gathering);
	if (gathering.count > 0 && report->host.any)
		print_host(file, &gathering);
	if (status == KP_OK && view->roofline)
		status = kp_print_roofline(file, report, view);
	if (view->shapes)
		kp_print_shapes(file, report, view);
	if (status == KP_OK && report->memop_count > 0)
		status = print_memops(file, report, view);
	kp_print_ranks(file, report, view);
	kp_print_timeline(file, report, view);
	kp_print_fusion(file, report, view);
	kp_print_findings(file, report, view);
	if (report->advice && report->findings.count == 0) {
		fputc('\n', file);
		kp_text_wrap(file, report->advice, 0, 0, view->width);
	}
out:
	kp_arena_destroy(gathering.names);
	free(gathering.rows);
	return status;
}
