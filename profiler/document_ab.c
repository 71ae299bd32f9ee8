/* The report of an A/B run as kprof.ab/v1; see print_ab.h. docs/rules.md explains every key. */
#include <inttypes.h>
#include <math.h>

#include "profiler/document.h"
#include "profiler/print_ab.h"
#include "profiler/trier.h"

static void emit_worst(struct kp_emit *emit, const struct kp_ab_accuracy *accuracy)
{
	kp_emit_list_begin(emit, "worst");
	for (size_t i = 0; i < accuracy->worst_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_count(emit, "row", accuracy->worst[i].row);
		kp_emit_count(emit, "column", accuracy->worst[i].column);
		kp_emit_number(emit, "original", accuracy->worst[i].original, 9);
		kp_emit_number(emit, "candidate", accuracy->worst[i].candidate, 9);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_accuracy(struct kp_emit *emit, const struct kp_ab_accuracy *accuracy,
			  const char *name)
{
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "data", name);
	kp_emit_count(emit, "elements", accuracy->elements);
	kp_emit_count(emit, "mismatches", accuracy->mismatches);
	kp_emit_count(emit, "mask_different", accuracy->mask_different);
	kp_emit_count(emit, "written_outside", accuracy->outside);
	kp_emit_number(emit, "max_abs", accuracy->max_abs, 12);
	kp_emit_count(emit, "max_ulps", accuracy->max_ulps);
	kp_emit_number(emit, "rms", accuracy->rms, 12);
	kp_emit_number(emit, "rms_original", accuracy->rms_original, 12);
	kp_emit_number(emit, "cosine", accuracy->cosine, 12);
	kp_emit_number(emit, "noise_rms", accuracy->noise_rms, 12);
	kp_emit_count(emit, "truth_elements", accuracy->truth_elements);
	kp_emit_number(emit, "truth_rms", kp_ab_truth_rms(accuracy, accuracy->truth2), 12);
	kp_emit_number(emit, "truth_rms_original",
		       kp_ab_truth_rms(accuracy, accuracy->truth_original2), 12);
	kp_emit_number(emit, "truth_rms_candidate",
		       kp_ab_truth_rms(accuracy, accuracy->truth_candidate2), 12);
	emit_worst(emit, accuracy);
	kp_emit_map_end(emit);
}

static double known(const struct kp_ab_estimate *estimate, double value)
{
	return estimate->known ? value : NAN;
}

static void emit_judged(struct kp_emit *emit, const struct kp_ab_judged_time *judged)
{
	const struct kp_ab_estimate *of = &judged->estimate;

	kp_emit_count(emit, "pairs", of->pairs_by[0] + of->pairs_by[1]);
	kp_emit_number(emit, "change_pct", known(of, of->change_pct), 4);
	kp_emit_number(emit, "change_low_pct", known(of, of->low_pct), 4);
	kp_emit_number(emit, "change_high_pct", known(of, of->high_pct), 4);
	kp_emit_number(emit, "detectable_pct", known(of, of->detectable_pct), 4);
	kp_emit_number(emit, "excluded_pct", judged->verdict.excluded_pct, 4);
	kp_emit_number(emit, "order_pct", known(of, of->order_pct), 4);
	kp_emit_number(emit, "drift_pct", known(of, of->drift_pct), 4);
	kp_emit_string(emit, "verdict", kp_ab_verdict_name(judged->verdict.id));
	kp_emit_string(emit, "doubt", kp_ab_doubt_key(judged->verdict.doubt));
}

static void emit_end(struct kp_emit *emit, const struct kp_ab_report *view)
{
	const struct kp_ab_judged *judged = view->judged;
	const struct kp_ab_estimate *of = &judged->end.estimate;
	bool predicted = judged->predicted_known;

	kp_emit_map_begin(emit, "end_to_end");
	kp_emit_count(emit, "phases", view->results->phase_count);
	kp_emit_string(emit, "unit_range", view->unit);
	kp_emit_count(emit, "phase_units", view->phase);
	kp_emit_number(emit, "original_units_per_s", kp_ab_units_per_s(view, 0), 3);
	kp_emit_number(emit, "candidate_units_per_s", kp_ab_units_per_s(view, 1), 3);
	kp_emit_number(emit, "original_phase_ns", of->median_us[0] * 1e3, 0);
	kp_emit_number(emit, "candidate_phase_ns", of->median_us[1] * 1e3, 0);
	kp_emit_number(emit, "speedup", known(of, kp_ab_speedup(of->change_pct)), 4);
	emit_judged(emit, &judged->end);
	kp_emit_number(emit, "predicted_pct", predicted ? judged->predicted.change_pct : NAN, 4);
	kp_emit_number(emit, "predicted_low_pct", predicted ? judged->predicted.low_pct : NAN, 4);
	kp_emit_number(emit, "predicted_high_pct", predicted ? judged->predicted.high_pct : NAN, 4);
	kp_emit_string(emit, "agreement",
		       predicted ? kp_ab_agreement_key(judged->agreement) : NULL);
	kp_emit_map_end(emit);
}

static void emit_times(struct kp_emit *emit, const struct kp_ab_times *times,
		       const struct kp_ab_judged_time *judged)
{
	kp_emit_count(emit, "samples_original", times->by[0]);
	kp_emit_count(emit, "samples_candidate", times->by[1]);
	kp_emit_count(emit, "samples_host_bound", times->host_bound);
	kp_emit_number(emit, "original_median_us", judged->estimate.median_us[0], 3);
	kp_emit_number(emit, "candidate_median_us", judged->estimate.median_us[1], 3);
	emit_judged(emit, judged);
}

/* Whole graphs in which the rule replaces. */
static void emit_replays(struct kp_emit *emit, const struct kp_ab_rule_result *result,
			 const struct kp_ab_judged_time *judged)
{
	double samples = (double)result->replays.count;

	kp_emit_map_begin(emit, "graphs");
	kp_emit_number(emit, "replaced_each",
		       samples > 0 ? (double)result->replays_replaced / samples : NAN, 2);
	emit_times(emit, &result->replays, judged);
	kp_emit_map_end(emit);
}

static void emit_modules(struct kp_emit *emit, const struct kp_ab_rule_result *result)
{
	char hash[17];

	kp_emit_list_begin(emit, "modules");
	for (size_t i = 0; i < result->module_count; i++) {
		snprintf(hash, sizeof hash, "%016" PRIx64, result->modules[i].hash);
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "hash", result->modules[i].hash ? hash : NULL);
		kp_emit_bool(emit, "fits", result->modules[i].fits);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_rule(struct kp_emit *emit, const struct kp_ab_report *view, size_t rule)
{
	const struct kp_ab_rule_result *result = &view->results->rules[rule];
	struct kp_ab_rule_words words = kp_ab_rules_words(view->rules, rule);
	const struct kp_ab_judged_time *judged = &view->judged->rules[rule];

	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "name", words.name);
	kp_emit_string(emit, "replaced_by", words.by);
	kp_emit_map_begin(emit, "launches");
	for (int i = 0; i < KP_AB_COUNT_COUNT; i++)
		kp_emit_count(emit, kp_ab_count_names[i], result->counts[i]);
	kp_emit_map_end(emit);
	kp_emit_map_begin(emit, "not_replaced");
	for (int i = 0; i < KP_AB_REASON_COUNT; i++)
		kp_emit_count(emit, kp_ab_reason_names[i], result->reasons[i]);
	kp_emit_map_end(emit);
	emit_modules(emit, result);
	kp_emit_count(emit, "trials", result->trials);
	kp_emit_string(emit, "trial_fault",
		       result->trial_fault == KP_AB_TRIAL_NONE
			       ? NULL
			       : kp_trial_fault_key(result->trial_fault));
	kp_emit_count(emit, "comparisons", result->shadows);
	kp_emit_map_begin(emit, "other_inputs");
	for (int i = 0; i < KP_AB_EXTRA_COUNT; i++)
		kp_emit_count(emit, kp_ab_extra_names[i], result->extras[i]);
	kp_emit_map_end(emit);
	kp_emit_count(emit, "comparisons_wrong", result->wrong);
	kp_emit_string(emit, "fault_inputs", result->fault_inputs[0] ? result->fault_inputs : NULL);
	kp_emit_string(emit, "fault", result->fault[0] ? result->fault : NULL);
	kp_emit_list_begin(emit, "accuracy");
	for (uint32_t i = 0; i < KP_AB_TENSORS_MOST; i++)
		if (result->accuracy[i].seen)
			emit_accuracy(emit, &result->accuracy[i],
				      kp_ab_rules_data(view->rules, rule, i));
	kp_emit_list_end(emit);
	emit_times(emit, &result->times, judged);
	emit_replays(emit, result, &view->judged->replays[rule]);
	kp_emit_map_end(emit);
}

enum kp_status kp_ab_print_document(FILE *file, const struct kp_ab_report *view,
				    enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = kp_document_begin(file, format, "kprof.ab/v1", &emit);

	if (status != KP_OK)
		return status;
	kp_emit_string(emit, "mode", kp_ab_mode_names[view->mode]);
	kp_emit_count(emit, "processes", view->results->processes);
	kp_emit_count(emit, "lines_bad", view->results->lines_bad);
	kp_emit_list_begin(emit, "rules");
	for (size_t i = 0; i < kp_ab_rules_count(view->rules); i++)
		emit_rule(emit, view, i);
	kp_emit_list_end(emit);
	emit_end(emit, view);
	kp_emit_string(emit, "output", kp_arms_verdict_key(view->output));
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
