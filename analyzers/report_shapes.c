/*
 * Shapes of a report's kernels and operators: from launch configurations to what shapes.h says.
 *
 * Counts and times come from the builder's slots, one a configuration, less what is tied to library
 * calls (report_calls.h), so nothing is done for a launch but noting the first of each. Exact;
 * memory grows with the configurations of the trace, as the reader's own tables do, never with
 * launches.
 */
#include "analyzers/report_shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/report_calls.h"
#include "analyzers/report_trials.h"
#include "analyzers/shape_stability.h"

/* Of launches with one grid and block, so many may be of an unknown call. */
#define UNTIED_PCT 5.0

struct kp_build_shapes {
	struct kp_shape_use *uses; /* grouped by operator, then by row */
	size_t count;
	size_t *operators;         /* of each row, in the rules */
	uint32_t *grows;           /* of each row */
	struct kp_stability **all; /* all that were made, to be placed */
	size_t made, room;
};

/* An operator and its rows stand together; by the order of appearance within. */
struct sorting {
	size_t operator_index;
	struct kp_shape_use use;
};

static int compare_uses(const void *left, const void *right)
{
	const struct sorting *a = left, *b = right;
	int order = kp_build_order(a->operator_index, b->operator_index);

	if (!order)
		order = kp_build_order(a->use.row, b->use.row);
	if (!order)
		order = kp_build_order(a->use.process, b->use.process);
	return order ? order : kp_build_order(a->use.first, b->use.first);
}

static bool has_grid(const struct kp_shape_use *use, const struct kp_shape_row *shape)
{
	return memcmp(shape->grid, use->config->grid, sizeof(shape->grid)) == 0 &&
	       memcmp(shape->block, use->config->block, sizeof(shape->block)) == 0;
}

static bool same_call(const struct kp_shape_use *a, const struct kp_shape_use *b)
{
	uint32_t dims = kp_shape_dims_of(KP_SHAPE_FROM_CALL);
	bool same = a->names == b->names;

	for (enum kp_shape_dim dim = 0; same && dims >> dim; dim++)
		same = !(dims >> dim & 1U) || kp_shape_dim(a, dim) == kp_shape_dim(b, dim);
	return same;
}

/*
 * Whether all launches with a grid and block are alike: of one library call's shape, but for a few
 * of which no call is known. What they moved is known on average only.
 */
static bool are_alike(const struct kp_shape_use *uses, size_t count,
		      const struct kp_shape_row *shape)
{
	const struct kp_shape_use *called = NULL;
	double launches = 0, untied = 0;

	for (size_t i = 0; i < count; i++) {
		if (!has_grid(&uses[i], shape))
			continue;
		if (called && uses[i].call && !same_call(called, &uses[i]))
			return false;
		called = uses[i].call ? &uses[i] : called;
		launches += (double)uses[i].launches;
		untied += uses[i].call ? 0 : (double)uses[i].launches;
	}
	return !called || untied * 100 <= UNTIED_PCT * launches;
}

