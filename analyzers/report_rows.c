/* Kernels: from accumulators to rows, still in order of name; see report_build.h. */
#include "analyzers/report_build.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/names.h"
#include "analyzers/report_counters.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_shapes.h"
#include "analyzers/report_timeline.h"

/* By full name, then by the bytes of the mangled one, then by what the label rests on: the order
 * that breaks all ties. */
int kp_build_compare_names(const void *left, const void *right)
{
	const struct kp_build_draft *a = left, *b = right;
	size_t common =
		a->mangled.length < b->mangled.length ? a->mangled.length : b->mangled.length;
	int order = strcmp(a->row.full, b->row.full);

	if (!order && common)
		order = memcmp(a->mangled.bytes, b->mangled.bytes, common);
	if (!order)
		order = kp_build_order(a->mangled.length, b->mangled.length);
	if (!order)
		order = kp_build_order(a->row.label_source, b->row.label_source);
	return order ? order : kp_build_order(a->row.variant_index, b->row.variant_index);
}

/* A launch configuration as far as rows tell them apart. */
struct shape {
	uint32_t number;
	const struct kp_launch_config *config;
	uint64_t calls, total_ns;
};

static int compare_shapes(const void *left, const void *right)
{
	const struct shape *a = left, *b = right;
	int order = kp_build_order(a->number, b->number);

	for (unsigned i = 0; !order && i < 3; i++)
		order = kp_build_order(a->config->grid[i], b->config->grid[i]);
	for (unsigned i = 0; !order && i < 3; i++)
		order = kp_build_order(a->config->block[i], b->config->block[i]);
	if (!order)
		order = kp_build_order(a->config->static_shared_bytes,
				       b->config->static_shared_bytes);
	if (!order)
		order = kp_build_order(a->config->dynamic_shared_bytes,
				       b->config->dynamic_shared_bytes);
	return order;
}

/* All configurations that were launched, sorted; free it. NULL without memory. */
static struct shape *collect_shapes(const struct kp_builder *builder, size_t *count)
{
	size_t processes = kp_reader_process_count(builder->reader), most = 1;
	struct shape *shapes;

	for (size_t p = 0; p < processes; p++)
		most += builder->processes[p].slots ? kp_build_process_at(builder, p)->config_count
						    : 0;
	shapes = malloc(most * sizeof(*shapes));
	*count = 0;
	for (size_t p = 0; shapes && p < processes; p++) {
		const struct kp_process *process = kp_build_process_at(builder, p);
		const struct kp_build_slot *slots = builder->processes[p].slots;

		for (size_t i = 0; slots && i < process->config_count; i++) {
			if (slots[i].row_plus_one)
				shapes[(*count)++] = (struct shape){
					slots[i].row_plus_one - 1, &process->configs[i],
					slots[i].calls, slots[i].total_ns};
		}
	}
	if (shapes)
		qsort(shapes, *count, sizeof(*shapes), compare_shapes);
	return shapes;
}

/* Whether a shape has more time than another, or as much and more calls. */
static bool outweighs(const struct shape *a, const struct shape *b)
{
	return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a->calls > b->calls;
}

/* Joins equal shapes and gives each row the number of its shapes and the one with most time. */
static void apply_shapes(const struct shape *shapes, size_t count, struct kp_kernel_row **rows)
{
	struct shape best = {0};

	for (size_t i = 0, end; i < count; i = end) {
		struct kp_kernel_row *row = rows[shapes[i].number];
		struct shape joined = shapes[i];

		for (end = i + 1; end < count && compare_shapes(&shapes[i], &shapes[end]) == 0;
		     end++) {
			joined.calls += shapes[end].calls;
			joined.total_ns += shapes[end].total_ns;
		}
		if (row->config_count++ == 0 || outweighs(&joined, &best)) {
			best = joined;
			memcpy(row->grid, best.config->grid, sizeof(row->grid));
			memcpy(row->block, best.config->block, sizeof(row->block));
			row->registers = best.config->registers;
			row->static_shared_bytes = best.config->static_shared_bytes;
			row->dynamic_shared_bytes = best.config->dynamic_shared_bytes;
		}
	}
}

/* The strings of a label, which outlive the rules. */
static enum kp_status copy_label(struct kp_builder *builder, const struct kp_label *label,
				 struct kp_kernel_row *row)
{
	const char *const from[] = {kp_operators_variant(builder->operators, label->variant).name,
				    label->library, label->dtype};
	const char **const to[] = {&row->variant, &row->library, &row->dtype};

