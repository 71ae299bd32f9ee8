/* Iterations and phases: the trace read again, along what was found; see timeline_build.h. */
#include "analyzers/report_passes.h"
#include "analyzers/slice.h"
#include "analyzers/timeline_build.h"

#include <stdlib.h>
#include <string.h>

/* ---- what there is to look at ---- */

/* The numbers of the symbols of each use, one after another; first[use] is where they begin. */
static enum kp_status sort_symbols(const struct kp_build_timeline *line, size_t **numbers,
				   size_t **first)
{
	size_t count = line->symbol_keys.count;
	size_t *at = calloc(line->use_count + 2, sizeof(*at));
	size_t *sorted = malloc((count + 1) * sizeof(*sorted));

	*numbers = sorted;
	*first = at;
	if (!at || !sorted)
		return KP_NO_MEMORY;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < count; i++) {
			uint32_t key[2];
			size_t length;

			memcpy(key, kp_intern_bytes(&line->symbol_keys, i, &length), sizeof(key));
			if (pass == 0)
				at[key[0] + 2]++;
			else
				sorted[at[key[0] + 1]++] = i;
		}
		for (size_t use = 0; pass == 0 && use < line->use_count; use++)
			at[use + 2] += at[use + 1];
	}
	return KP_OK;
}

/* The kernel that the beginning of the trace says is taken where it is as good as the best: of what
 * comes once an iteration it is chance which is. */
static void prefer(const struct kp_builder *builder, size_t number)
{
	const struct kp_guess *guess = builder->guess;
	const struct kp_build_timeline *line = builder->timeline;
	struct kp_line_use *use = &builder->timeline->uses[number];
	uint32_t symbol, key[2];
	size_t length;

	if (!use->found || number >= guess->anchor_count || !guess->anchors[number].found)
		return;
	symbol = guess->anchors[number].symbol;
	if (symbol >= line->symbol_keys.count)
		return;
	memcpy(key, kp_intern_bytes(&line->symbol_keys, symbol, &length), sizeof(key));
	if (key[0] != number || !kp_repetition_as_good(&line->symbols[symbol],
						       &line->symbols[use->anchor], use->position))
		return;
	use->anchor = symbol;
	use->repetition = kp_repetition_of(&line->symbols[symbol], use->repetition.anchor);
}

enum kp_status kp_line_find(struct kp_builder *builder)
{
	struct kp_build_timeline *line = builder->timeline;
	size_t count = line->symbol_keys.count;
	const struct kp_symbol **symbols = malloc((count + 1) * sizeof(struct kp_symbol *));
	size_t *scratch = malloc((count + 1) * sizeof(*scratch));
	size_t *numbers = NULL, *first = NULL;
	enum kp_status status = symbols && scratch ? KP_OK : KP_NO_MEMORY;

	if (status == KP_OK)
		status = sort_symbols(line, &numbers, &first);
	for (size_t i = 0; status == KP_OK && i < line->use_count; i++) {
		struct kp_line_use *use = &line->uses[i];
		size_t own = first[i + 1] - first[i];

		for (size_t k = 0; k < own; k++)
			symbols[k] = &line->symbols[numbers[first[i] + k]];
		use->found =
			kp_repetition_find(symbols, own, use->position, scratch, &use->repetition);
		if (use->found)
			use->anchor = (uint32_t)numbers[first[i] + use->repetition.anchor];
		prefer(builder, i);
	}
	free(symbols);
	free(scratch);
	free(numbers);
	free(first);
	return status;
}

/* What each kernel takes in an iteration of its use, on average. */
static enum kp_status find_usual(struct kp_builder *builder)
{
	struct kp_build_timeline *line = builder->timeline;

	line->usual_ns = calloc(line->symbol_keys.count + 1, sizeof(*line->usual_ns));
	if (!line->usual_ns)
		return KP_NO_MEMORY;
	for (uint32_t i = 0; i < line->symbol_keys.count; i++) {
		const struct kp_line_use *use;
		double number;
		uint32_t key[2];
		size_t length;

		memcpy(key, kp_intern_bytes(&line->symbol_keys, i, &length), sizeof(key));
		use = &line->uses[key[0]];
		number = use->found ? (double)use->repetition.count + 1
				    : (double)line->processes[builder->uses[key[0]].process]
					      .steps.count;
		line->usual_ns[i] = number > 0 ? line->symbols[i].total_ns / number : 0;
	}
	return KP_OK;
}

