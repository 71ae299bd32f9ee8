/* The rows of ranges, into the report; and what is asked of them there. See ranges.h. */
#include "analyzers/ranges_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/demangle.h"

/* Adds what the ranges themselves kept to their rows. */
static void add_nodes(struct kp_build_ranges *ranges, const struct kp_range_index *index)
{
	for (size_t i = 0; i < index->stack_count; i++) {
		const struct kp_range_stack *stack = &index->stacks[i];

		for (size_t k = 0; k < stack->linked; k++) {
			const struct kp_range_node *node = &stack->nodes[k];
			struct kp_ranges_row *row;

			if (node->row == KP_RANGE_NONE || !node->last_ns)
				continue;
			row = &ranges->rows[node->row];
			row->busy_ns = kp_add_saturating(row->busy_ns, node->busy_ns);
			row->idle_ns = kp_add_saturating(
				row->idle_ns, node->last_ns - node->first_ns - node->busy_ns);
		}
	}
}

/* ---- the order of rows ---- */

struct order {
	const struct kp_build_ranges *ranges;
	uint32_t *rank; /* place of each text in order of its bytes */
};

static int by_bytes(const void *left, const void *right, void *context)
{
	const struct kp_intern *texts = context;
	size_t a_length, b_length, least;
	const uint8_t *a = kp_intern_bytes(texts, *(const uint32_t *)left, &a_length);
	const uint8_t *b = kp_intern_bytes(texts, *(const uint32_t *)right, &b_length);
	int result;

	least = a_length < b_length ? a_length : b_length;
	result = least ? memcmp(a, b, least) : 0;
	return result ? result : kp_build_order(a_length, b_length);
}

/* Those of one parent together; among them by domain, then the largest first. */
static int by_place(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct kp_ranges_row *a = &order->ranges->rows[*(const uint32_t *)left];
	const struct kp_ranges_row *b = &order->ranges->rows[*(const uint32_t *)right];
	int result = kp_build_order((uint32_t)(a->parent + 1), (uint32_t)(b->parent + 1));

	if (!result)
		result = kp_build_order(order->rank[a->domain], order->rank[b->domain]);
	if (!result)
		result = kp_build_order(a->of_process, b->of_process);
	if (!result)
		result = kp_build_order(b->kernel_ns, a->kernel_ns);
	if (!result)
		result = kp_build_order(b->host_ns, a->host_ns);
	return result ? result : kp_build_order(order->rank[a->name], order->rank[b->name]);
}

struct putting {
	struct kp_builder *builder;
	const uint32_t *sorted; /* by parent */
	size_t *first;          /* of each parent, plus one, in `sorted`; and the end */
	size_t *place;          /* of each row in the report */
	const char **names;     /* of each text */
	struct kp_range_row *rows;
	size_t count;
};

/* A row, and behind it those that it encloses. No deeper than KP_RANGE_DEPTH_MOST. */
static void put_row(struct putting *putting, uint32_t number) /* NOLINT(misc-no-recursion) */
{
	const struct kp_report *report = putting->builder->report;
	const struct kp_ranges_row *from = &putting->builder->ranges->rows[number];
	bool outer = from->parent == KP_RANGE_NONE;

	putting->place[number] = putting->count;
	putting->rows[putting->count++] = (struct kp_range_row){
		.name = putting->names[from->name],
		.domain = putting->names[from->domain],
		.parent = outer ? KP_RANGE_NO_PARENT : putting->place[from->parent],
		.depth = from->depth,
		.of_process = from->of_process,
		.calls = from->calls,
		.host_ns = from->host_ns,
		.first_ns = from->first_ns,
		.last_ns = from->last_ns,
		.kernels = from->kernels,
		.kernel_ns = from->kernel_ns,
		.own_kernels = from->own_kernels,
		.own_kernel_ns = from->own_kernel_ns,
		.busy_ns = from->busy_ns,
		.idle_ns = from->idle_ns,
		.kernel_pct = report->kernel_ns
				      ? 100 * (double)from->kernel_ns / (double)report->kernel_ns
				      : 0,
	};
	for (size_t i = putting->first[number + 1]; i < putting->first[number + 2]; i++)
		put_row(putting, putting->sorted[i]);
}

/* Where the rows of each parent begin in `sorted`, which is in order of parents. */
static void find_first(const struct kp_build_ranges *ranges, const uint32_t *sorted, size_t *first)
{
	size_t at = 0;

	for (size_t parent = 0; parent < ranges->row_count + 2; parent++) {
		while (at < ranges->row_count &&
		       (uint32_t)(ranges->rows[sorted[at]].parent + 1) < parent)
			at++;
		first[parent] = at;
	}
}

static enum kp_status name_texts(struct putting *putting)
{
	struct kp_build_ranges *ranges = putting->builder->ranges;
	enum kp_status status = KP_OK;

	for (uint32_t i = 0; status == KP_OK && i < ranges->texts.count; i++) {
		struct kp_text text;

		text.bytes = (const char *)kp_intern_bytes(&ranges->texts, i, &text.length);
		putting->names[i] = kp_demangle_escape(putting->builder->report->arena, text);
		status = putting->names[i] ? KP_OK : KP_NO_MEMORY;
	}
	return status;
}

