/* The timeline of a report, read the first time; see timeline.h and timeline_build.h. */
#include "analyzers/report_passes.h"
#include "analyzers/timeline_build.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/slice.h"
#include "trace/vector.h"

/* What a range is, in `names` of a process. */
#define NAME_KNOWN 0x80
#define NAME_STEP 0x40
#define NAME_PHASE 0x0f
/* What kernels took in iterations that may be shown, one entry a kernel and iteration. */
#define TAKEN_MOST ((size_t)1 << 20)

enum kp_status kp_line_restart(struct kp_build_timeline *line, struct kp_line_gpu *gpu)
{
	kp_activities_destroy(gpu->activities);
	gpu->activities = kp_activities_create();
	gpu->gaps = (struct kp_gaps){.arena = line->arena};
	return gpu->activities ? KP_OK : KP_NO_MEMORY;
}

/* A use that is new: where it is guessed what repeats, its iterations are followed at once. */
static enum kp_status expect(struct kp_builder *builder, size_t number)
{
	const struct kp_guess *guess = builder->guess;
	struct kp_line_use *use = &builder->timeline->uses[number];

	if (number >= guess->anchor_count || !guess->anchors[number].found)
		return KP_OK;
	use->found = true;
	use->anchor = guess->anchors[number].symbol;
	return kp_line_watch(builder->timeline, use, guess->anchors[number].period);
}

/* Room for the GPUs and uses that the report has. */
static enum kp_status reserve(struct kp_builder *builder)
{
	struct kp_build_timeline *line = builder->timeline;

	if (!kp_vector_reserve((void **)&line->gpus, builder->gpu_count, &line->gpu_capacity,
			       sizeof(*line->gpus)) ||
	    !kp_vector_reserve((void **)&line->uses, builder->use_count, &line->use_capacity,
			       sizeof(*line->uses)))
		return KP_NO_MEMORY;
	for (; line->use_count < builder->use_count; line->use_count++)
		if (expect(builder, line->use_count) != KP_OK)
			return KP_NO_MEMORY;
	for (; line->gpu_count < builder->gpu_count; line->gpu_count++)
		if (kp_line_restart(line, &line->gpus[line->gpu_count]) != KP_OK)
			return KP_NO_MEMORY;
	return KP_OK;
}

enum kp_status kp_build_timeline_begin(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	struct kp_build_timeline *line;

	if (!builder->report->options.timeline)
		return KP_OK;
	line = calloc(1, sizeof(*line));
	builder->timeline = line;
	if (!line)
		return KP_NO_MEMORY;
	line->processes = calloc(processes + 1, sizeof(*line->processes));
	line->arena = kp_arena_create();
	line->taken_room = TAKEN_MOST;
	line->is_shown = !builder->batches_most;
	line->along.no_path = builder->host && !builder->report->options.no_iterations;
	return line->processes && line->arena ? KP_OK : KP_NO_MEMORY;
}

void kp_build_timeline_end(struct kp_builder *builder)
{
	struct kp_build_timeline *line = builder->timeline;
	size_t processes = kp_reader_process_count(builder->reader);

	if (!line)
		return;
	for (size_t i = 0; line->processes && i < processes; i++) {
		free(line->processes[i].configs);
		free(line->processes[i].names);
		free(line->processes[i].threads);
		kp_stretches_fini(&line->processes[i].steps);
		for (unsigned k = 0; k < KP_PHASE_COUNT; k++)
			kp_stretches_fini(&line->processes[i].phases[k]);
	}
	for (size_t i = 0; i < line->gpu_count; i++) {
		kp_activities_destroy(line->gpus[i].activities);
		free(line->gpus[i].verdicts.causes);
	}
	for (size_t i = 0; i < line->use_count; i++) {
		kp_line_unwatch(&line->uses[i]);
		kp_gap_calls_fini(&line->uses[i].calls);
	}
	free(line->processes);
	free(line->gpus);
	free(line->uses);
	free(line->symbols);
	free(line->usual_ns);
	free(line->tells);
	free(line->lanes);
	kp_intern_fini(&line->symbol_keys);
	kp_intern_fini(&line->lane_keys);
	kp_along_fini(&line->along);
	kp_arena_destroy(line->arena);
	kp_steps_destroy(line->steps);
	free(line);
}

/* ---- what a launch configuration is ---- */

