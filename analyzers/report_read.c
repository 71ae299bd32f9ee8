/* What a report counts of each batch of a trace; see report_build.h. */
#include "analyzers/report_build.h"
#include "analyzers/report_counters.h"
#include "analyzers/report_passes.h"
#include "analyzers/slice.h"

static void widen_span(struct kp_gpu_row *gpu, uint64_t start_ns, uint64_t end_ns)
{
	if (gpu->last_ns == 0 || start_ns < gpu->first_ns)
		gpu->first_ns = start_ns;
	if (end_ns > gpu->last_ns)
		gpu->last_ns = end_ns;
}

static enum kp_status read_timed(struct kp_builder *builder, const struct kp_process *process,
				 const struct kp_launch *launch, struct kp_build_slot *slot)
{
	struct kp_build_gpu *gpu = &builder->gpus[slot->gpu];
	struct kp_build_use *use = &builder->uses[slot->use];
	uint64_t duration_ns = launch->end_ns - launch->start_ns;
	enum kp_status status = KP_OK;

	slot->total_ns = kp_add_saturating(slot->total_ns, duration_ns);
	gpu->row.kernel_ns = kp_add_saturating(gpu->row.kernel_ns, duration_ns);
	widen_span(&gpu->row, launch->start_ns, launch->end_ns);
	status = kp_build_overview_launch(builder, slot->gpu, slot->row_plus_one - 1,
					  launch->start_ns, launch->end_ns);
	if (status != KP_OK)
		return status;
	if (use->sweep)
		status = kp_sweep_add(use->sweep, launch->start_ns, launch->end_ns, 0);
	if (status == KP_OK)
		status = kp_build_counters_launch(builder, &process->configs[launch->config],
						  launch, slot);
	if (status != KP_OK)
		return status;
	return kp_sweep_add(gpu->sweep, launch->start_ns, launch->end_ns, slot->row_plus_one - 1);
}

static enum kp_status read_launch(struct kp_builder *builder, const struct kp_process *process,
				  const struct kp_launch *launch)
{
	struct kp_build_process *reading = &builder->processes[process->index];
	struct kp_build_slot *slot = &reading->slots[launch->config];
	struct kp_report_counts *counts = &builder->report->counts;
	bool in_graph = launch->graph || launch->graph_node;
	enum kp_status status =
		kp_build_windows_launch(builder, process, slot->row_plus_one - 1, launch);

	if (status != KP_OK)
		return status;
	status = kp_build_ranks_launch(builder, process, launch);
	if (status != KP_OK)
		return status;
	slot->calls++;
	slot->graph_calls += in_graph;
	reading->kernels++;
	builder->rows[slot->row_plus_one - 1].calls++;
	builder->rows[slot->row_plus_one - 1].graph_calls += in_graph;
	builder->gpus[slot->gpu].row.kernels++;
	counts->kernels++;
	counts->graph_kernels += in_graph;
	switch (kp_time_quality(launch->start_ns, launch->end_ns)) {
	case KP_TIME_UNTIMED:
		counts->kernels_untimed++;
		break;
	case KP_TIME_INVALID:
		counts->kernels_invalid++;
		break;
	case KP_TIME_VALID:
		counts->kernels_timed++;
		reading->kernel_ns =
			kp_add_saturating(reading->kernel_ns, launch->end_ns - launch->start_ns);
		status = read_timed(builder, process, launch, slot);
		break;
	}
	return status;
}

static enum kp_status read_launches(struct kp_builder *builder, const struct kp_event *event)
{
	enum kp_status status = kp_build_tally(builder, event);
	struct kp_slices slices = {.event = event};
	struct kp_event slice;

	while (status == KP_OK && kp_slices_next(&slices, &slice)) {
		for (size_t i = 0; status == KP_OK && i < slice.count; i++)
			status = read_launch(builder, slice.process, &slice.launches[i]);
		for (size_t i = 0; status == KP_OK && i < builder->gpu_count; i++)
			status = kp_sweep_settle(builder->gpus[i].sweep, slice.watermark_ns);
		if (status == KP_OK)
			status = kp_build_uses_settle(builder, slice.watermark_ns);
	}
	return status;
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
