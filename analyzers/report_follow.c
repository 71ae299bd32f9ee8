/* The timeline of a report in order of time, read the first time; see timeline_build.h. */
#include "analyzers/report_passes.h"
#include "analyzers/slice.h"
#include "analyzers/timeline_build.h"

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
		if (kp_line_find_symbol(line, kernel->use, UINT32_MAX, &symbol) != KP_OK)
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

/* One kernel; *cause: of the gap before it. */
static enum kp_status visit_kernel(const struct visit *at, const struct kp_activity *item,
				   uint8_t *cause)
{
	struct kp_build_timeline *line = at->builder->timeline;
	struct kp_line_use *use = &line->uses[item->use];
	struct kp_symbol *symbol;
	struct kp_gap gap;
	uint64_t waited_ns = 0;
	bool any;
	enum kp_status status = KP_OK;

	at->gpu->displaced += item->start_ns < at->gpu->now_ns;
	at->gpu->now_ns = item->start_ns > at->gpu->now_ns ? item->start_ns : at->gpu->now_ns;
	any = kp_gaps_reach(&at->gpu->gaps, item, kp_line_window(at->builder, item), !use->position,
			    &gap);
	if (any) {
		*cause = (uint8_t)gap.cause;
		waited_ns = gap.end_ns - gap.begin_ns;
		status = wait_for_call(at, use, item, &gap);
	}
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

/* Some in order; nobody follows along the beginning that is looked at for a guess. */
static enum kp_status visit(void *context, const struct kp_activity *items, size_t count)
{
	const struct visit *at = context;
	struct kp_build_timeline *line = at->builder->timeline;
	enum kp_status status = KP_OK;
	uint8_t unseen = 0, *causes = NULL;

	if (line->is_shown) {
		causes = kp_along_show(&line->along, (size_t)(at->gpu - line->gpus), items, count);
		if (!causes)
			return KP_NO_MEMORY;
	}
	for (size_t i = 0; i < count && status == KP_OK; i++) {
		uint8_t *cause = causes ? &causes[i] : &unseen;

		*cause = KP_SHOWN_NO_GAP;
		if (items[i].kind == KP_ACTIVITY_MEMORY)
			kp_gaps_memory(&at->gpu->gaps, &items[i]);
		else
			status = visit_kernel(at, &items[i], cause);
	}
	return status;
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
	status = kp_line_reserve(builder);
	if (status == KP_OK && event->kind == KP_EVENT_RANGES)
		status = kp_line_add_ranges(builder, event);
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
	status = kp_line_reserve(builder);
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