static enum kp_status find_symbol(struct kp_build_timeline *line, uint32_t use, uint32_t row,
				  uint32_t *symbol)
{
	const uint32_t key[2] = {use, row};
	enum kp_status status;

	status = kp_intern_put(&line->symbol_keys, key, sizeof(key), symbol, NULL);
	if (status == KP_OK && !kp_vector_reserve((void **)&line->symbols, line->symbol_keys.count,
						  &line->symbol_capacity, sizeof(*line->symbols)))
		status = KP_NO_MEMORY;
	return status;
}

static enum kp_status find_lane(struct kp_build_timeline *line, const struct kp_process *process,
				uint32_t context, uint32_t stream, uint32_t *lane)
{
	const uint32_t key[3] = {process->index, context, stream};
	enum kp_status status;

	status = kp_intern_put(&line->lane_keys, key, sizeof(key), lane, NULL);
	if (status == KP_OK && !kp_vector_reserve((void **)&line->lanes, line->lane_keys.count,
						  &line->lane_capacity, sizeof(*line->lanes)))
		status = KP_NO_MEMORY;
	return status;
}

/* What kernels of a symbol say of the phase that they are in. */
static enum kp_status judge_symbol(const struct kp_builder *builder, uint32_t row, uint32_t symbol)
{
	struct kp_build_timeline *line = builder->timeline;
	const struct kp_label *label = &builder->rows[row].label;
	struct kp_variant variant = kp_operators_variant(builder->operators, label->variant);
	const char *name = kp_operators_name(builder->operators, variant.operator_index);
	uint8_t tells = KP_PATTERN_UNCLEAR;

	if (!kp_vector_reserve((void **)&line->tells, line->symbol_keys.count,
			       &line->tells_capacity, sizeof(*line->tells)))
		return KP_NO_MEMORY;
	for (unsigned i = 0; variant.name && i < KP_PHASE_COUNT; i++)
		if (strcmp(variant.name, kp_phase_names[i]) == 0)
			tells = (uint8_t)i;
	line->tells[symbol] =
		strcmp(name, "attention") == 0 && !label->helper ? tells : KP_PATTERN_OTHER;
	return KP_OK;
}

static enum kp_status fill_config(struct kp_builder *builder, const struct kp_process *process,
				  const struct kp_build_slot *slot,
				  const struct kp_launch_config *from,
				  struct kp_line_config *config)
{
	struct kp_build_timeline *line = builder->timeline;
	uint32_t row = slot->row_plus_one - 1, symbol = 0;
	struct kp_variant variant =
		kp_operators_variant(builder->operators, builder->rows[row].label.variant);
	enum kp_status status;

	config->operator_index = (uint32_t)variant.operator_index;
	status = find_lane(line, process, from->context, from->stream, &config->lane);
	if (status == KP_OK)
		status = find_symbol(line, slot->use, row, &symbol);
	if (status == KP_OK)
		status = judge_symbol(builder, row, symbol);
	if (status == KP_OK)
		config->symbol_plus_one = symbol + 1;
	return status;
}

/* ---- activities ---- */

static enum kp_status add_launch(struct kp_builder *builder, const struct kp_process *process,
				 const struct kp_launch *launch)
{
	struct kp_build_timeline *line = builder->timeline;
	const struct kp_build_slot *slot =
		&builder->processes[process->index].slots[launch->config];
	struct kp_line_config *config = &line->processes[process->index].configs[launch->config];
	struct kp_activities *activities = line->gpus[slot->gpu].activities;
	struct kp_activity *kernel;
	enum kp_status status;

	if (kp_time_quality(launch->start_ns, launch->end_ns) != KP_TIME_VALID)
		return KP_OK;
	if (!config->symbol_plus_one) {
		status = fill_config(builder, process, slot, &process->configs[launch->config],
				     config);
		if (status != KP_OK)
			return status;
	}
	kernel = kp_activities_next(activities);
	if (!kernel)
		return KP_NO_MEMORY;
	*kernel = (struct kp_activity){
		.start_ns = launch->start_ns,
		.end_ns = launch->end_ns,
		.use = slot->use,
		.row = slot->row_plus_one - 1,
		.operator_index = config->operator_index,
		.symbol = config->symbol_plus_one - 1,
		.config = launch->config,
		.lane = config->lane,
		.correlation = launch->correlation,
		.kind = KP_ACTIVITY_KERNEL,
		.graph = launch->graph || launch->graph_node,
	};
	kp_activities_keep(activities);
	return KP_OK;
}

