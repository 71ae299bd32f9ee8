/* All of a report but the kernels: totals, GPUs, processes, memory operations, counts. */
#include "analyzers/report_build.h"
#include "analyzers/report_clocks.h"
#include "analyzers/report_timeline.h"

#include <stdlib.h>

static enum kp_status put_gpus(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;
	struct kp_gpu_row *rows =
		kp_arena_alloc(report->arena, (builder->gpu_count + 1) * sizeof(*rows));

	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < builder->gpu_count; i++) {
		struct kp_sweep *sweep = builder->gpus[i].sweep;

		if (sweep && kp_sweep_settle(sweep, UINT64_MAX) != KP_OK)
			return KP_NO_MEMORY;
		rows[i] = builder->gpus[i].row;
		rows[i].busy_ns = kp_build_gpu_busy(builder, i);
		rows[i].span_ns = rows[i].last_ns - rows[i].first_ns;
		if (kp_build_windows_span(builder, i, &rows[i]) != KP_OK)
			return KP_NO_MEMORY;
		report->counts.displaced +=
			sweep ? kp_sweep_displaced(sweep) : kp_build_timeline_displaced(builder, i);
		report->kernel_ns = kp_add_saturating(report->kernel_ns, rows[i].kernel_ns);
		report->busy_ns = kp_add_saturating(report->busy_ns, rows[i].busy_ns);
		report->span_ns = kp_add_saturating(report->span_ns, rows[i].span_ns);
	}
	kp_build_communication(builder, rows);
	report->gpus = rows;
	report->gpu_count = builder->gpu_count;
	return kp_build_clocks_put(builder, rows);
}

/* One process's counts into the report's. */
static void add_counts(struct kp_report_counts *counts, const struct kp_process_row *row)
{
	const struct kp_counts *from = &row->process->counts;

	counts->processes_refused += row->fate == KP_FATE_REFUSED;
	counts->processes_untraced += row->fate == KP_FATE_UNTRACED;
	if (row->fate == KP_FATE_REFUSED || row->fate == KP_FATE_UNTRACED)
		return;
	if (KP_HAS(from, COUNTS, records_dropped))
		counts->dropped = kp_add_saturating(counts->dropped, from->records_dropped);
	else
		counts->dropped_known = false;
	counts->unwritten = kp_add_saturating(counts->unwritten, from->kernels_unwritten);
	counts->filtered = kp_add_saturating(counts->filtered, from->kernels_filtered);
	counts->out_of_window =
		kp_add_saturating(counts->out_of_window, from->kernels_out_of_window);
	counts->unknown_records = kp_add_saturating(counts->unknown_records, from->records_unknown);
	counts->processes_unfinished += row->process->end.has == 0;
}

/* Of the processes that are shown, and of those of which nothing but a damaged part is there. */
static uint64_t lost_launches(const struct kp_builder *builder, const struct kp_process_row *rows,
			      size_t count)
{
	uint64_t lost = kp_reader_damage(builder->reader).lost_launches;

	for (size_t i = 0; i < kp_reader_process_count(builder->reader); i++)
		lost -= kp_build_process_at(builder, i)->lost_launches;
	for (size_t i = 0; i < count; i++)
		lost = kp_add_saturating(lost, rows[i].lost);
	return lost;
}

static enum kp_status put_processes(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;
	size_t count = kp_reader_process_count(builder->reader), shown = 0;
	struct kp_process_row *rows = kp_arena_alloc(report->arena, (count + 1) * sizeof(*rows));

	if (!rows)
		return KP_NO_MEMORY;
	if (kp_build_uses_settle(builder, UINT64_MAX) != KP_OK)
		return KP_NO_MEMORY;
	report->counts.dropped_known = true;
	for (size_t i = 0; i < count; i++) {
		if (kp_build_process_at(builder, i)->left_out)
			continue;
		if (kp_build_process_row(builder, i, &rows[shown]) != KP_OK)
			return KP_NO_MEMORY;
		add_counts(&report->counts, &rows[shown++]);
	}
	report->counts.damage = kp_reader_damage(builder->reader);
	report->counts.lost = lost_launches(builder, rows, shown);
	report->processes = rows;
	report->process_count = shown;
	return KP_OK;
}

static int compare_memops(const void *left, const void *right)
{
	const struct kp_memop_row *a = left, *b = right;
	int order = kp_build_order(b->durations.total_ns, a->durations.total_ns);

	if (!order)
		order = kp_build_order(b->calls, a->calls);
	return order ? order : kp_build_order(a->kind, b->kind);
}

static enum kp_status put_memops(struct kp_builder *builder)
{
	static const char *const names[KP_MEMOP_KIND_COUNT] = {
		[KP_MEMOP_OTHER] = "copy, other kinds",
		[KP_MEMOP_HOST_TO_DEVICE] = "copy host to device",
		[KP_MEMOP_DEVICE_TO_HOST] = "copy device to host",
		[KP_MEMOP_DEVICE_TO_DEVICE] = "copy device to device",
		[KP_MEMOP_HOST_TO_HOST] = "copy host to host",
		[KP_MEMOP_PEER_TO_PEER] = "copy peer to peer",
		[KP_MEMOP_SET] = "memory set",
	};
	struct kp_report *report = builder->report;
	struct kp_memop_row *rows =
		kp_arena_alloc(report->arena, KP_MEMOP_KIND_COUNT * sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return KP_NO_MEMORY;
	for (unsigned kind = 0; kind < KP_MEMOP_KIND_COUNT; kind++) {
		if (builder->memop_calls[kind])
			rows[count++] = (struct kp_memop_row){
				.kind = (enum kp_memop_kind)kind,
				.name = names[kind],
				.calls = builder->memop_calls[kind],
				.bytes = builder->memop_bytes[kind],
				.durations = kp_durations_result(&builder->memop_tallies[kind]),
			};
	}
	qsort(rows, count, sizeof(*rows), compare_memops);
	report->memops = rows;
	report->memop_count = count;
	return KP_OK;
}

enum kp_status kp_build_totals(struct kp_builder *builder)
{
	enum kp_status status = put_gpus(builder);

	if (status == KP_OK)
		status = put_processes(builder);
	if (status == KP_OK)
		status = put_memops(builder);
	return status;
}
