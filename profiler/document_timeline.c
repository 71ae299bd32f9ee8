/* The timeline in the document kprof.report/v1; see document.h. Pure. */
#include <math.h>

#include "profiler/document.h"
#include "profiler/print_timeline.h"

static void emit_parts(struct kp_emit *emit, const struct kp_idle_row *row)
{
	kp_emit_list_begin(emit, "causes");
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "cause", kp_gap_keys[i]);
		kp_emit_count(emit, "total_ns", row->parts[i].total_ns);
		kp_emit_count(emit, "inferred_ns", row->parts[i].inferred_ns);
		kp_emit_count(emit, "gaps", row->parts[i].gaps);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_lengths(struct kp_emit *emit, const struct kp_idle_row *row)
{
	kp_emit_list_begin(emit, "lengths");
	for (unsigned i = 0; i < KP_GAP_BIN_COUNT; i++) {
		kp_emit_map_begin(emit, NULL);
		if (i < KP_GAP_BIN_COUNT - 1)
			kp_emit_count(emit, "below_ns", kp_gap_bins_ns[i]);
		else
			kp_emit_null(emit, "below_ns");
		kp_emit_count(emit, "gaps", row->bins[i].gaps);
		kp_emit_count(emit, "total_ns", row->bins[i].total_ns);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_longest(struct kp_emit *emit, const struct kp_idle_row *row)
{
	kp_emit_list_begin(emit, "longest");
	for (size_t i = 0; i < row->longest_count; i++) {
		const struct kp_gap_long *gap = &row->longest[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_count(emit, "begin_ns", gap->at_ns);
		kp_emit_count(emit, "length_ns", gap->length_ns);
		kp_emit_string(emit, "cause", kp_gap_keys[gap->cause]);
		kp_emit_bool(emit, "inferred", gap->inferred);
		kp_emit_string(emit, "kernel_before", gap->before);
		kp_emit_string(emit, "kernel_behind", gap->behind);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_path(struct kp_emit *emit, const struct kp_idle_row *row)
{
	const struct kp_path_parts *path = &row->path;

	kp_emit_map_begin(emit, "critical_path");
	kp_emit_count(emit, "kernel_ns", path->kernel_ns);
	kp_emit_count(emit, "memory_ns", path->memory_ns);
	kp_emit_count(emit, "idle_ns", row->path_idle_ns);
	kp_emit_count(emit, "others_ns", path->others_ns);
	kp_emit_count(emit, "hidden_ns", path->hidden_ns);
	kp_emit_count(emit, "pieces", path->cuts);
	kp_emit_map_end(emit);
}

static void emit_idle(struct kp_emit *emit, const struct kp_report *report)
{
	kp_emit_list_begin(emit, "idle");
	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_idle_row *row = &report->timeline->idle[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_count(emit, "gpu", i);
		kp_emit_count(emit, "idle_ns", row->idle_ns);
		kp_emit_count(emit, "gaps", row->gaps);
		emit_parts(emit, row);
		emit_lengths(emit, row);
		kp_emit_count(emit, "graph_node_gaps", row->node_gaps);
		kp_emit_number(emit, "graph_node_gap_median_ns",
			       row->node_gaps ? row->node_gap_median_ns : NAN, 1);
		emit_longest(emit, row);
		emit_path(emit, row);
		kp_emit_count(emit, "kernels_overlapping_next", row->faults.overlapping);
		kp_emit_count(emit, "overlap_ns", row->faults.overlap_ns);
		kp_emit_count(emit, "launches_out_of_order", row->faults.out_of_order);
		kp_emit_count(emit, "clock_step_ns", row->faults.step_ns);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

/* Null where nothing was counted. */
static void emit_spread(struct kp_emit *emit, const char *key, const struct kp_spread *spread)
{
	if (!spread->count) {
		kp_emit_null(emit, key);
		return;
	}
	kp_emit_map_begin(emit, key);
	kp_emit_count(emit, "min", spread->min);
	kp_emit_number(emit, "p5", spread->p5, 1);
	kp_emit_number(emit, "median", spread->median, 1);
	kp_emit_number(emit, "mean", spread->mean, 1);
	kp_emit_number(emit, "p90", spread->p90, 1);
	kp_emit_number(emit, "p95", spread->p95, 1);
	kp_emit_number(emit, "p99", spread->p99, 1);
	kp_emit_count(emit, "max", spread->max);
	kp_emit_number(emit, "cv", spread->cv, 4);
	kp_emit_map_end(emit);
}

static void emit_outliers(struct kp_emit *emit, const struct kp_iteration_row *row)
{
	kp_emit_count(emit, "outlier_count", row->outlier_count);
	kp_emit_list_begin(emit, "outliers");
	for (size_t i = 0; i < row->outliers_shown; i++) {
		const struct kp_iteration_outlier *outlier = &row->outliers[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_count(emit, "number", outlier->number);
		kp_emit_count(emit, "begin_ns", outlier->begin_ns);
		kp_emit_count(emit, "wall_ns", outlier->wall_ns);
		kp_emit_count(emit, "busy_ns", outlier->busy_ns);
		kp_emit_count(emit, "launches", outlier->kernels);
		kp_emit_count(emit, "longest_gap_ns", outlier->longest_gap_ns);
		kp_emit_string(emit, "longest_gap_cause", kp_gap_keys[outlier->longest_gap_cause]);
		kp_emit_string(emit, "kernel", outlier->kernel);
		kp_emit_count(emit, "kernel_more_ns", outlier->kernel_more_ns);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_gain(struct kp_emit *emit, const struct kp_iteration_row *row)
{
	const struct kp_graph_gain *gain = &row->gain;

	kp_emit_map_begin(emit, "launches_per_iteration");
	kp_emit_bool(emit, "launch_bound", row->launch_bound);
	kp_emit_string(emit, "source", row->launch_inferred ? "inferred" : "measured");
	kp_emit_number(emit, "launch_bound_ns", row->launch_ns, 1);
	kp_emit_map_end(emit);
	kp_emit_map_begin(emit, "graph_gain_per_iteration");
	kp_emit_string(emit, "source", "modelled");
	kp_emit_count(emit, "gaps", gain->gaps);
	kp_emit_number(emit, "low_ns", gain->low_ns, 1);
	kp_emit_number(emit, "high_ns", gain->high_ns, 1);
	kp_emit_number(emit, "node_gap_low_ns", gain->node_low_ns, 1);
	kp_emit_number(emit, "node_gap_high_ns", gain->node_high_ns, 1);
	kp_emit_bool(emit, "node_gap_measured", gain->node_measured);
	kp_emit_map_end(emit);
}

static void emit_iterations(struct kp_emit *emit, const struct kp_timeline *timeline)
{
	kp_emit_list_begin(emit, "iterations");
	for (size_t i = 0; i < timeline->iteration_count; i++) {
		const struct kp_iteration_row *row = &timeline->iterations[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_count(emit, "gpu", row->gpu);
		kp_emit_count(emit, "process", row->process->index);
		kp_emit_string(emit, "found_by", row->by_range ? "range" : "repetition");
		kp_emit_string(emit, "begins_with", row->anchor);
		kp_emit_count(emit, "count", row->count);
		kp_emit_count(emit, "warmup", row->warmup);
		kp_emit_count(emit, "irregular", row->irregular);
		emit_spread(emit, "wall_ns", &row->wall);
		emit_spread(emit, "busy_ns", &row->busy);
		emit_spread(emit, "launches", &row->kernels);
		emit_gain(emit, row);
		emit_outliers(emit, row);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_phases(struct kp_emit *emit, const struct kp_timeline *timeline)
{
	kp_emit_list_begin(emit, "phases");
	for (size_t i = 0; i < timeline->phase_count; i++) {
		const struct kp_phase_row *row = &timeline->phases[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "name", row->name);
		kp_emit_string(emit, "source", row->by_pattern ? "pattern" : "nvtx");
		kp_emit_string(emit, "owned_by", row->by_launch ? "launch" : "time");
		kp_emit_count(emit, "gpu", row->gpu);
		kp_emit_count(emit, "process", row->process->index);
		kp_emit_count(emit, "ranges", row->ranges);
		kp_emit_count(emit, "wall_ns", row->wall_ns);
		kp_emit_count(emit, "busy_ns", row->busy_ns);
		kp_emit_count(emit, "launches", row->kernels);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

void kp_document_timeline(struct kp_emit *emit, const struct kp_report *report)
{
	if (!report->timeline)
		return;
	emit_idle(emit, report);
	emit_phases(emit, report->timeline);
	emit_iterations(emit, report->timeline);
}