static enum kp_status rank_texts(const struct kp_build_ranges *ranges, uint32_t *rank)
{
	uint32_t *sorted = calloc(ranges->texts.count + 1, sizeof(*sorted));

	if (!sorted)
		return KP_NO_MEMORY;
	for (uint32_t i = 0; i < ranges->texts.count; i++)
		sorted[i] = i;
	qsort_r(sorted, ranges->texts.count, sizeof(*sorted), by_bytes, (void *)&ranges->texts);
	for (uint32_t i = 0; i < ranges->texts.count; i++)
		rank[sorted[i]] = i;
	free(sorted);
	return KP_OK;
}

static enum kp_status put_rows(struct kp_builder *builder, struct kp_report_ranges *out)
{
	struct kp_build_ranges *ranges = builder->ranges;
	size_t count = ranges->row_count;
	uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	struct order order = {ranges, calloc(ranges->texts.count + 1, sizeof(*order.rank))};
	struct putting putting = {
		.builder = builder,
		.sorted = sorted,
		.first = calloc(count + 2, sizeof(*putting.first)),
		.place = calloc(count + 1, sizeof(*putting.place)),
		.names = calloc(ranges->texts.count + 1, sizeof(*putting.names)),
		.rows = kp_arena_alloc(builder->report->arena, (count + 1) * sizeof(*out->rows)),
	};
	enum kp_status status = KP_NO_MEMORY;

	if (sorted && order.rank && putting.first && putting.place && putting.names && putting.rows)
		status = name_texts(&putting);
	if (status == KP_OK)
		status = rank_texts(ranges, order.rank);
	if (status == KP_OK) {
		for (uint32_t i = 0; i < count; i++)
			sorted[i] = i;
		qsort_r(sorted, count, sizeof(*sorted), by_place, &order);
		find_first(ranges, sorted, putting.first);
		for (size_t i = putting.first[0]; i < putting.first[1]; i++)
			put_row(&putting, sorted[i]);
		out->rows = putting.rows;
		out->row_count = putting.count;
		status = kp_ranges_put_callers(builder, putting.place, out);
	}
	free(sorted);
	free(order.rank);
	free(putting.first);
	free(putting.place);
	free(putting.names);
	return status;
}

/* How ownership is known, over all processes that have ranges and kernels. */
static void put_by(const struct kp_builder *builder, struct kp_report_ranges *out)
{
	bool by_launch = false, by_time = false;

	for (size_t i = 0; i < kp_reader_process_count(builder->reader); i++) {
		const struct kp_ranges_process *own = &builder->ranges->processes[i];

		if (!own->any || !builder->processes[i].kernels)
			continue;
		by_launch |= !own->doubt;
		by_time |= own->doubt != NULL;
		if (own->doubt && !out->why_time)
			out->why_time = own->doubt;
	}
	out->by = by_launch && by_time ? KP_OWNED_BY_MIXED
		  : by_launch          ? KP_OWNED_BY_LAUNCH
		  : by_time            ? KP_OWNED_BY_TIME
				       : KP_OWNED_BY_NONE;
}

enum kp_status kp_build_ranges_put(struct kp_builder *builder)
{
	struct kp_build_ranges *ranges = builder->ranges;
	struct kp_report_ranges *out;

	if (!ranges)
		return KP_OK;
	out = kp_arena_alloc(builder->report->arena, sizeof(*out));
	if (!out)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < kp_reader_process_count(builder->reader); i++)
		add_nodes(ranges, &ranges->processes[i].index);
	out->ranges = ranges->ranges;
	out->left_out = ranges->left_out;
	out->owned = ranges->owned;
	out->outside = ranges->outside;
	out->unattributed = ranges->unattributed;
	out->owned_ns = ranges->owned_ns;
	out->outside_ns = ranges->outside_ns;
	out->unattributed_ns = ranges->unattributed_ns;
	for (size_t i = 0; i < ranges->row_count; i++)
		out->of_process |= ranges->rows[i].of_process;
	put_by(builder, out);
	builder->report->ranges = out;
	return put_rows(builder, out);
}

/* ---- what is asked of them ---- */

static bool is_of(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	if (length && wanted[length - 1] == '*')
		return strncmp(name, wanted, length - 1) == 0;
	return strcmp(name, wanted) == 0;
}

bool kp_ranges_count(const struct kp_report *report, const char *name, struct kp_range_count *out)
{
	const struct kp_report_ranges *ranges = report->ranges;

	*out = (struct kp_range_count){.per_second = NAN};
	for (size_t i = 0; ranges && i < ranges->row_count; i++) {
		const struct kp_range_row *row = &ranges->rows[i];

		if (!is_of(row->name, name) || !row->calls)
			continue;
		if (!out->count || row->first_ns < out->first_ns)
			out->first_ns = row->first_ns;
		if (row->last_ns > out->last_ns)
			out->last_ns = row->last_ns;
		out->count += row->calls;
	}
	if (out->last_ns > out->first_ns)
		out->per_second = (double)out->count * 1e9 / (double)(out->last_ns - out->first_ns);
	return out->count > 0;
}
