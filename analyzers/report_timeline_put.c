/* The timeline's results, into the report's arena; see timeline.h and timeline_build.h. */
#include "analyzers/timeline_build.h"

#include <string.h>

#include "analyzers/report_ranges.h"

/* What a graph leaves between two small kernels where this trace has none: as seen on an H200 under
 * CUPTI (docs/results). */
#define NODE_LOW_NS 400
#define NODE_HIGH_NS 1000
/* So many gaps within graphs say what they are. */
#define NODE_GAPS_ENOUGH 100

/* The short name of a kernel by its row's number; NULL: none. */
static const char *name_of(const struct kp_builder *builder, uint32_t row)
{
	const struct kp_report *report = builder->report;

	for (size_t i = 0; row < builder->row_count && i < report->kernel_count; i++)
		if (report->kernels[i].mangled == builder->rows[row].mangled.bytes)
			return report->kernels[i].shortened;
	return NULL;
}

/* What was not looked at as a whole, at the borders of windows, or lies out of order. */
static void put_rest(struct kp_idle_row *row, const struct kp_gpu_row *gpu)
{
	uint64_t idle_ns = gpu->span_ns > gpu->busy_ns ? gpu->span_ns - gpu->busy_ns : 0;

	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		row->idle_ns += row->parts[i].total_ns;
	if (row->idle_ns >= idle_ns)
		return;
	row->parts[KP_GAP_EDGE].gaps++;
	row->parts[KP_GAP_EDGE].total_ns += idle_ns - row->idle_ns;
	row->idle_ns = idle_ns;
}

static void put_idle(const struct kp_builder *builder, size_t number, struct kp_idle_row *row)
{
	const struct kp_line_gpu *gpu = &builder->timeline->gpus[number];
	const struct kp_gaps *gaps = &gpu->first;

	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		row->parts[i] = gaps->parts[i];
	row->synchronous_ns = gaps->synchronous_ns;
	put_rest(row, &builder->report->gpus[number]);
	row->gaps = gaps->gaps;
	for (size_t i = 0; i < KP_GAP_BIN_COUNT; i++) {
		row->bins[i].gaps = gaps->bins[i].gaps;
		row->bins[i].total_ns = gaps->bins[i].total_ns;
	}
	row->node_gaps = gaps->node_gaps.count;
	row->node_gap_median_ns = kp_durations_result(&gaps->node_gaps).median_ns;
	for (size_t i = 0; i < gaps->longest_count; i++) {
		const struct kp_gap *gap = &gaps->longest[i];
		uint64_t length_ns = gap->end_ns - gap->begin_ns;
		bool memory = gap->memory_ns > length_ns - gap->memory_ns;

		row->longest[i] = (struct kp_gap_long){
			.at_ns = gap->begin_ns,
			.length_ns = length_ns,
			.cause = memory ? KP_GAP_MEMORY : gap->cause,
			.inferred = !memory && gap->inferred,
			.before = name_of(builder, gap->before),
			.behind = name_of(builder, gap->behind),
		};
	}
	row->longest_count = gaps->longest_count;
	row->faults = gpu->faults;
	kp_line_path_put(builder->timeline, number, builder->report->gpus[number].span_ns, row);
}

static void put_node_gap(const struct kp_line_gpu *gpu, struct kp_graph_gain *gain)
{
	const struct kp_duration_tally *nodes = &gpu->first.node_gaps;

	gain->node_measured = nodes->count >= NODE_GAPS_ENOUGH;
	gain->node_low_ns = NODE_LOW_NS;
	gain->node_high_ns = NODE_HIGH_NS;
	if (gain->node_measured) {
		gain->node_low_ns = kp_durations_quantile(nodes, 0.25);
		gain->node_high_ns = kp_durations_quantile(nodes, 0.75);
	}
}

/* The row number of the kernel that a symbol stands for; UINT32_MAX: a graph. */
static uint32_t row_of(const struct kp_build_timeline *line, uint32_t symbol)
{
	uint32_t key[2];
	size_t length;

	memcpy(key, kp_intern_bytes(&line->symbol_keys, symbol, &length), sizeof(key));
	return key[1];
}

static enum kp_status put_iterations(const struct kp_builder *builder, size_t number,
				     struct kp_iteration_row *row)
{
	const struct kp_build_timeline *line = builder->timeline;
	const struct kp_line_use *use = &line->uses[number];
	enum kp_status status;

