/* Fusion candidates in the document kprof.report/v1; see print_fusion.h. */
#include <math.h>

#include "profiler/fields.h"
#include "profiler/print_fusion.h"

static void emit_range(struct kp_emit *emit, const char *low, const char *high,
		       const struct kp_range_ns *range)
{
	kp_emit_number(emit, low, range->low, 0);
	kp_emit_number(emit, high, range->high, 0);
}

static void emit_members(struct kp_emit *emit, const struct kp_report *report,
			 const struct kp_fusion_row *row)
{
	kp_emit_list_begin(emit, "kernels");
	for (size_t i = 0; i < row->member_count; i++) {
		const struct kp_fusion_member *member = &row->members[i];
		const struct kp_kernel_row *kernel = &report->kernels[member->kernel];

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "step", member->step);
		kp_emit_string(emit, "operator", report->operators[kernel->operator_index].name);
		kp_emit_string(emit, "name", kernel->shortened);
		kp_fields_emit_triple(emit, "grid", member->grid);
		kp_fields_emit_triple(emit, "block", member->block);
		kp_emit_count(emit, "total_ns", member->total_ns);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_bytes(struct kp_emit *emit, const struct kp_fusion_row *row)
{
	kp_emit_number(emit, "bytes", row->bytes, 0);
	kp_emit_number(emit, "bytes_saved_low", row->bytes_saved_low, 0);
	kp_emit_number(emit, "bytes_saved_high", row->bytes_saved_high, 0);
	kp_emit_string(emit, "bytes_source",
		       isfinite(row->bytes) ? kp_traffic_source_name(row->bytes_source) : NULL);
	kp_emit_string(emit, "gain_from", row->by_bytes ? "bytes" : "durations");
}

static void emit_row(struct kp_emit *emit, const struct kp_report *report,
		     const struct kp_fusion_row *row)
{
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "id", row->id);
	kp_emit_string(emit, "name", row->name);
	kp_emit_string(emit, "instead", row->about);
	kp_emit_string(emit, "builtin", row->builtin);
	kp_emit_string(emit, "confidence", kp_fusion_confidence_name(row->confidence));
	kp_emit_string(emit, "data_flow_by", kp_fusion_flow_name(row->flow));
	kp_emit_bool(emit, "absorbed", row->absorbed);
	kp_emit_count(emit, "runs", row->runs);
	kp_emit_count(emit, "runs_in_graphs", row->graph_runs);
	kp_emit_count(emit, "kernel_time_ns", row->kernel_ns);
	kp_emit_count(emit, "gap_ns", row->gap_ns);
	kp_emit_count(emit, "gap_in_graphs_ns", row->graph_gap_ns);
	kp_emit_number(emit, "alone_pct", row->alone_pct, 2);
	emit_bytes(emit, row);
	emit_range(emit, "kernel_gain_low_ns", "kernel_gain_high_ns", &row->kernel_gain);
	emit_range(emit, "gap_gain_low_ns", "gap_gain_high_ns", &row->gap_gain);
	emit_range(emit, "gain_low_ns", "gain_high_ns", &row->gain);
	kp_emit_number(emit, "gain_low_pct", row->gain_low_pct, 3);
	kp_emit_number(emit, "gain_high_pct", row->gain_high_pct, 3);
	emit_members(emit, report, row);
	kp_emit_map_end(emit);
}

void kp_document_fusion(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_report_fusion *fusion = &report->fusion;

	kp_emit_map_begin(emit, "fusion");
	kp_emit_string(emit, "source", "modelled");
	kp_emit_count(emit, "launches", fusion->launches);
	kp_emit_count(emit, "launches_saved", fusion->launches_saved);
	emit_range(emit, "gain_low_ns", "gain_high_ns", &fusion->gain);
	kp_emit_number(emit, "gain_low_pct", fusion->gain_low_pct, 3);
	kp_emit_number(emit, "gain_high_pct", fusion->gain_high_pct, 3);
	kp_emit_count(emit, "runs_left_out", fusion->left_out);
	kp_emit_count(emit, "candidates_left_out", fusion->more);
	kp_emit_list_begin(emit, "candidates");
	for (size_t i = 0; i < fusion->count; i++)
		emit_row(emit, report, &fusion->rows[i]);
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
}