/* Makes a use ready for the second time; *any: there is something to look at. */
static enum kp_status prepare(struct kp_builder *builder, size_t number, bool *any)
{
	struct kp_build_timeline *line = builder->timeline;
	struct kp_line_use *use = &line->uses[number];
	struct kp_line_process *process = &line->processes[builder->uses[number].process];
	enum kp_status status = KP_OK;

	use->position = use->window = 0;
	use->newest_graph = 0;
	kp_line_unwatch(use);
	if (use->found)
		status = kp_line_watch(line, use, use->repetition.period);
	if (process->steps.count) {
		use->steps.stretches = &process->steps;
		status = kp_line_watch(line, use, 0);
	}
	*any |= use->iterations != NULL;
	for (unsigned i = 0; i < KP_PHASE_COUNT; i++) {
		if (!process->phases[i].count)
			continue;
		use->phases[i].walk.stretches = &process->phases[i];
		*any = true;
	}
	return status;
}

/* ---- along the trace ---- */

static void cross_phase(const struct kp_line_gpu *gpu, struct kp_line_phase *phase,
			uint64_t until_ns)
{
	uint64_t at_ns;

	while ((at_ns = kp_line_next_border(&phase->walk)) <= until_ns && at_ns != UINT64_MAX) {
		uint64_t busy_ns = kp_gaps_busy_until(&gpu->gaps, at_ns);

		if (phase->walk.inside) {
			phase->busy_ns +=
				busy_ns > phase->busy_begin_ns ? busy_ns - phase->busy_begin_ns : 0;
			phase->wall_ns += at_ns - phase->begin_ns;
		}
		phase->busy_begin_ns = busy_ns;
		phase->begin_ns = at_ns;
		kp_line_cross(&phase->walk);
	}
}

/* All borders of the GPU's uses up to an instant. */
static enum kp_status cross_borders(struct kp_builder *builder, size_t number, uint64_t until_ns)
{
	struct kp_build_timeline *line = builder->timeline;
	struct kp_line_gpu *gpu = &line->gpus[number];
	enum kp_status status = KP_OK;
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; status == KP_OK && i < line->use_count; i++) {
		struct kp_line_use *use = &line->uses[i];
		uint64_t at_ns;

		if (builder->uses[i].gpu != number)
			continue;
		status = kp_line_cross_steps(line, number, i, until_ns);
		at_ns = kp_line_next_border(&use->steps);
		next_ns = at_ns < next_ns ? at_ns : next_ns;
		for (unsigned k = 0; k < KP_PHASE_COUNT; k++) {
			cross_phase(gpu, &use->phases[k], until_ns);
			at_ns = kp_line_next_border(&use->phases[k].walk);
			next_ns = at_ns < next_ns ? at_ns : next_ns;
		}
	}
	gpu->border_ns = next_ns;
	return status;
}

struct visit {
	struct kp_builder *builder;
	size_t number; /* of the GPU */
};

static enum kp_status visit_one(const struct visit *at, const struct kp_activity *item)
{
	struct kp_build_timeline *line = at->builder->timeline;
	struct kp_line_gpu *gpu = &line->gpus[at->number];
	struct kp_line_use *use = &line->uses[item->use];
	enum kp_status status = KP_OK;
	struct kp_symbol *graph;
	struct kp_gap gap;
	bool any;

	if (item->kind == KP_ACTIVITY_MEMORY) {
		kp_gaps_memory(&gpu->gaps, item);
		return kp_line_path(line, at->number, item, NULL);
	}
	if (item->start_ns >= gpu->border_ns)
		status = cross_borders(at->builder, at->number, item->start_ns);
	any = kp_gaps_reach(&gpu->gaps, item, kp_line_window(at->builder, item), !use->position,
			    &gap);
	if (any)
		kp_gap_calls_recall(&gpu->verdicts, gpu->gaps.gaps - 1, &gap);
	if (any && line->steps)
		kp_steps_gap(line->steps, item->use, &gap);
	if (status == KP_OK)
		status = kp_line_path(line, at->number, item, any ? &gap : NULL);
	graph = kp_line_graph_begin(line, use, item);
	if (status == KP_OK)
		status = kp_line_iterate(line, at->number, item, any ? &gap : NULL, graph);
	use->position++;
	for (unsigned k = 0; k < KP_PHASE_COUNT; k++)
		use->phases[k].kernels += use->phases[k].walk.inside;
	if (status == KP_OK && line->steps)
		status = kp_steps_kernel(line->steps, at->number, item);
	return status == KP_OK ? kp_gaps_run(&gpu->gaps, item) : status;
}