/* Bytes that the uses of a kernel moved, where its traffic by grid and block tells. */
static void set_bytes(struct kp_shape_use *uses, size_t count, const struct kp_kernel_row *kernel)
{
	for (size_t i = 0; i < count; i++)
		uses[i].bytes = NAN;
	for (size_t k = 0; k < kernel->shape_count; k++) {
		const struct kp_shape_row *shape = &kernel->shapes[k];

		if (!shape->traffic.source || !are_alike(uses, count, shape))
			continue;
		for (size_t i = 0; i < count; i++) {
			if (!has_grid(&uses[i], shape))
				continue;
			uses[i].bytes_source = shape->traffic.source;
			uses[i].bytes = shape->traffic.bytes * (double)uses[i].launches;
		}
	}
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Takes the trials of a compiler out of a configuration's launches. */
static void take_trials(const struct kp_builder *builder, size_t config, struct kp_shape_use *use)
{
	struct kp_build_trial trial = kp_build_trials_of(builder, use->process, config);

	use->trials = trial.launches < use->launches ? trial.launches : use->launches;
	use->trial_ns = trial.total_ns < use->total_ns ? trial.total_ns : use->total_ns;
	use->launches = use->calls = use->launches - use->trials;
	use->total_ns -= use->trial_ns;
	use->graph_launches = less(use->graph_launches, trial.graph_launches);
}

/* What a configuration's launches outside of library calls are: as yet all of them. */
static struct kp_shape_use use_of(const struct kp_process *process, size_t config,
				  const struct kp_build_slot *slot)
{
	return (struct kp_shape_use){
		.row = slot->row_plus_one ? slot->row_plus_one - 1 : 0,
		.process = process->index,
		.config = &process->configs[config],
		.launches = slot->calls,
		.graph_launches = slot->graph_calls,
		.calls = slot->calls,
		.total_ns = slot->total_ns,
		.first = slot->first,
	};
}

/* Takes launches that belong to a call out of their configuration's. Calls are numbered as they
 * first appear. */
static struct kp_shape_use take_called(const struct kp_builder *builder,
				       const struct kp_build_called *called,
				       struct kp_shape_use *launches)
{
	const struct kp_process *process = kp_build_process_at(builder, called->process);
	struct kp_shape_use use = *launches;

	launches->launches = less(launches->launches, called->launches);
	launches->graph_launches = less(launches->graph_launches, called->graph_launches);
	launches->total_ns = less(launches->total_ns, called->total_ns);
	launches->calls = launches->launches;
	use.call = &process->library_calls[called->call];
	use.launches = called->launches;
	use.graph_launches = called->graph_launches;
	use.calls = called->calls;
	use.total_ns = called->total_ns;
	use.trials = use.trial_ns = 0;
	use.first = called->call;
	return use;
}

/* A text of a call, and a number for it, the same in all processes; 0: none. `string`: + 1. */
static enum kp_status number_text(const struct kp_process *process, uint64_t string,
				  struct kp_intern *texts, uint32_t *out, struct kp_text *text)
{
	enum kp_status status;

	*out = 0;
	*text = (struct kp_text){"", 0};
	if (string == 0 || string > UINT32_MAX)
		return KP_OK;
	*text = kp_process_string(process, (uint32_t)(string - 1));
	status = kp_intern_put(texts, text->bytes, text->length, out, NULL);
	*out += 1;
	return status;
}

/* What a call does, in words, and what its sizes are called. */
static enum kp_status number_texts(const struct kp_builder *builder, struct kp_intern *texts,
				   struct kp_shape_use *use)
{
	const struct kp_process *process = kp_build_process_at(builder, use->process);
	struct kp_text detail;
	enum kp_status status =
		number_text(process, use->call->detail, texts, &use->detail, &detail);

	return status == KP_OK
		       ? number_text(process, use->call->names, texts, &use->names, &use->sizes)
		       : status;
}

/* Uses of all configurations, by process and number, and of all calls behind them. */
static enum kp_status put_uses(const struct kp_builder *builder, const size_t *offsets,
			       struct kp_shape_use *uses, size_t *count)
{
	size_t processes = kp_reader_process_count(builder->reader), called_count;
	const struct kp_build_called *called = kp_build_calls_all(builder, &called_count);
	struct kp_intern texts = {0};
	enum kp_status status = KP_OK;

	for (size_t p = 0; p < processes; p++) {
		const struct kp_process *process = kp_build_process_at(builder, p);
		const struct kp_build_slot *slots = builder->processes[p].slots;

		for (size_t i = 0; slots && i < process->config_count; i++)
			uses[offsets[p] + i] = use_of(process, i, &slots[i]);
	}
	*count = offsets[processes];
	for (size_t i = 0; status == KP_OK && i < called_count; i++) {
		struct kp_shape_use *launches =
			&uses[offsets[called[i].process] + called[i].config];

		uses[*count] = take_called(builder, &called[i], launches);
		status = number_texts(builder, &texts, &uses[(*count)++]);
	}
	for (size_t p = 0; p < processes; p++)
		for (size_t i = offsets[p]; i < offsets[p + 1]; i++)
			take_trials(builder, i - offsets[p], &uses[i]);
	kp_intern_fini(&texts);
	return status;
}

/* Where the configurations of each process begin, and behind them all that were tied to calls. */
static size_t *make_offsets(const struct kp_builder *builder, size_t *most)
{
	size_t processes = kp_reader_process_count(builder->reader);
	size_t *offsets = calloc(processes + 1, sizeof(*offsets));

	kp_build_calls_all(builder, most);
	for (size_t p = 0; offsets && p < processes; p++)
		offsets[p + 1] =
			offsets[p] + (builder->processes[p].slots
					      ? kp_build_process_at(builder, p)->config_count
					      : 0);
	*most += offsets ? offsets[processes] : 0;
	return offsets;
}

/* All shapes that were launched, in order; *count: how many. Errors: KP_NO_MEMORY. */
static enum kp_status collect(struct kp_builder *builder)
{
	struct kp_build_shapes *shapes = builder->shapes;
	size_t most, count = 0;
	size_t *offsets = make_offsets(builder, &most);
	struct sorting *sorted = malloc((most + 1) * sizeof(*sorted));
	enum kp_status status = KP_NO_MEMORY;

	shapes->uses = calloc(most + 1, sizeof(*shapes->uses));
	if (offsets && sorted && shapes->uses)
		status = put_uses(builder, offsets, shapes->uses, &count);
	for (size_t i = 0; status == KP_OK && i < count; i++)
		if (shapes->uses[i].launches || shapes->uses[i].trials)
			sorted[shapes->count++] = (struct sorting){
				shapes->operators[shapes->uses[i].row], shapes->uses[i]};
	if (status == KP_OK)
		qsort(sorted, shapes->count, sizeof(*sorted), compare_uses);
	for (size_t i = 0; status == KP_OK && i < shapes->count; i++)
		shapes->uses[i] = sorted[i].use;
	free(sorted);
	free(offsets);
	return status;
}

static enum kp_status begin(struct kp_builder *builder)
{
	struct kp_build_shapes *shapes = calloc(1, sizeof(*shapes));
	size_t rows = builder->row_count;

	builder->shapes = shapes;
	if (!shapes)
		return KP_NO_MEMORY;
	shapes->operators = calloc(rows + 1, sizeof(*shapes->operators));
	shapes->grows = calloc(rows + 1, sizeof(*shapes->grows));
	shapes->room = rows + kp_operators_count(builder->operators);
	shapes->all = calloc(shapes->room + 1, sizeof(*shapes->all));
	if (!shapes->operators || !shapes->grows || !shapes->all)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < rows; i++)
		shapes->operators[i] =
			kp_operators_variant(builder->operators, builder->rows[i].label.variant)
				.operator_index;
	return collect(builder);
}

