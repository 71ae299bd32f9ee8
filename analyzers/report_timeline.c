/* The timeline of a report: what goes into it, and what of it is asked for; see timeline.h and
 * timeline_build.h. */
#include "analyzers/report_passes.h"
#include "analyzers/timeline_build.h"

#include <stdlib.h>
#include <string.h>

#include "trace/limits.h"
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
	gpu->activities = kp_activities_create(line->waiting_most);
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

enum kp_status kp_line_reserve(struct kp_builder *builder)
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
	line->waiting_most = kp_limits_waiting(kp_reader_bytes(builder->reader));
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

enum kp_status kp_line_find_symbol(struct kp_build_timeline *line, uint32_t use, uint32_t row,
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
		status = kp_line_find_symbol(line, slot->use, row, &symbol);
	if (status == KP_OK)
		status = judge_symbol(builder, row, symbol);
	if (status == KP_OK)
		config->symbol_plus_one = symbol + 1;
	return status;
}

/* ---- activities ---- */

static void put_launch(const struct kp_launch *launch, const struct kp_build_slot *slot,
		       const struct kp_line_config *config, struct kp_activity *out)
{
	*out = (struct kp_activity){
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
}

/* Launches of one GPU, as many as there are in a row: *taken. */
static enum kp_status add_launches(struct kp_builder *builder, const struct kp_process *process,
				   const struct kp_launch *launches, size_t count, size_t *taken)
{
	struct kp_build_timeline *line = builder->timeline;
	const struct kp_build_slot *slots = builder->processes[process->index].slots;
	struct kp_line_config *configs = line->processes[process->index].configs;
	uint32_t gpu = slots[launches[0].config].gpu;
	struct kp_activities *activities = line->gpus[gpu].activities;
	struct kp_activity *begin = kp_activities_next(activities, count), *at = begin;
	enum kp_status status = begin ? KP_OK : KP_NO_MEMORY;
	size_t i;

	for (i = 0; i < count && status == KP_OK; i++) {
		const struct kp_launch *launch = &launches[i];
		const struct kp_build_slot *slot = &slots[launch->config];
		struct kp_line_config *config = &configs[launch->config];

		if (slot->gpu != gpu)
			break;
		if (kp_time_quality(launch->start_ns, launch->end_ns) != KP_TIME_VALID)
			continue;
		if (!config->symbol_plus_one)
			status = fill_config(builder, process, slot,
					     &process->configs[launch->config], config);
		if (status == KP_OK)
			put_launch(launch, slot, config, at++);
	}
	*taken = i;
	if (begin)
		kp_activities_keep(activities, (size_t)(at - begin));
	return status;
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

enum kp_status kp_line_add_ranges(struct kp_builder *builder, const struct kp_event *event)
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
	for (size_t i = 0, taken = 1; status == KP_OK && i < event->count; i += taken) {
		if (event->kind == KP_EVENT_LAUNCHES)
			status = add_launches(builder, event->process, &event->launches[i],
					      event->count - i, &taken);
		else if (event->kind == KP_EVENT_MEMOPS)
			status = add_memop(builder, event->process, &event->memops[i]);
	}
	return status;
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

uint64_t kp_build_timeline_busy(const struct kp_builder *builder, size_t gpu)
{
	const struct kp_build_timeline *line = builder->timeline;

	return gpu < line->gpu_count ? line->gpus[gpu].gaps.busy_ns : 0;
}

uint64_t kp_build_timeline_displaced(const struct kp_builder *builder, size_t gpu)
{
	const struct kp_build_timeline *line = builder->timeline;

	return gpu < line->gpu_count ? line->gpus[gpu].displaced : 0;
}
