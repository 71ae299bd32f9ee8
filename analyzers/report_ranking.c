/* The ranking itself: operators, and kernels within and across them; see report_build.h. */
#include "analyzers/report_build.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/report_counters.h"

/* An operator on its way into the report. */
struct operator_draft {
	struct kp_operator_row row;
	struct kp_duration_tally tally;
	double part_ns;
	size_t index; /* in the rules */
};

static int compare_operators(const void *left, const void *right)
{
	const struct operator_draft *a = left, *b = right;
	int order = kp_build_order(b->row.durations.total_ns, a->row.durations.total_ns);

	if (!order)
		order = kp_build_order(b->row.calls, a->row.calls);
	return order ? order : strcmp(a->row.name, b->row.name);
}

/* Most time first, then most calls, then by name. */
static int compare_time(const void *left, const void *right)
{
	const struct kp_build_draft *a = left, *b = right;
	int order = kp_build_order(b->row.durations.total_ns, a->row.durations.total_ns);

	if (!order)
		order = kp_build_order(b->row.calls, a->row.calls);
	return order ? order : kp_build_compare_names(a, b);
}

static int compare_in_operator(const void *left, const void *right)
{
	const struct kp_build_draft *a = left, *b = right;
	int order = kp_build_order(a->row.operator_index, b->row.operator_index);

	return order ? order : compare_time(a, b);
}

/* Sums up operators and sorts them; those without kernels go. */
static enum kp_status rank_operators(struct kp_builder *builder,
				     const struct kp_build_draft *drafts,
				     struct operator_draft *operators, size_t *ranked)
{
	size_t known = kp_operators_count(builder->operators);

	for (size_t i = 0; i < builder->row_count; i++) {
		struct operator_draft *operator= & operators[drafts[i].row.operator_index];
		const struct kp_build_row *from = &builder->rows[drafts[i].number];

		operator->row.calls += from->calls;
		operator->row.kernel_count++;
		operator->part_ns += kp_build_part(builder, drafts[i].number);
		if (kp_durations_merge(&operator->tally, &from->tally, builder->scratch) != KP_OK)
			return KP_NO_MEMORY;
	}
	*ranked = 0;
	for (size_t i = 0; i < known; i++) {
		struct operator_draft operator= operators[i];

		if (!operator.row.kernel_count)
			continue;
		operator.index = i;
		operator.row.name = kp_operators_name(builder->operators, i);
		operator.row.durations = kp_durations_result(&operator.tally);
		operators[(*ranked)++] = operator;
	}
	qsort(operators, *ranked, sizeof(*operators), compare_operators);
	return KP_OK;
}

/* Puts the operators into the report; place[index in the rules]: where each went. */
static enum kp_status put_operators(struct kp_builder *builder,
				    const struct operator_draft *operators, size_t count,
				    const struct kp_host_times *hosts, size_t *place)
{
	struct kp_report *report = builder->report;
	struct kp_operator_row *rows = kp_arena_alloc(report->arena, (count + 1) * sizeof(*rows));
	size_t first_kernel = 0;

	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		rows[i] = operators[i].row;
		rows[i].name = kp_arena_copy(report->arena, rows[i].name, strlen(rows[i].name));
		if (!rows[i].name)
			return KP_NO_MEMORY;
		rows[i].shares =
			kp_build_shares(builder, rows[i].durations.total_ns, operators[i].part_ns);
		rows[i].above_threshold = rows[i].shares.kernel_pct > report->options.threshold_pct;
		rows[i].estimate = kp_build_windows_operator(builder, operators[i].index);
		rows[i].host = hosts[operators[i].index];
		kp_build_traffic_operator(builder, operators[i].index, &rows[i].traffic);
		rows[i].alone_ns = kp_build_timeline_operator(builder, operators[i].index);
		rows[i].shares.alone_pct = kp_build_alone_pct(builder, rows[i].alone_ns);
		rows[i].first_kernel = first_kernel;
		first_kernel += rows[i].kernel_count;
		place[operators[i].index] = i;
	}
	report->operators = rows;
	report->operator_count = count;
	return KP_OK;
}

/* Puts the kernels into the report, grouped, with an index by time. Reorders the drafts. */
static enum kp_status put_kernels(struct kp_builder *builder, struct kp_build_draft *drafts,
				  const size_t *place)
{
	struct kp_report *report = builder->report;
	size_t count = builder->row_count;
	struct kp_kernel_row *rows = kp_arena_alloc(report->arena, (count + 1) * sizeof(*rows));
	size_t *by_time = kp_arena_alloc(report->arena, (count + 1) * sizeof(*by_time));

	if (!rows || !by_time)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		drafts[i].row.operator_index = place[drafts[i].row.operator_index];
	qsort(drafts, count, sizeof(*drafts), compare_in_operator);
	for (size_t i = 0; i < count; i++) {
		rows[i] = drafts[i].row;
		drafts[i].number = (uint32_t)i; /* from now on: the place among the kernels */
	}
	qsort(drafts, count, sizeof(*drafts), compare_time);
	for (size_t i = 0; i < count; i++)
		by_time[i] = drafts[i].number;
	report->kernels = rows;
	report->kernel_count = count;
	report->kernels_by_time = by_time;
	return KP_OK;
}

enum kp_status kp_build_ranking(struct kp_builder *builder)
{
	size_t known = kp_operators_count(builder->operators), ranked = 0;
	struct operator_draft *operators = calloc(known, sizeof(*operators));
	size_t *place = calloc(known, sizeof(*place));
	struct kp_host_times *hosts = calloc(known, sizeof(*hosts));
	struct kp_build_draft *drafts = NULL;
	enum kp_status status = operators && place && hosts ? KP_OK : KP_NO_MEMORY;

	if (status == KP_OK)
		status = kp_build_drafts(builder, &drafts);
	if (status == KP_OK)
		status = rank_operators(builder, drafts, operators, &ranked);
	if (status == KP_OK)
		status = kp_build_host_operators(builder, drafts, hosts);
	if (status == KP_OK)
		status = put_operators(builder, operators, ranked, hosts, place);
	if (status == KP_OK)
		status = put_kernels(builder, drafts, place);
	free(drafts);
	free(hosts);
	free(place);
	free(operators);
	return status;
}
