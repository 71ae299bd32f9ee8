/* Rows of the ranking from a report; see rank.h. */
#include "tui/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/arena.h"

static struct kp_ranked_row of_operator(const struct kp_report *report,
					const struct kp_operator_row *row)
{
	return (struct kp_ranked_row){
		.name = row->name,
		.operator_row = KP_RANK_NONE,
		.kernel = KP_RANK_NONE,
		.calls = row->calls,
		.durations = row->durations,
		.estimate = row->estimate,
		.shares = row->shares,
		.traffic = report->traffic.any ? &row->traffic : NULL,
		.children = (uint32_t)row->kernel_count,
		.marked = row->above_threshold,
	};
}

static struct kp_ranked_row of_kernel(const struct kp_report *report, size_t number)
{
	const struct kp_kernel_row *row = &report->kernels[number];

	return (struct kp_ranked_row){
		.name = row->shortened,
		.shown = row->shortened,
		.full = row->full,
		.kernel = number,
		.calls = row->calls,
		.durations = row->durations,
		.estimate = row->estimate,
		.shares = row->shares,
		.traffic = report->traffic.any ? &row->traffic : NULL,
		.marked = row->above_threshold,
	};
}

/* The name of an operator as the report shows it; NULL without memory. */
static const char *shown_of(struct kp_arena *arena, const struct kp_operator_row *row)
{
	const char *mark = kp_operator_mark(row);
	size_t size = strlen(row->name) + strlen(mark) + 1;
	char *text;

	if (!*mark)
		return row->name;
	text = kp_arena_alloc(arena, size);
	if (text)
		snprintf(text, size, "%s%s", row->name, mark);
	return text;
}

/* Adds an operator and its kernels. Errors: KP_NO_MEMORY. */
static enum kp_status add_operator(struct kp_rank *rank, const struct kp_report *report,
				   const struct kp_operator_row *row)
{
	size_t parent = rank->count;
	struct kp_ranked_row *out = &rank->rows[rank->count++];

	*out = of_operator(report, row);
	out->shown = shown_of(rank->arena, row);
	if (!out->shown)
		return KP_NO_MEMORY;
	rank->calls += rank->estimated ? row->estimate.calls : (double)row->calls;
	for (size_t k = 0; k < row->kernel_count; k++) {
		out = &rank->rows[rank->count++];
		*out = of_kernel(report, row->first_kernel + k);
		out->operator_row = parent;
	}
	return KP_OK;
}

enum kp_status kp_rank_of_report(struct kp_rank *rank, const struct kp_report *report)
{
	struct kp_ranked_row *rows =
		calloc(report->operator_count + report->kernel_count + 1, sizeof *rows);
	struct kp_arena *arena = kp_arena_create();
	enum kp_status status = KP_OK;
	struct kp_rank fresh;

	if (!rows || !arena) {
		free(rows);
		kp_arena_destroy(arena);
		return KP_NO_MEMORY;
	}
	fresh = (struct kp_rank){
		.arena = arena,
		.rows = rows,
		.traffic = report->traffic.any,
		.shares = report->options.busy_shares,
		.estimated = report->windows.scaled,
	};
	for (size_t i = 0; i < report->operator_count && status == KP_OK; i++)
		status = add_operator(&fresh, report, &report->operators[i]);
	if (status != KP_OK) {
		kp_rank_fini(&fresh);
		return status;
	}
	kp_rank_fini(rank);
	*rank = fresh;
	return KP_OK;
}

void kp_rank_fini(struct kp_rank *rank)
{
	free(rank->rows);
	kp_arena_destroy(rank->arena);
	*rank = (struct kp_rank){0};
}