static enum kp_status add_memop(struct kp_builder *builder, const struct kp_process *process,
				const struct kp_memop *memop)
{
	struct kp_activity memory = {
		.start_ns = memop->start_ns,
		.end_ns = memop->end_ns,
		.correlation = memop->correlation,
		.lane = KP_ACTIVITY_NO_LANE,
		.kind = KP_ACTIVITY_MEMORY,
		.to_host = memop->kind == KP_MEMOP_DEVICE_TO_HOST,
		.synchronous = !(memop->flags & 1),
	};
	struct kp_build_place place = kp_build_place_of(builder, process, memop->device);
	enum kp_status status = KP_OK;

	if (kp_time_quality(memop->start_ns, memop->end_ns) != KP_TIME_VALID)
		return KP_OK;
	memory.use = place.use;
	if (memop->kind != KP_MEMOP_SET)
		status = find_lane(builder->timeline, process, memop->context, memop->stream,
				   &memory.lane);
	return status == KP_OK
		       ? kp_activities_add(builder->timeline->gpus[place.gpu].activities, &memory)
		       : status;
}

/* What a range's name says. */
static uint8_t judge_name(const struct kp_builder *builder, struct kp_text name)
{
	const char *wanted = builder->report->options.iterations;
	uint8_t kind = (uint8_t)(NAME_KNOWN | kp_phase_of(name));

	if (wanted && strlen(wanted) == name.length && memcmp(wanted, name.bytes, name.length) == 0)
		kind |= NAME_STEP;
	return kind;
}

/* What of a range was looked at: the rest is no part of a phase's time. */
static enum kp_status add_phase(struct kp_stretches *phase, const struct kp_process *process,
				const struct kp_range *range)
{
	enum kp_status status = KP_OK;

	if (process->window_count == 0 || range->end_ns <= range->start_ns)
		return kp_stretches_add(phase, range->start_ns, range->end_ns);
	for (size_t i = 0; i < process->window_count && status == KP_OK; i++) {
		const struct kp_window_info *window = &process->windows[i];
		uint64_t begin_ns =
			window->begin_ns > range->start_ns ? window->begin_ns : range->start_ns;
		uint64_t end_ns = window->end_ns < range->end_ns ? window->end_ns : range->end_ns;

		if (begin_ns < end_ns)
			status = kp_stretches_add(phase, begin_ns, end_ns);
	}
	return status;
}

static enum kp_status add_range(struct kp_builder *builder, const struct kp_process *process,
				const struct kp_range *range)
{
	struct kp_line_process *own = &builder->timeline->processes[process->index];
	uint8_t *kind = &own->names[range->name];
	enum kp_status status = KP_OK;
	unsigned phase;

	if (!*kind)
		*kind = judge_name(builder, kp_process_string(process, range->name));
	phase = *kind & NAME_PHASE;
	if (phase < KP_PHASE_COUNT) {
		own->phase_ranges[phase]++;
		status = add_phase(&own->phases[phase], process, range);
	}
	if (status == KP_OK && *kind & NAME_STEP) {
		own->step_ranges++;
		status = kp_stretches_add(&own->steps, range->start_ns, range->end_ns);
	}
	return status;
}

static enum kp_status add_ranges(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_line_process *own = &builder->timeline->processes[event->process->index];
	enum kp_status status = KP_OK;

	if (!own->names)
		own->names = calloc(event->process->string_count + 1, sizeof(*own->names));
	if (!own->names)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < event->count; i++)
		status = add_range(builder, event->process, &event->ranges[i]);
	return status;
}

enum kp_status kp_line_add(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_line_process *own = &builder->timeline->processes[event->process->index];
	enum kp_status status = KP_OK;

	if (event->kind != KP_EVENT_LAUNCHES && event->kind != KP_EVENT_MEMOPS)
		return KP_OK;
	if (event->kind == KP_EVENT_LAUNCHES && !own->configs)
		own->configs = calloc(event->process->config_count + 1, sizeof(*own->configs));
	if (event->kind == KP_EVENT_LAUNCHES && !own->configs)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		if (event->kind == KP_EVENT_LAUNCHES)
			status = add_launch(builder, event->process, &event->launches[i]);
		else if (event->kind == KP_EVENT_MEMOPS)
			status = add_memop(builder, event->process, &event->memops[i]);
	}
	return status;
}

/* ---- in order of time ---- */

uint64_t kp_line_window(struct kp_builder *builder, const struct kp_activity *kernel)
{
	struct kp_line_use *use = &builder->timeline->uses[kernel->use];
	const struct kp_process *process = builder->uses[kernel->use].info;

	if (!process->window_count)
		return 0;
	while (use->window + 1 < process->window_count &&
	       process->windows[use->window + 1].begin_ns <= kernel->start_ns)
		use->window++;
	return process->windows[use->window].begin_ns;
}

