/* Reading a trace into the builder's accumulators; see report_build.h. */
#include "analyzers/report_build.h"
#include "analyzers/report_calls.h"
#include "analyzers/report_host_build.h"
#include "analyzers/report_ranges.h"
#include "analyzers/report_timeline.h"

#include <stdlib.h>

#include "analyzers/report_counters.h"

/* The first launch of a configuration: from now on its slot knows row and GPU. */
static enum kp_status fill_slot(struct kp_builder *builder, const struct kp_process *process,
				uint32_t config, struct kp_build_slot *slot)
{
	enum kp_status status;
	uint32_t row = 0;

	status = kp_build_gpu_of(builder, process, process->configs[config].device, &slot->gpu);
	if (status == KP_OK)
		status = kp_build_use_of(builder, process, slot->gpu, &slot->use);
	if (status == KP_OK)
		status = kp_build_row_of(builder, process, config, &row);
	if (status == KP_OK)
		slot->row_plus_one = row + 1;
	slot->first = builder->processes[process->index].kernels;
	return status;
}

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
	struct kp_build_row *row = &builder->rows[slot->row_plus_one - 1];
	uint64_t duration_ns = launch->end_ns - launch->start_ns;
	enum kp_status status;

	status = kp_durations_add(&row->tally, duration_ns, builder->scratch);
	if (status != KP_OK)
		return status;
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
	enum kp_status status = KP_OK;
	bool in_graph = launch->graph || launch->graph_node;

	if (!slot->row_plus_one)
		status = fill_slot(builder, process, launch->config, slot);
	if (status != KP_OK)
		return status;
	status = kp_build_windows_launch(builder, process, slot->row_plus_one - 1, launch);
	if (status != KP_OK)
		return status;
	status = kp_build_host_launch(builder, process, slot->row_plus_one - 1, launch);
	if (status == KP_OK)
		status = kp_build_calls_launch(builder, process, slot->row_plus_one - 1, launch);
	if (status != KP_OK)
		return status;
	status = kp_build_ranges_launch(builder, process, slot->row_plus_one - 1, launch);
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
	struct kp_build_process *reading = &builder->processes[event->process->index];
	enum kp_status status = KP_OK;

	if (!reading->slots)
		reading->slots = calloc(event->process->config_count + 1, sizeof(*reading->slots));
	if (!reading->slots)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < event->count; i++)
		status = read_launch(builder, event->process, &event->launches[i]);
	for (size_t i = 0; status == KP_OK && i < builder->gpu_count; i++)
		status = kp_sweep_settle(builder->gpus[i].sweep, event->watermark_ns);
	return status == KP_OK ? kp_build_uses_settle(builder, event->watermark_ns) : status;
}

static enum kp_status read_memop(struct kp_builder *builder, const struct kp_process *process,
				 const struct kp_memop *memop)
{
	uint32_t kind = memop->kind < KP_MEMOP_KIND_COUNT ? memop->kind : KP_MEMOP_OTHER;
	enum kp_status status;
	uint32_t gpu = 0, use;

	builder->memop_calls[kind]++;
	builder->memop_bytes[kind] = kp_add_saturating(builder->memop_bytes[kind], memop->bytes);
	status = kp_build_gpu_of(builder, process, memop->device, &gpu);
	if (status == KP_OK)
		status = kp_build_use_of(builder, process, gpu, &use);
	if (status != KP_OK || kp_time_quality(memop->start_ns, memop->end_ns) != KP_TIME_VALID)
		return status;
	widen_span(&builder->gpus[gpu].row, memop->start_ns, memop->end_ns);
	kp_build_windows_see(builder, process, memop->start_ns, memop->end_ns);
	status = kp_build_counters_memop(builder, gpu, kind, memop->start_ns, memop->end_ns);
	if (status != KP_OK)
		return status;
	return kp_durations_add(&builder->memop_tallies[kind], memop->end_ns - memop->start_ns,
				builder->scratch);
}

enum kp_status kp_build_event(struct kp_builder *builder, const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	switch (event->kind) {
	case KP_EVENT_LAUNCHES:
		status = read_launches(builder, event);
		break;
	case KP_EVENT_MEMOPS:
		for (size_t i = 0; status == KP_OK && i < event->count; i++)
			status = read_memop(builder, event->process, &event->memops[i]);
		break;
	case KP_EVENT_RANGES:
		builder->report->range_count += event->count;
		status = kp_build_ranges_event(builder, event);
		break;
	case KP_EVENT_RUNS:
		status = kp_build_ranges_event(builder, event);
		break;
	case KP_EVENT_SAMPLES:
		status = kp_build_counters_samples(builder, event);
		break;
	case KP_EVENT_CLOCKS:
		for (size_t i = 0; status == KP_OK && i < event->count; i++)
			status = kp_build_clocks_read(builder, event->process, &event->clocks[i]);
		break;
	case KP_EVENT_HOST:
		status = kp_build_host_calls(builder, event);
		break;
	case KP_EVENT_LIBRARY:
		status = kp_build_calls_library(builder, event);
		break;
	}
	/* Gaps before what is tied to calls, for calls say what gaps are. */
	if (status == KP_OK)
		status = kp_build_timeline_event(builder, event);
	if (status == KP_OK)
		status = kp_build_calls_settle(builder, event->process);
	if (status == KP_OK)
		status = kp_build_host_settle(builder, event->watermark_ns);
	if (status == KP_OK && event->watermark_ns != UINT64_MAX)
		status = kp_build_ranges_settle(builder, event->watermark_ns);
	return status;
}
