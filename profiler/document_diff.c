/* The document kprof.diff/v1; docs/diff.md explains its keys. Pure: walks comparisons, writes
 * through an emitter. */
#include <math.h>

#include "profiler/document.h"
#include "profiler/gating.h"
#include "profiler/print_diff.h"
#include "profiler/print_timeline.h"

/* Times are told in nanoseconds with three decimals, which is exact. */
static void emit_ps(struct kp_emit *emit, const char *key, int64_t ps)
{
	kp_emit_number(emit, key, (double)ps / 1000, 3);
}

static void emit_runs(struct kp_emit *emit, const struct kp_diff_total *total)
{
	kp_emit_list_begin(emit, "runs");
	for (size_t i = 0; i < total->run_count; i++) {
		const struct kp_run *run = total->runs[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "file", run->name);
		kp_emit_string(emit, "command", run->command);
		kp_emit_string(emit, "gpus", *run->gpus ? run->gpus : NULL);
		kp_emit_string(emit, "driver", run->driver);
		kp_emit_number(emit, "sm_clock_mhz", run->sm_mhz, 0);
		kp_emit_number(emit, "throttled_pct", run->throttled_pct, 1);
		kp_emit_count(emit, "iterations", run->lengths[KP_UNIT_STEP].count);
		kp_emit_string(emit, "iterations_begin_with",
			       run->lengths[KP_UNIT_STEP].count ? run->anchor : NULL);
		kp_emit_count(emit, "kernels", run->launches);
		kp_emit_count(emit, "kernels_missing", run->losses.missing);
		kp_emit_bool(emit, "kernels_missing_known", run->losses.known);
		kp_emit_count(emit, "kernel_time_ns", run->kernel_ns);
		kp_emit_count(emit, "busy_time_ns", run->busy_ns);
		kp_emit_count(emit, "span_ns", run->span_ns);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_total(struct kp_emit *emit, const char *key, const struct kp_diff *diff,
		       unsigned side)
{
	const struct kp_diff_total *total = &diff->totals[side];

	kp_emit_map_begin(emit, key);
	emit_runs(emit, total);
	kp_emit_count(emit, "units", total->units);
	emit_ps(emit, "length_ns", total->length_ps);
	emit_ps(emit, "busy_ns", total->busy_ps);
	kp_emit_number(emit, "typical_ns", diff->effect.typical_ns[side], 3);
	kp_emit_number(emit, "launches", total->calls, 3);
	kp_emit_map_end(emit);
}

static void emit_side(struct kp_emit *emit, const char *key, const struct kp_diff_side *side,
		      const struct kp_run_row *kernel, enum kp_diff_kind kind)
{
	kp_emit_map_begin(emit, key);
	if (kernel) {
		kp_emit_string(emit, "name", kernel->shortened);
		kp_emit_string(emit, "full_name", kernel->full);
		kp_emit_string(emit, "mangled_name", kernel->mangled);
		kp_emit_string(emit, "operator", kernel->operator_name);
		kp_emit_string(emit, "variant", kernel->variant);
	}
	emit_ps(emit, "time_ns", side->time_ps);
	kp_emit_number(emit, "share_pct", side->share_pct, 3);
	if (kind == KP_DIFF_KERNEL) {
		kp_emit_number(emit, "calls", side->calls, 3);
		kp_emit_number(emit, "mean_ns", side->mean_ns, 3);
		if (kernel)
			kp_emit_number(emit, "median_ns", side->median_ns, 3);
		kp_emit_number(emit, "gbps", side->gbps, 1);
	}
	kp_emit_map_end(emit);
}

static void emit_change(struct kp_emit *emit, const struct kp_diff *diff, int64_t change_ps)
{
	int64_t length_ps = diff->totals[0].length_ps;

	emit_ps(emit, "change_ns", change_ps);
	kp_emit_number(emit, "change_of_length_pct",
		       length_ps > 0 ? 100 * (double)change_ps / (double)length_ps : NAN, 3);
}

static void emit_row(struct kp_emit *emit, const struct kp_diff *diff,
		     const struct kp_diff_row *row)
{
	kp_emit_map_begin(emit, NULL);
	if (row->kind == KP_DIFF_KERNEL)
		kp_emit_string(emit, "match", kp_diff_match_name(row->match));
	else if (row->kind == KP_DIFF_IDLE)
		kp_emit_string(emit, "cause",
			       row->cause < KP_GAP_CAUSE_COUNT ? kp_gap_keys[row->cause]
							       : "border");
	emit_change(emit, diff, row->change_ps);
	if (row->kind != KP_DIFF_KERNEL || row->kernels[0])
		emit_side(emit, "base", &row->sides[0], row->kernels[0], row->kind);
	else
		kp_emit_null(emit, "base");
	if (row->kind != KP_DIFF_KERNEL || row->kernels[1])
		emit_side(emit, "new", &row->sides[1], row->kernels[1], row->kind);
	else
		kp_emit_null(emit, "new");
	kp_emit_map_end(emit);
}

static void emit_groups(struct kp_emit *emit, const struct kp_diff *diff)
{
	static const char *const kinds[] = {[KP_DIFF_KERNEL] = "operator",
					    [KP_DIFF_OTHERS] = "other_processes",
					    [KP_DIFF_IDLE] = "idle"};

	kp_emit_list_begin(emit, "moved");
	for (size_t i = 0; i < diff->group_count; i++) {
		const struct kp_diff_group *group = &diff->groups[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "kind", kinds[group->kind]);
		kp_emit_string(emit, "name", group->name);
		emit_change(emit, diff, group->change_ps);
		emit_side(emit, "base", &group->sides[0], NULL, group->kind);
		emit_side(emit, "new", &group->sides[1], NULL, group->kind);
		kp_emit_list_begin(emit, "parts");
		for (size_t k = 0; k < group->row_count; k++)
			emit_row(emit, diff, &diff->rows[group->first_row + k]);
		kp_emit_list_end(emit);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_verdict(struct kp_emit *emit, const struct kp_diff *diff)
{
	const struct kp_effect *effect = &diff->effect;

	kp_emit_string(emit, "verdict", kp_verdict_name(diff->verdict));
	kp_emit_string(emit, "verdict_by_data", kp_verdict_name(diff->data_verdict));
	kp_emit_number(emit, "change_pct", effect->change_pct, 3);
	kp_emit_number(emit, "change_pct_low95", effect->known ? effect->low_pct : NAN, 3);
	kp_emit_number(emit, "change_pct_high95", effect->known ? effect->high_pct : NAN, 3);
	kp_emit_number(emit, "margin_pct", diff->margin_pct, 3);
	kp_emit_bool(emit, "between_runs", effect->between_runs);
	kp_emit_bool(emit, "same_recording", diff->same_recording);
	kp_emit_list_begin(emit, "obstacles");
	for (size_t i = 0; i < diff->obstacle_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "reason", kp_diff_reason_key(diff->obstacles[i].reason));
		kp_emit_string(emit, "detail", diff->obstacles[i].detail);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_list_begin(emit, "notes");
	for (size_t i = 0; i < diff->note_count; i++)
		kp_emit_string(emit, NULL, diff->notes[i]);
	kp_emit_list_end(emit);
}

enum kp_status kp_document_diff(FILE *file, const struct kp_diff *const *diffs, size_t count,
				enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = kp_document_begin(file, format, "kprof.diff/v1", &emit);

	if (status != KP_OK)
		return status;
	kp_emit_list_begin(emit, "comparisons");
	for (size_t i = 0; i < count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "unit", diffs[i]->unit == KP_UNIT_STEP ? "iteration" : "run");
		emit_verdict(emit, diffs[i]);
		emit_total(emit, "base", diffs[i], 0);
		emit_total(emit, "new", diffs[i], 1);
		emit_change(emit, diffs[i], diffs[i]->change_ps);
		emit_groups(emit, diffs[i]);
		kp_gating_emit(emit, diffs[i]->gates, diffs[i]->gate_count);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