static enum kp_status make(struct kp_builder *builder, const struct kp_shapes_input *input,
			   const struct kp_stability **out)
{
	struct kp_build_shapes *shapes = builder->shapes;
	struct kp_stability *stability = kp_arena_alloc(builder->report->arena, sizeof(*stability));
	enum kp_status status = KP_NO_MEMORY;

	if (stability)
		status = kp_shapes_summarise(input, builder->report->arena, stability);
	if (status == KP_OK)
		shapes->all[shapes->made++] = stability;
	*out = stability;
	return status;
}

/* The uses of one row, all of them. */
static enum kp_status draft_shapes(struct kp_builder *builder, struct kp_shape_use *uses,
				   size_t count, struct kp_kernel_row *row)
{
	const struct kp_durations *durations = &row->durations;
	struct kp_shapes_input input = {.uses = uses, .count = count, .spread = NAN};
	enum kp_status status;

	if (durations->timed && durations->mean_ns > 0 && !uses[0].trials)
		input.spread = durations->stddev_ns / durations->mean_ns;
	set_bytes(uses, count, row);
	status = make(builder, &input, &row->stability);
	if (status == KP_OK)
		builder->shapes->grows[uses[0].row] = row->stability->grows;
	return status;
}

enum kp_status kp_build_shapes_kernels(struct kp_builder *builder, struct kp_build_draft *drafts,
				       size_t count)
{
	size_t *draft_of = malloc((count + 1) * sizeof(*draft_of));
	enum kp_status status = draft_of ? begin(builder) : KP_NO_MEMORY;
	const struct kp_build_shapes *shapes = builder->shapes;

	for (size_t i = 0; draft_of && i < count; i++)
		draft_of[drafts[i].number] = i;
	for (size_t i = 0, end; status == KP_OK && i < shapes->count; i = end) {
		uint32_t row = shapes->uses[i].row;

		for (end = i + 1; end < shapes->count && shapes->uses[end].row == row; end++)
			;
		status = draft_shapes(builder, &shapes->uses[i], end - i,
				      &drafts[draft_of[row]].row);
	}
	free(draft_of);
	return status;
}

const struct kp_stability *kp_build_shapes_operator(struct kp_builder *builder,
						    size_t operator_index)
{
	struct kp_build_shapes *shapes = builder->shapes;
	const struct kp_stability *stability;
	size_t low = 0, high = shapes->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (shapes->operators[shapes->uses[middle].row] < operator_index)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low;
	     end < shapes->count && shapes->operators[shapes->uses[end].row] == operator_index;
	     end++)
		;
	const struct kp_shapes_input input = {&shapes->uses[low], end - low, shapes->grows, NAN};
	return make(builder, &input, &stability) == KP_OK ? stability : NULL;
}

static struct kp_text detail_of(const struct kp_builder *builder, const struct kp_shape_use *use)
{
	const struct kp_process *process = kp_build_process_at(builder, use->process);

	if (!use->detail)
		return (struct kp_text){"", 0};
	return kp_process_string(process, (uint32_t)(use->call->detail - 1));
}

enum kp_status kp_build_shapes_place(struct kp_builder *builder,
				     const struct kp_build_draft *drafts, size_t count)
{
	struct kp_build_shapes *shapes = builder->shapes;
	size_t *place = malloc((count + 1) * sizeof(*place));

	if (!place)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		place[drafts[i].number] = i;
	for (size_t i = 0; i < shapes->made; i++) {
		/* The list is the report's own, const only for those who read it. */
		struct kp_shape *list = (struct kp_shape *)shapes->all[i]->shapes;

		for (size_t k = 0; k < shapes->all[i]->shape_count; k++) {
			list[k].kernel = place[list[k].use.row];
			list[k].detail = detail_of(builder, &list[k].use);
		}
	}
	free(place);
	return KP_OK;
}

void kp_build_shapes_end(struct kp_builder *builder)
{
	struct kp_build_shapes *shapes = builder->shapes;

	if (!shapes)
		return;
	free(shapes->uses);
	free(shapes->operators);
	free(shapes->grows);
	free(shapes->all);
	free(shapes);
	builder->shapes = NULL;
}
