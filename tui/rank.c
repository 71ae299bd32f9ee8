/* Rows of the ranking from a report; see rank.h. */
#include "tui/rank.h"

#include <stdlib.h>

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

enum kp_status kp_rank_of_report(struct kp_rank *rank, const struct kp_report *report)
{
	struct kp_ranked_row *rows =
		calloc(report->operator_count + report->kernel_count + 1, sizeof *rows);
	size_t count = 0;

	if (!rows)
		return KP_NO_MEMORY;
	kp_rank_fini(rank);
	*rank = (struct kp_rank){
		.rows = rows,
		.traffic = report->traffic.any,
		.shares = report->options.busy_shares,
		.estimated = report->windows.scaled,
	};
	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];
		size_t parent = count;

		rows[count++] = of_operator(report, row);
		rank->calls += rank->estimated ? row->estimate.calls : (double)row->calls;
		for (size_t k = 0; k < row->kernel_count; k++) {
			rows[count] = of_kernel(report, row->first_kernel + k);
			rows[count++].operator_row = parent;
		}
	}
	rank->count = count;
	return KP_OK;
}

void kp_rank_fini(struct kp_rank *rank)
{
	free(rank->rows);
	*rank = (struct kp_rank){0};
}
