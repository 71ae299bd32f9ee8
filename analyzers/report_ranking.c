/* The ranking itself: operators, and kernels within and across them; see report_build.h. */
#include "analyzers/report_build.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_shapes.h"
#include "analyzers/report_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/report_counters.h"

/* An operator or a variant of one on its way into the report. */
struct group {
	struct kp_durations durations;
	struct kp_duration_tally tally;
	uint64_t calls;
	size_t kernel_count;
	double part_ns;
	const char *name;     /* of the rules; NULL: a variant without one */
	size_t index, parent; /* in the rules; of a variant: the place of its operator */
};

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;
	int order = kp_build_order(a->parent, b->parent);

	if (!order)
		order = kp_build_order(b->durations.total_ns, a->durations.total_ns);
	if (!order)
		order = kp_build_order(b->calls, a->calls);
	return order ? order : strcmp(a->name ? a->name : "", b->name ? b->name : "");
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

static enum kp_status add_to_group(struct kp_builder *builder, struct group *group, uint32_t number)
{
	const struct kp_build_row *from = &builder->rows[number];

	group->calls += from->calls;
	group->kernel_count++;
	group->part_ns += kp_build_part(builder, number);
	return kp_durations_merge(&group->tally, &from->tally, builder->scratch);
}

/* Drops groups without kernels and sorts the others; *count: how many those are. */
static void rank_groups(struct group *groups, size_t known, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < known; i++) {
		if (!groups[i].kernel_count)
			continue;
		groups[*count] = groups[i];
		groups[*count].durations = kp_durations_result(&groups[i].tally);
		(*count)++;
	}
	qsort(groups, *count, sizeof(*groups), compare_groups);
}

static enum kp_status rank_operators(struct kp_builder *builder,
				     const struct kp_build_draft *drafts, struct group *groups,
				     size_t *count)
{
	size_t known = kp_operators_count(builder->operators);

	for (size_t i = 0; i < known; i++) {
		groups[i].index = i;
		groups[i].name = kp_operators_name(builder->operators, i);
	}
	for (size_t i = 0; i < builder->row_count; i++)
		if (add_to_group(builder, &groups[drafts[i].row.operator_index],
				 drafts[i].number) != KP_OK)
			return KP_NO_MEMORY;
	rank_groups(groups, known, count);
	return KP_OK;
}

/* place[operator in the rules]: its place in the report. */
static enum kp_status rank_variants(struct kp_builder *builder, const struct kp_build_draft *drafts,
				    const size_t *place, struct group *groups, size_t *count)
{
	size_t known = kp_operators_variant_count(builder->operators);

	for (size_t i = 0; i < known; i++) {
		struct kp_variant variant = kp_operators_variant(builder->operators, i);

		groups[i].index = i;
		groups[i].name = variant.name;
		groups[i].parent = place[variant.operator_index];
	}
	for (size_t i = 0; i < builder->row_count; i++)
		if (add_to_group(builder, &groups[drafts[i].row.variant_index], drafts[i].number) !=
		    KP_OK)
			return KP_NO_MEMORY;
	rank_groups(groups, known, count);
	return KP_OK;
}

/* A copy of a name of the rules, which the report outlives. */
static enum kp_status copy_name(struct kp_builder *builder, const char *name, const char **out)
{
	*out = name ? kp_arena_copy(builder->report->arena, name, strlen(name)) : NULL;
	return name && !*out ? KP_NO_MEMORY : KP_OK;
}

/* Puts the operators into the report as *out; place[index in the rules]: where each went. */
static enum kp_status put_operators(struct kp_builder *builder, const struct group *groups,
				    size_t count, const struct kp_host_times *hosts, size_t *place,
				    struct kp_operator_row **out)
{
	struct kp_report *report = builder->report;
	struct kp_operator_row *rows = kp_arena_alloc(report->arena, (count + 1) * sizeof(*rows));
	size_t first_kernel = 0;

	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct group *group = &groups[i];

		if (copy_name(builder, group->name, &rows[i].name) != KP_OK)
			return KP_NO_MEMORY;
		rows[i].calls = group->calls;
		rows[i].durations = group->durations;
		rows[i].shares =
			kp_build_shares(builder, group->durations.total_ns, group->part_ns);
		rows[i].above_threshold = rows[i].shares.kernel_pct > report->options.threshold_pct;
		rows[i].estimate = kp_build_windows_operator(builder, group->index);
		rows[i].host = hosts[group->index];
		kp_build_traffic_operator(builder, group->index, &rows[i].traffic);
		rows[i].stability = kp_build_shapes_operator(builder, group->index);
		if (!rows[i].stability)
			return KP_NO_MEMORY;
		rows[i].alone_ns = kp_build_timeline_operator(builder, group->index);
		rows[i].shares.alone_pct = kp_build_alone_pct(builder, rows[i].alone_ns);
		rows[i].path_ns = kp_build_path_operator(builder, group->index);
		rows[i].shares.path_pct = kp_build_alone_pct(builder, rows[i].path_ns);
		rows[i].first_kernel = first_kernel;
		rows[i].kernel_count = group->kernel_count;
		first_kernel += group->kernel_count;
		place[group->index] = i;
	}
	*out = rows;
	report->operators = rows;
	report->operator_count = count;
	return KP_OK;
}