	row->gpu = builder->uses[number].gpu;
	row->process = kp_build_process_at(builder, builder->uses[number].process);
	row->by_range = use->steps.stretches != NULL;
	row->launch_inferred = use->launch_inferred_ns * 2 > use->launch_ns || !use->launch_ns;
	if (row->by_range)
		row->anchor = builder->report->options.iterations;
	else
		row->anchor = name_of(builder, row_of(line, use->anchor));
	put_node_gap(&line->gpus[row->gpu], &row->gain);
	status = kp_iterations_finish(use->iterations, line->usual_ns, row);
	for (size_t i = 0; status == KP_OK && i < row->outliers_shown; i++)
		if (row->outliers[i].kernel_more_ns)
			row->outliers[i].kernel =
				name_of(builder, row_of(line, row->outliers[i].kernel_symbol));
	return status;
}

static void put_phases(const struct kp_builder *builder, size_t number, struct kp_timeline *out,
		       struct kp_phase_row *rows)
{
	const struct kp_line_use *use = &builder->timeline->uses[number];
	uint32_t process = builder->uses[number].process;

	for (unsigned i = 0; i < KP_PHASE_COUNT; i++) {
		const struct kp_line_phase *phase = &use->phases[i];
		const struct kp_owned_phase *owned;

		if (!phase->walk.stretches)
			continue;
		owned = kp_build_ranges_phase(builder, number, (enum kp_phase)i);
		rows[out->phase_count++] = (struct kp_phase_row){
			.name = kp_phase_names[i],
			.gpu = builder->uses[number].gpu,
			.process = kp_build_process_at(builder, process),
			.ranges = builder->timeline->processes[process].phase_ranges[i],
			.wall_ns = phase->wall_ns,
			.by_launch = owned != NULL,
			.kernels = owned ? owned->kernels : phase->kernels,
			.busy_ns = owned ? owned->busy_ns : phase->busy_ns,
		};
	}
}

/* Where no range tells phases apart. */
static void put_pattern(const struct kp_builder *builder, size_t number, struct kp_timeline *out,
			struct kp_phase_row *rows)
{
	const struct kp_line_use *use = &builder->timeline->uses[number];
	uint32_t process = builder->uses[number].process;
	struct kp_pattern_sum sums[KP_PHASE_COUNT];

	for (unsigned i = 0; i < KP_PHASE_COUNT; i++)
		if (builder->timeline->processes[process].phase_ranges[i])
			return;
	if (!kp_phase_pattern_result(&use->pattern, sums))
		return;
	for (unsigned i = 0; i < KP_PHASE_COUNT; i++) {
		uint64_t busy_ns = sums[i].kernel_ns, wall_ns = sums[i].wall_ns;

		if (!sums[i].kernels)
			continue;
		rows[out->phase_count++] = (struct kp_phase_row){
			.name = kp_phase_names[i],
			.gpu = builder->uses[number].gpu,
			.process = kp_build_process_at(builder, process),
			.by_pattern = true,
			.wall_ns = wall_ns,
			.kernels = sums[i].kernels,
			.busy_ns = busy_ns < wall_ns ? busy_ns : wall_ns,
		};
	}
}

static enum kp_status put_uses(const struct kp_builder *builder, struct kp_timeline *out)
{
	const struct kp_build_timeline *line = builder->timeline;
	struct kp_arena *arena = builder->report->arena;
	size_t steps = 0, phases = 0;
	struct kp_iteration_row *iterations;
	struct kp_phase_row *rows;
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < line->use_count; i++) {
		steps += line->uses[i].iterations != NULL;
		phases += KP_PHASE_COUNT;
	}
	iterations = kp_arena_alloc(arena, (steps + 1) * sizeof(*iterations));
	rows = kp_arena_alloc(arena, (phases + 1) * sizeof(*rows));
	if (!iterations || !rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < line->use_count; i++) {
		if (line->uses[i].iterations)
			status = put_iterations(builder, i, &iterations[out->iteration_count++]);
		put_phases(builder, i, out, rows);
		put_pattern(builder, i, out, rows);
	}
	out->iterations = iterations;
	out->phases = rows;
	return status;
}

enum kp_status kp_build_timeline_put(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;
	size_t processes = kp_reader_process_count(builder->reader);
	struct kp_timeline *out;
	struct kp_idle_row *idle;

	if (!builder->timeline)
		return KP_OK;
	out = kp_arena_alloc(report->arena, sizeof(*out));
	idle = kp_arena_alloc(report->arena, (report->gpu_count + 1) * sizeof(*idle));
	if (!out || !idle)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < report->gpu_count; i++)
		put_idle(builder, i, &idle[i]);
	out->idle = idle;
	out->range = report->options.iterations;
	for (size_t i = 0; i < processes; i++) {
		out->ranges_found += builder->timeline->processes[i].step_ranges;
		out->ranges_left_out += builder->timeline->processes[i].steps.left_out;
	}
	report->timeline = out;
	enum kp_status status = put_uses(builder, out);
	return status == KP_OK ? kp_line_put_steps(builder, out) : status;
}