struct kp_symbol *kp_line_graph_begin(struct kp_build_timeline *line, struct kp_line_use *use,
				      const struct kp_activity *kernel)
{
	uint32_t symbol;

	/* Correlation ids grow, and start anew behind the last; 0 says nothing. */
	if (!kernel->graph || !kernel->correlation ||
	    (use->newest_graph && (int32_t)(kernel->correlation - use->newest_graph) <= 0))
		return NULL;
	use->newest_graph = kernel->correlation;
	if (!use->graph_symbol_plus_one) {
		if (find_symbol(line, kernel->use, UINT32_MAX, &symbol) != KP_OK)
			return NULL;
		use->graph_symbol_plus_one = symbol + 1;
		line->symbols[symbol].graph = true;
	}
	return &line->symbols[use->graph_symbol_plus_one - 1];
}

struct visit {
	struct kp_builder *builder;
	struct kp_line_gpu *gpu;
};

/* Where there are calls, the one before this kernel may say what the gap is. */
static enum kp_status wait_for_call(const struct visit *at, struct kp_line_use *use,
				    const struct kp_activity *kernel, const struct kp_gap *gap)
{
	if (!at->builder->uses[kernel->use].info->promised_host_calls ||
	    !kp_gap_calls_can_tell(gap, kernel))
		return KP_OK;
	return kp_gap_calls_add(&use->calls, gap, kernel, at->gpu->gaps.gaps - 1);
}

/* What others ran since the last own kernel. While that ran, the GPU was busy all the time. */
static void add_others(struct kp_line_use *use, const struct kp_gaps *gaps,
		       const struct kp_activity *kernel)
{
	uint64_t busy_ns = kp_gaps_busy_until(gaps, kernel->start_ns);

	if (use->own_end_ns && kernel->start_ns > use->own_end_ns && busy_ns > use->own_busy_ns)
		use->others_ns += busy_ns - use->own_busy_ns;
	if (kernel->end_ns <= use->own_end_ns)
		return;
	use->own_end_ns = kernel->end_ns;
	use->own_busy_ns = busy_ns + (kernel->end_ns - kernel->start_ns);
}

/* To what follows in order; nobody does along the beginning that is looked at for a guess. */
static enum kp_status show(const struct visit *at, const struct kp_activity *item,
			   const struct kp_gap *gap)
{
	struct kp_build_timeline *line = at->builder->timeline;

	if (!line->is_shown)
		return KP_OK;
	return kp_along_show(&line->along, (size_t)(at->gpu - line->gpus), item,
			     gap ? (uint8_t)gap->cause : KP_SHOWN_NO_GAP);
}

static enum kp_status visit(void *context, const struct kp_activity *item)
{
	struct visit *at = context;
	struct kp_build_timeline *line = at->builder->timeline;
	struct kp_line_use *use = &line->uses[item->use];
	struct kp_symbol *symbol;
	struct kp_gap gap;
	uint64_t waited_ns = 0;
	bool any;
	enum kp_status status = KP_OK;

	if (item->kind == KP_ACTIVITY_MEMORY) {
		kp_gaps_memory(&at->gpu->gaps, item);
		return show(at, item, NULL);
	}
	any = kp_gaps_reach(&at->gpu->gaps, item, kp_line_window(at->builder, item), !use->position,
			    &gap);
	if (any) {
		waited_ns = gap.end_ns - gap.begin_ns;
		status = wait_for_call(at, use, item, &gap);
	}
	if (status == KP_OK)
		status = show(at, item, any ? &gap : NULL);
	if (status != KP_OK)
		return status;
	add_others(use, &at->gpu->gaps, item);
	kp_stream_order_add(&line->lanes[item->lane], item, &at->gpu->faults);
	kp_phase_pattern_add(&use->pattern, (enum kp_pattern_kernel)line->tells[item->symbol],
			     item->start_ns, item->end_ns);
	symbol = kp_line_graph_begin(line, use, item);
	if (symbol)
		kp_symbol_add(symbol, use->position, 0, waited_ns);
	if (use->iterations)
		status = kp_line_iterate(line, (size_t)(at->gpu - line->gpus), item,
					 any ? &gap : NULL, symbol);
	if (status != KP_OK)
		return status;
	kp_symbol_add(&line->symbols[item->symbol], use->position++, item->end_ns - item->start_ns,
		      waited_ns);
	return kp_gaps_run(&at->gpu->gaps, item);
}

static enum kp_status settle(struct kp_builder *builder, uint64_t watermark_ns)
{
	struct kp_build_timeline *line = builder->timeline;
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < line->gpu_count; i++) {
		struct visit context = {builder, &line->gpus[i]};

		status = kp_activities_settle(line->gpus[i].activities, watermark_ns, visit,
					      &context);
	}
	return status;
}

