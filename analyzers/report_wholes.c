/*
 * Kernels as wholes: the rows of one mangled name, which the order of launches may have divided
 * among operators, taken together; see report_build.h.
 */
#include "analyzers/report_build.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/report_counters.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_timeline.h"

/* A row on its way into the whole that it is a part of. */
struct piece {
	const struct kp_kernel_row *row;
	uint32_t number; /* of its kp_build_row */
};

/* By the bytes of the name. */
static int compare_mangled(const struct kp_kernel_row *a, const struct kp_kernel_row *b)
{
	size_t common =
		a->mangled_length < b->mangled_length ? a->mangled_length : b->mangled_length;
	int order = common ? memcmp(a->mangled, b->mangled, common) : 0;

	return order ? order : kp_build_order(a->mangled_length, b->mangled_length);
}

/* The parts of a whole together, that with most time first. */
static int compare_pieces(const void *left, const void *right)
{
	const struct kp_kernel_row *a = ((const struct piece *)left)->row;
	const struct kp_kernel_row *b = ((const struct piece *)right)->row;
	int order = compare_mangled(a, b);

	if (!order)
		order = kp_build_order(b->durations.total_ns, a->durations.total_ns);
	if (!order)
		order = kp_build_order(b->calls, a->calls);
	return order ? order : (a > b) - (a < b);
}

/* Most time first, then most calls, then by name. */
static int compare_wholes(const void *left, const void *right)
{
	const struct kp_kernel_row *a = &((const struct kp_whole_kernel *)left)->row;
	const struct kp_kernel_row *b = &((const struct kp_whole_kernel *)right)->row;
	int order = kp_build_order(b->durations.total_ns, a->durations.total_ns);

	if (!order)
		order = kp_build_order(b->calls, a->calls);
	if (!order)
		order = strcmp(a->full, b->full);
	return order ? order : compare_mangled(a, b);
}

/* The estimates of parts are sums as they are; their intervals add up to one that is no narrower
 * than that of the sum. */
static void add_estimate(struct kp_estimate *sum, const struct kp_estimate *part)
{
	sum->total_ns += part->total_ns;
	sum->total_ci95_ns += part->total_ci95_ns;
	sum->total_by_time_ns += part->total_by_time_ns;
	sum->calls += part->calls;
	sum->calls_ci95 += part->calls_ci95;
}

/* Adds an operator to those of a whole, if it is not among them. */
static void add_operator(struct kp_whole_kernel *whole, size_t *operators, size_t operator_index)
{
	for (size_t i = 0; i < whole->operator_count; i++)
		if (operators[i] == operator_index)
			return;
	operators[whole->operator_count++] = operator_index;
}

/* Joins what all rows know; the first has most time and says the rest. */
static enum kp_status join(struct kp_builder *builder, const struct piece *pieces, size_t count,
			   struct kp_whole_kernel *whole)
{
	struct kp_kernel_row *row = &whole->row;
	struct kp_duration_tally tally = {0};
	size_t *operators = kp_arena_alloc(builder->report->arena, count * sizeof(*operators));
	double part_ns = 0;

	if (!operators)
		return KP_NO_MEMORY;
	*whole = (struct kp_whole_kernel){.row = *pieces[0].row, .operators = operators};
	for (size_t i = 0; i < count; i++) {
		const struct kp_kernel_row *from = pieces[i].row;

		add_operator(whole, operators, from->operator_index);
		part_ns += kp_build_part(builder, pieces[i].number);
		if (kp_durations_merge(&tally, &builder->rows[pieces[i].number].tally,
				       builder->scratch) != KP_OK)
			return KP_NO_MEMORY;
		if (i == 0)
			continue;
		row->calls += from->calls;
		row->graph_calls += from->graph_calls;
		row->alone_ns = kp_add_saturating(row->alone_ns, from->alone_ns);
		row->path_ns = kp_add_saturating(row->path_ns, from->path_ns);
		add_estimate(&row->estimate, &from->estimate);
	}
	row->durations = kp_durations_result(&tally);
	row->shares = kp_build_shares(builder, row->durations.total_ns, part_ns);
	row->shares.alone_pct = kp_build_alone_pct(builder, row->alone_ns);
	row->shares.path_pct = kp_build_alone_pct(builder, row->path_ns);
	row->above_threshold = row->shares.kernel_pct > builder->report->options.threshold_pct;
	return KP_OK;
}

/* The traffic of a whole of several rows. */
static enum kp_status join_traffic(struct kp_builder *builder, const struct piece *pieces,
				   size_t count, struct kp_row_traffic *out)
{
	uint32_t *numbers = malloc(count * sizeof(*numbers));

	if (!numbers)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		numbers[i] = pieces[i].number;
	kp_build_traffic_rows(builder, numbers, count, out);
	free(numbers);
	return KP_OK;
}

/* whole_of[number of a row]: the whole that it is a part of. */
static enum kp_status join_all(struct kp_builder *builder, const struct piece *pieces,
			       struct kp_whole_kernel *wholes, size_t *whole_of, size_t *count)
{
	size_t total = builder->row_count;
	enum kp_status status = KP_OK;

	*count = 0;
	for (size_t i = 0, end; i < total && status == KP_OK; i = end) {
		for (end = i; end < total && compare_mangled(pieces[i].row, pieces[end].row) == 0;
		     end++)
			whole_of[pieces[end].number] = *count;
		status = join(builder, &pieces[i], end - i, &wholes[*count]);
		if (status == KP_OK && end - i > 1)
			status = join_traffic(builder, &pieces[i], end - i,
					      &wholes[*count].row.traffic);
		(*count)++;
	}
	return status;
}

/* What launches took on the CPU. */
static enum kp_status join_hosts(struct kp_builder *builder, const size_t *whole_of,
				 struct kp_whole_kernel *wholes, size_t count)
{
	struct kp_host_times *hosts = calloc(count + 1, sizeof(*hosts));
	enum kp_status status =
		hosts ? kp_build_host_groups(builder, whole_of, count, hosts) : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		wholes[i].row.host = hosts[i];
	free(hosts);
	return status;
}

enum kp_status kp_build_wholes(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;
	size_t total = builder->row_count, count = 0;
	struct piece *pieces = calloc(total + 1, sizeof(*pieces));
	size_t *whole_of = calloc(total + 1, sizeof(*whole_of));
	struct kp_whole_kernel *wholes =
		kp_arena_alloc(report->arena, (report->distinct_kernels + 1) * sizeof(*wholes));
	enum kp_status status = pieces && whole_of && wholes ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < total; i++)
		pieces[i] =
			(struct piece){&report->kernels[builder->kernel_of_row[i]], (uint32_t)i};
	if (status == KP_OK) {
		qsort(pieces, total, sizeof(*pieces), compare_pieces);
		status = join_all(builder, pieces, wholes, whole_of, &count);
	}
	if (status == KP_OK)
		status = join_hosts(builder, whole_of, wholes, count);
	if (status == KP_OK) {
		qsort(wholes, count, sizeof(*wholes), compare_wholes);
		report->wholes = wholes;
		report->whole_count = count;
	}
	free(whole_of);
	free(pieces);
	return status;
}