	for (int i = 0; i < 3; i++) {
		*to[i] = from[i] ? kp_arena_copy(builder->report->arena, from[i], strlen(from[i]))
				 : NULL;
		if (from[i] && !*to[i])
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

static enum kp_status draft_row(struct kp_builder *builder, uint32_t number,
				struct kp_build_draft *draft)
{
	const struct kp_build_row *from = &builder->rows[number];
	struct kp_kernel_row *row = &draft->row;

	draft->number = number;
	draft->mangled = from->mangled;
	row->mangled = from->mangled.bytes;
	row->mangled_length = from->mangled.length;
	row->full = from->full;
	row->operator_index =
		kp_operators_variant(builder->operators, from->label.variant).operator_index;
	row->variant_index = from->label.variant;
	row->label_source = from->label.source;
	row->calls = from->calls;
	row->graph_calls = from->graph_calls;
	row->durations = kp_durations_result(&from->tally);
	row->estimate = kp_build_windows_row(builder, number);
	row->host = kp_build_host_row(builder, number);
	row->shares =
		kp_build_shares(builder, row->durations.total_ns, kp_build_part(builder, number));
	row->alone_ns = kp_build_timeline_row(builder, number);
	row->shares.alone_pct = kp_build_alone_pct(builder, row->alone_ns);
	row->path_ns = kp_build_path_row(builder, number);
	row->shares.path_pct = kp_build_alone_pct(builder, row->path_ns);
	row->above_threshold = row->shares.kernel_pct > builder->report->options.threshold_pct;
	kp_build_traffic_row(builder, number, row->operator_index, &row->traffic);
	return copy_label(builder, &from->label, row);
}

static bool same_kernel(const struct kp_build_draft *a, const struct kp_build_draft *b)
{
	return a->mangled.length == b->mangled.length &&
	       (!a->mangled.length ||
		memcmp(a->mangled.bytes, b->mangled.bytes, a->mangled.length) == 0);
}

/*
 * Short names, in the order of the full ones, so that numbering does not depend on the trace. Rows
 * of one kernel, which stand together, have one name.
 */
static enum kp_status shorten(struct kp_builder *builder, struct kp_build_draft *drafts,
			      size_t count)
{
	size_t distinct = 0;
	const char **full = malloc((count + 1) * sizeof(*full));
	const char **shortened = malloc((count + 1) * sizeof(*shortened));
	enum kp_status status = full && shortened ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		if (i == 0 || !same_kernel(&drafts[i - 1], &drafts[i]))
			full[distinct++] = drafts[i].row.full;
	if (status == KP_OK)
		status = kp_names_shorten_all(builder->report->arena, full, distinct, shortened);
	distinct = 0;
	for (size_t i = 0; status == KP_OK && i < count; i++) {
		distinct += i > 0 && !same_kernel(&drafts[i - 1], &drafts[i]);
		drafts[i].row.shortened = shortened[distinct];
	}
	builder->report->distinct_kernels = count ? distinct + 1 : 0;
	free(full);
	free(shortened);
	return status;
}

static void place_shapes(const struct shape *shapes, size_t count, struct kp_build_draft *drafts,
			 size_t draft_count, struct kp_kernel_row **by_number)
{
	for (size_t i = 0; i < draft_count; i++)
		by_number[drafts[i].number] = &drafts[i].row;
	apply_shapes(shapes, count, by_number);
}

enum kp_status kp_build_drafts(struct kp_builder *builder, struct kp_build_draft **out)
{
	size_t count = builder->row_count, shape_count = 0;
	struct kp_build_draft *drafts = calloc(count + 1, sizeof(*drafts));
	struct kp_kernel_row **by_number = malloc((count + 1) * sizeof(struct kp_kernel_row *));
	struct shape *shapes = collect_shapes(builder, &shape_count);
	enum kp_status status = drafts && by_number && shapes ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = draft_row(builder, (uint32_t)i, &drafts[i]);
	if (status == KP_OK) {
		qsort(drafts, count, sizeof(*drafts), kp_build_compare_names);
		place_shapes(shapes, shape_count, drafts, count, by_number);
		status = shorten(builder, drafts, count);
	}
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = kp_build_traffic_shapes(builder, drafts[i].number, &drafts[i].row);
	if (status == KP_OK)
		status = kp_build_shapes_kernels(builder, drafts, count);
	if (status != KP_OK) {
		free(drafts);
		drafts = NULL;
	}
	free(by_number);
	free(shapes);
	*out = drafts;
	return status;
}