/* Likewise the variants, of which the operators then know theirs. */
static enum kp_status put_variants(struct kp_builder *builder, const struct group *groups,
				   size_t count, size_t *place, struct kp_operator_row *operators)
{
	struct kp_report *report = builder->report;
	struct kp_variant_row *rows = kp_arena_alloc(report->arena, (count + 1) * sizeof(*rows));

	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct group *group = &groups[i];

		if (copy_name(builder, group->name, &rows[i].name) != KP_OK)
			return KP_NO_MEMORY;
		rows[i].operator_index = group->parent;
		rows[i].calls = group->calls;
		rows[i].durations = group->durations;
		rows[i].shares =
			kp_build_shares(builder, group->durations.total_ns, group->part_ns);
		rows[i].above_threshold = rows[i].shares.kernel_pct > report->options.threshold_pct;
		rows[i].estimate = kp_build_windows_variant(builder, group->index);
		rows[i].kernel_count = group->kernel_count;
		if (!operators[group->parent].variant_count++)
			operators[group->parent].first_variant = i;
		place[group->index] = i;
	}
	report->variants = rows;
	report->variant_count = count;
	return KP_OK;
}

/* Puts the kernels into the report, grouped, with an index by time. Reorders the drafts. */
static enum kp_status put_kernels(struct kp_builder *builder, struct kp_build_draft *drafts,
				  const size_t *place, const size_t *variant_place)
{
	struct kp_report *report = builder->report;
	size_t count = builder->row_count;
	struct kp_kernel_row *rows = kp_arena_alloc(report->arena, (count + 1) * sizeof(*rows));
	size_t *by_time = kp_arena_alloc(report->arena, (count + 1) * sizeof(*by_time));
	size_t *places = kp_arena_alloc(builder->scratch, (count + 1) * sizeof(*places));

	if (!rows || !by_time || !places)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		drafts[i].row.operator_index = place[drafts[i].row.operator_index];
		drafts[i].row.variant_index = variant_place[drafts[i].row.variant_index];
	}
	qsort(drafts, count, sizeof(*drafts), compare_in_operator);
	if (kp_build_shapes_place(builder, drafts, count) != KP_OK)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		rows[i] = drafts[i].row;
		places[drafts[i].number] = i;
		drafts[i].number = (uint32_t)i; /* from now on: the place among the kernels */
	}
	qsort(drafts, count, sizeof(*drafts), compare_time);
	for (size_t i = 0; i < count; i++)
		by_time[i] = drafts[i].number;
	report->kernels = rows;
	report->kernel_count = count;
	report->kernels_by_time = by_time;
	builder->kernel_of_row = places;
	return KP_OK;
}

/* What of an operator's time is work of several kernels, which the order of launches says. */
static void mark_written_out(const struct kp_report *report, struct kp_operator_row *operators)
{
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[i];
		struct kp_operator_row *row = &operators[kernel->operator_index];

		if (kernel->label_source == KP_LABEL_SEQUENCE)
			row->written_out_ns =
				kp_add_saturating(row->written_out_ns, kernel->durations.total_ns);
	}
}

/* What the tables are made of, while they are. */
struct workshop {
	struct kp_build_draft *drafts;
	struct group *operators, *variants;
	size_t *place, *variant_place; /* of operators and variants of the rules in the report */
	struct kp_host_times *hosts;   /* of operators of the rules */
};

static enum kp_status open_workshop(struct kp_builder *builder, struct workshop *shop)
{
	size_t operators = kp_operators_count(builder->operators);
	size_t variants = kp_operators_variant_count(builder->operators);

	shop->operators = calloc(operators, sizeof(*shop->operators));
	shop->variants = calloc(variants, sizeof(*shop->variants));
	shop->place = calloc(operators, sizeof(*shop->place));
	shop->variant_place = calloc(variants, sizeof(*shop->variant_place));
	shop->hosts = calloc(operators, sizeof(*shop->hosts));
	if (!shop->operators || !shop->variants || !shop->place || !shop->variant_place ||
	    !shop->hosts)
		return KP_NO_MEMORY;
	return kp_build_drafts(builder, &shop->drafts);
}

static void close_workshop(struct workshop *shop)
{
	free(shop->drafts);
	free(shop->hosts);
	free(shop->variant_place);
	free(shop->place);
	free(shop->variants);
	free(shop->operators);
}

/* The tables one after the other: each needs the places of the one before. */
enum kp_status kp_build_ranking(struct kp_builder *builder)
{
	struct workshop shop = {0};
	struct kp_operator_row *rows = NULL;
	size_t count = 0;
	enum kp_status status = open_workshop(builder, &shop);

	if (status == KP_OK)
		status = rank_operators(builder, shop.drafts, shop.operators, &count);
	if (status == KP_OK)
		status = kp_build_host_operators(builder, shop.drafts, shop.hosts);
	if (status == KP_OK)
		status = put_operators(builder, shop.operators, count, shop.hosts, shop.place,
				       &rows);
	if (status == KP_OK)
		status = rank_variants(builder, shop.drafts, shop.place, shop.variants, &count);
	if (status == KP_OK)
		status = put_variants(builder, shop.variants, count, shop.variant_place, rows);
	if (status == KP_OK)
		status = put_kernels(builder, shop.drafts, shop.place, shop.variant_place);
	if (status == KP_OK)
		mark_written_out(builder->report, rows);
	close_workshop(&shop);
	return status;
}
