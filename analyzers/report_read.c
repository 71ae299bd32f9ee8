/* What a report counts of each batch of a trace; see report_build.h. */
#include "analyzers/report_build.h"
#include "analyzers/report_clocks.h"
#include "analyzers/report_counters.h"
#include "analyzers/report_passes.h"
#include "analyzers/report_trials.h"
#include "analyzers/slice.h"

static void widen_span(struct kp_gpu_row *gpu, uint64_t start_ns, uint64_t end_ns)
{
	if (gpu->last_ns == 0 || start_ns < gpu->first_ns)
		gpu->first_ns = start_ns;
	if (end_ns > gpu->last_ns)
		gpu->last_ns = end_ns;
}

/* What is not asked for as a rule, of a launch with valid times or not. */
static enum kp_status read_more(struct kp_builder *builder, const struct kp_process *process,
				const struct kp_launch *launch, struct kp_build_slot *slot)
{
	uint32_t row = slot->row_plus_one - 1;
	bool timed = kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;
	struct kp_build_use *use = &builder->uses[slot->use];
	enum kp_status status = kp_build_windows_launch(builder, process, row, launch);

	if (status == KP_OK)
		status = kp_build_ranks_launch(builder, process, launch);
	if (status != KP_OK || !timed)
		return status;
	status =
		kp_build_overview_launch(builder, slot->gpu, row, launch->start_ns, launch->end_ns);
	if (status == KP_OK && use->sweep)
		status = kp_sweep_add(use->sweep, launch->start_ns, launch->end_ns, 0);
	return status == KP_OK ? kp_build_counters_launch(
					 builder, &process->configs[launch->config], launch, slot)
			       : status;
}

static bool wants_more(const struct kp_builder *builder)
{
	return builder->windows || builder->ranks || builder->counted ||
	       builder->report->options.overview || kp_build_uses_timed(builder);
}

/* What all launches of a slice add to; rows, GPUs and the whole get it at the end: a slot is one
 * line of a cache. */
static enum kp_status read_slice(struct kp_builder *builder, const struct kp_event *slice)
{
	struct kp_build_slot *slots = builder->processes[slice->process->index].slots;
	bool more = wants_more(builder);
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < slice->count; i++) {
		const struct kp_launch *launch = &slice->launches[i];
		struct kp_build_slot *slot = &slots[launch->config];
		enum kp_time_quality quality = kp_time_quality(launch->start_ns, launch->end_ns);

		slot->calls++;
		slot->graph_calls += launch->graph || launch->graph_node;
		if (more)
			status = read_more(builder, slice->process, launch, slot);
		if (status != KP_OK || quality != KP_TIME_VALID) {
			builder->report->counts.kernels_untimed += quality == KP_TIME_UNTIMED;
			builder->report->counts.kernels_invalid += quality == KP_TIME_INVALID;
			continue;
		}
		slot->total_ns =
			kp_add_saturating(slot->total_ns, launch->end_ns - launch->start_ns);
		widen_span(&builder->gpus[slot->gpu].row, launch->start_ns, launch->end_ns);
		if (builder->gpus[slot->gpu].sweep)
			status = kp_sweep_add(builder->gpus[slot->gpu].sweep, launch->start_ns,
					      launch->end_ns, slot->row_plus_one - 1);
	}
	return status;
}

static enum kp_status read_launches(struct kp_builder *builder, const struct kp_event *event)
{
	enum kp_status status = kp_build_tally(builder, event);
	struct kp_slices slices = {.event = event};
	struct kp_event slice;

	while (status == KP_OK && kp_slices_next(&slices, &slice)) {
		status = read_slice(builder, &slice);
		for (size_t i = 0; status == KP_OK && i < builder->gpu_count; i++)
			if (builder->gpus[i].sweep)
				status =
					kp_sweep_settle(builder->gpus[i].sweep, slice.watermark_ns);
		if (status == KP_OK)
			status = kp_build_uses_settle(builder, slice.watermark_ns);
	}
	kp_build_trials_see(builder, event);
	builder->processes[event->process->index].kernels += event->count;
	return status;
}

void kp_build_count_finish(struct kp_builder *builder)
{
	size_t processes = kp_reader_process_count(builder->reader);
	struct kp_report_counts *counts = &builder->report->counts;

	for (size_t p = 0; p < processes; p++) {
		struct kp_build_process *reading = &builder->processes[p];
		size_t configs = kp_build_process_at(builder, p)->config_count;

		for (size_t i = 0; reading->slots && i < configs; i++) {
			const struct kp_build_slot *slot = &reading->slots[i];
			struct kp_gpu_row *gpu;

			if (!slot->row_plus_one) /* there may be no GPU */
				continue;
			gpu = &builder->gpus[slot->gpu].row;
			builder->rows[slot->row_plus_one - 1].calls += slot->calls;
			builder->rows[slot->row_plus_one - 1].graph_calls += slot->graph_calls;
			reading->kernel_ns = kp_add_saturating(reading->kernel_ns, slot->total_ns);
			gpu->kernel_ns = kp_add_saturating(gpu->kernel_ns, slot->total_ns);
			gpu->kernels += slot->calls;
			counts->kernels += slot->calls;
			counts->graph_kernels += slot->graph_calls;
		}
	}
	counts->kernels_timed = counts->kernels - counts->kernels_untimed - counts->kernels_invalid;
}

static enum kp_status read_memop(struct kp_builder *builder, const struct kp_process *process,
				 const struct kp_memop *memop)
{
	uint32_t kind = memop->kind < KP_MEMOP_KIND_COUNT ? memop->kind : KP_MEMOP_OTHER;
	uint32_t gpu = kp_build_place_of(builder, process, memop->device).gpu;
	enum kp_status status;

	builder->memop_calls[kind]++;
	builder->memop_bytes[kind] = kp_add_saturating(builder->memop_bytes[kind], memop->bytes);
	if (kp_time_quality(memop->start_ns, memop->end_ns) != KP_TIME_VALID)
		return KP_OK;
	widen_span(&builder->gpus[gpu].row, memop->start_ns, memop->end_ns);
	kp_build_windows_see(builder, process, memop->start_ns, memop->end_ns);
	status = kp_build_counters_memop(builder, gpu, kind, memop->start_ns, memop->end_ns);
	if (status != KP_OK)
		return status;
	return kp_durations_add(&builder->memop_tallies[kind], memop->end_ns - memop->start_ns,
				builder->scratch);
}

enum kp_status kp_build_count(void *context, const struct kp_event *event)
{
	struct kp_builder *builder = context;
	enum kp_status status = KP_OK;

	switch (event->kind) {
	case KP_EVENT_LAUNCHES:
		return read_launches(builder, event);
	case KP_EVENT_MEMOPS:
		for (size_t i = 0; status == KP_OK && i < event->count; i++)
			status = read_memop(builder, event->process, &event->memops[i]);
		return status;
	case KP_EVENT_RANGES:
		builder->report->range_count += event->count;
		return KP_OK;
	case KP_EVENT_SAMPLES:
		return kp_build_counters_samples(builder, event);
	case KP_EVENT_CLOCKS:
		for (size_t i = 0; status == KP_OK && i < event->count; i++)
			status = kp_build_clocks_read(builder, event->process, &event->clocks[i]);
		return status;
	case KP_EVENT_RUNS:
	case KP_EVENT_HOST:
	case KP_EVENT_LIBRARY:
		break;
	}
	return KP_OK;
}