static enum kp_status visit(void *context, const struct kp_activity *items, size_t count)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < count && status == KP_OK; i++)
		status = visit_one(context, &items[i]);
	return status;
}

static enum kp_status settle(struct kp_builder *builder, uint64_t watermark_ns)
{
	struct kp_build_timeline *line = builder->timeline;
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < line->gpu_count; i++) {
		struct visit context = {builder, i};

		status = kp_activities_settle(line->gpus[i].activities, watermark_ns, visit,
					      &context);
	}
	return status;
}

static enum kp_status take(void *context, const struct kp_event *event)
{
	struct kp_slices slices = {.event = event};
	struct kp_event slice;
	enum kp_status status = KP_OK;

	while (status == KP_OK && kp_slices_next(&slices, &slice)) {
		status = kp_line_add(context, &slice);
		if (status == KP_OK)
			status = settle(context, slice.watermark_ns);
	}
	return status;
}

static enum kp_status read_again(struct kp_builder *builder)
{
	struct kp_relay relay = {.context = builder, .takers = {take}, .taker_count = 1};
	enum kp_status status = kp_build_read(builder, &relay);

	if (status == KP_OK)
		status = settle(builder, UINT64_MAX);
	for (size_t i = 0; status == KP_OK && i < builder->timeline->gpu_count; i++)
		status = cross_borders(builder, i, KP_TIME_MAX_NS);
	return status;
}

/* Keeps what the first reading found out, and begins the timelines anew. */
static enum kp_status restart(struct kp_build_timeline *line)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < line->gpu_count; i++) {
		line->gpus[i].first = line->gpus[i].gaps;
		status = kp_line_restart(line, &line->gpus[i]);
	}
	return status;
}

/*
 * Whether all that a second reading would find was found along with the first: iterations of every
 * use that has some, by the kernel that was guessed, and nothing else to look at. Calls say what
 * gaps are only after these are settled.
 */
static bool is_done(const struct kp_builder *builder)
{
	const struct kp_guess *guess = builder->guess;
	const struct kp_build_timeline *line = builder->timeline;

	if (!guess->anchor_count || builder->host || builder->report->options.step_parts)
		return false;
	for (size_t i = 0; i < line->use_count; i++) {
		const struct kp_line_use *use = &line->uses[i];
		struct kp_guess_anchor anchor = {0};

		if (i < guess->anchor_count)
			anchor = guess->anchors[i];
		if (use->found != anchor.found ||
		    (use->found &&
		     (use->anchor != anchor.symbol || use->repetition.period != anchor.period)))
			return false;
		for (unsigned k = 0; k < KP_PHASE_COUNT; k++)
			if (line->processes[builder->uses[i].process].phases[k].count)
				return false;
	}
	return true;
}

enum kp_status kp_line_again(struct kp_builder *builder)
{
	struct kp_build_timeline *line = builder->timeline;
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status = KP_OK;
	bool any = false;

	if (builder->report->options.no_iterations)
		return restart(line);
	for (size_t i = 0; i < processes; i++) {
		kp_stretches_part(&line->processes[i].steps);
		for (unsigned k = 0; k < KP_PHASE_COUNT; k++)
			kp_stretches_join(&line->processes[i].phases[k]);
	}
	if (!builder->report->options.iterations)
		status = kp_line_find(builder);
	if (status == KP_OK)
		status = find_usual(builder);
	if (status == KP_OK && is_done(builder))
		return restart(line);
	builder->passes = builder->pass + 1;
	for (size_t i = 0; status == KP_OK && i < line->use_count; i++)
		status = prepare(builder, i, &any);
	if (status == KP_OK)
		status = restart(line);
	if (status == KP_OK && builder->report->options.step_parts) {
		status = kp_steps_create(line->symbol_keys.count, line->use_count, line->gpu_count,
					 &line->steps);
		any = true; /* neighbours are wanted in any case */
	}
	any |= builder->host != NULL; /* and the critical path */
	return status == KP_OK && any ? read_again(builder) : status;
}