static enum kp_status follow(struct kp_builder *builder, const struct kp_event *event)
{
	struct kp_slices slices = {.event = event};
	struct kp_event slice;
	enum kp_status status;

	if (!builder->timeline)
		return KP_OK;
	status = reserve(builder);
	if (status == KP_OK && event->kind == KP_EVENT_RANGES)
		status = add_ranges(builder, event);
	while (status == KP_OK && kp_slices_next(&slices, &slice)) {
		status = kp_line_add(builder, &slice);
		if (status == KP_OK)
			status = settle(builder, slice.watermark_ns);
	}
	kp_along_end_batch(&builder->timeline->along);
	return status;
}

enum kp_status kp_build_follow(void *context, const struct kp_event *event)
{
	struct kp_builder *builder = context;
	enum kp_status status = follow(builder, event);

	return status == KP_OK && builder->host ? kp_build_tie(builder, event) : status;
}

enum kp_status kp_build_timeline_flush(struct kp_builder *builder)
{
	enum kp_status status;

	if (!builder->timeline)
		return KP_OK;
	status = reserve(builder);
	if (status == KP_OK)
		status = settle(builder, UINT64_MAX);
	kp_along_end_batch(&builder->timeline->along);
	return status == KP_OK ? kp_along_take(builder, NULL) : status;
}

static enum kp_status prepare_and_follow(void *context, const struct kp_event *event)
{
	enum kp_status status = kp_build_prepare(context, event);

	return status == KP_OK ? follow(context, event) : status;
}

enum kp_status kp_build_timeline_guess(struct kp_builder *builder)
{
	struct kp_relay relay = {
		.context = builder, .takers = {prepare_and_follow}, .taker_count = 1};
	enum kp_status status = kp_build_read(builder, &relay);

	if (status == KP_OK)
		status = kp_build_timeline_flush(builder);
	return status == KP_OK ? kp_line_find(builder) : status;
}

enum kp_status kp_build_timeline_tied(struct kp_builder *builder, const struct kp_process *process,
				      const struct kp_tie_record *record,
				      const struct kp_host_call *call)
{
	struct kp_build_timeline *line = builder->timeline;
	const struct kp_build_slot *slot;
	struct kp_line_process *own;

	if (!line || !record->start_ns)
		return KP_OK;
	own = &line->processes[process->index];
	slot = &builder->processes[process->index].slots[record->config - process->configs];
	if (!own->threads)
		own->threads = calloc(1, sizeof(*own->threads));
	if (!own->threads)
		return KP_NO_MEMORY;
	return kp_gap_calls_tie(&line->uses[slot->use].calls, own->threads, call, record->start_ns,
				record->correlation, &line->gpus[slot->gpu].gaps,
				&line->gpus[slot->gpu].verdicts);
}

enum kp_status kp_build_timeline_settle(struct kp_builder *builder)
{
	struct kp_build_timeline *line = builder->timeline;
	enum kp_status status = KP_OK;

	if (!line)
		return KP_OK;
	for (size_t i = 0; status == KP_OK && i < line->gpu_count; i++) {
		const struct kp_gpu_row *row = &builder->report->gpus[i];

		if (row->span_ns == row->last_ns - row->first_ns)
			kp_gaps_finish(&line->gpus[i].gaps, row->last_ns);
	}
	kp_along_finish_alone(&line->along);
	if (status == KP_OK)
		status = kp_line_again(builder);
	return status == KP_OK ? kp_along_finish_path(&line->along) : status;
}

uint64_t kp_build_timeline_others(const struct kp_builder *builder, size_t process)
{
	const struct kp_build_timeline *line = builder->timeline;
	uint64_t others_ns = 0;

	for (size_t i = 0; line && i < line->use_count; i++)
		others_ns += builder->uses[i].process == process ? line->uses[i].others_ns : 0;
	return others_ns;
}

uint64_t kp_build_timeline_row(const struct kp_builder *builder, uint32_t row)
{
	const struct kp_build_timeline *line = builder->timeline;

	return line && row < line->along.alone_times.row_count ? line->along.alone_times.row_ns[row]
							       : 0;
}

uint64_t kp_build_timeline_operator(const struct kp_builder *builder, size_t operator_index)
{
	const struct kp_build_timeline *line = builder->timeline;

	return line && operator_index < line->along.alone_times.operator_count
		       ? line->along.alone_times.operator_ns[operator_index]
		       : 0;
}
