/* The report of an A/B run as text; see print_ab.h. */
#include "profiler/print_ab.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/trier.h"

static const char *const reasons[] = {
#define WHAT(NAME, name, what) what,
	KP_AB_REASONS(WHAT)
#undef WHAT
};

const char *const kp_ab_mode_names[] = {"shadow", "swap", "measure", NULL};

uint64_t kp_ab_replaced(const struct kp_ab_rule_result *result)
{
	return result->counts[KP_AB_COUNT_REPLACED] + result->counts[KP_AB_COUNT_REPLACED_CAPTURED];
}

double kp_ab_truth_rms(const struct kp_ab_accuracy *accuracy, double squares)
{
	return accuracy->truth_elements ? sqrt(squares / (double)accuracy->truth_elements) : NAN;
}

static void print_counts(FILE *file, const struct kp_ab_rule_result *result)
{
	fprintf(file, "  launches   %" PRIu64 " seen, %" PRIu64 " eligible, %" PRIu64 " replaced",
		result->counts[KP_AB_COUNT_SEEN], result->counts[KP_AB_COUNT_ELIGIBLE],
		kp_ab_replaced(result));
	if (result->counts[KP_AB_COUNT_REPLACED_CAPTURED])
		fprintf(file, " (%" PRIu64 " of them in launches of graphs)",
			result->counts[KP_AB_COUNT_REPLACED_CAPTURED]);
	fprintf(file, ", %" PRIu64 " compared\n", result->counts[KP_AB_COUNT_SHADOWED]);
	if (result->counts[KP_AB_COUNT_ELIDED] || result->counts[KP_AB_COUNT_REISSUED])
		fprintf(file,
			"  between    %" PRIu64 " times never written, %" PRIu64
			" times by the originals after all\n",
			result->counts[KP_AB_COUNT_ELIDED], result->counts[KP_AB_COUNT_REISSUED]);
	for (int i = 0; i < KP_AB_REASON_COUNT; i++)
		if (result->reasons[i])
			fprintf(file, "  original   %" PRIu64 ": %s\n", result->reasons[i],
				reasons[i]);
}

static void print_modules(FILE *file, const struct kp_ab_rule_result *result)
{
	for (size_t i = 0; i < result->module_count; i++) {
		if (result->modules[i].hash)
			fprintf(file, "  module     %016" PRIx64, result->modules[i].hash);
		else
			fputs("  module     of an unknown hash", file);
		fputs(result->modules[i].fits ? "\n" : ": not the rule's\n", file);
	}
}

/* What came of it in a process of its own. */
static void print_trials(FILE *file, const struct kp_ab_rule_result *result)
{
	if (result->trial_fault != KP_AB_TRIAL_NONE) {
		fprintf(file, "  trial      failed: %s", kp_trial_fault_words(result->trial_fault));
		if (result->trial_error)
			fprintf(file, " (error %d of the driver)", result->trial_error);
		fputc('\n', file);
	} else if (result->trials) {
		fprintf(file, "  trial      %" PRIu64 " shape%s did no harm in another process\n",
			result->trials, result->trials == 1 ? "" : "s");
		if (result->reasons[KP_AB_REASON_CAPTURED] && !kp_ab_replaced(result))
			fputs("             when graphs were captured already: --no-try lets it in "
			      "at once\n",
			      file);
	}
}

/* What all comparisons with other inputs than the program's were. */
static void print_extras(FILE *file, const struct kp_ab_rule_result *result)
{
	uint64_t all = 0;

	for (int i = 0; i < KP_AB_EXTRA_COUNT; i++)
		all += result->extras[i];
	if (!all)
		return;
	fputs("  inputs     of the program's own; compared again with one of them", file);
	for (int i = 0; i < KP_AB_EXTRA_COUNT; i++)
		fprintf(file, "%s %s %" PRIu64, i ? "," : "", kp_ab_extra_names[i],
			result->extras[i]);
	fputs(" times\n", file);
}

static void print_accuracy(FILE *file, const struct kp_ab_accuracy *accuracy, const char *name)
{
	fprintf(file, "  %-10s %" PRIu64 " elements: ", name, accuracy->elements);
	if (accuracy->mismatches || accuracy->outside)
		fprintf(file,
			"%" PRIu64 " wrong, %" PRIu64 " of another mask, %" PRIu64
			" written outside; ",
			accuracy->mismatches, accuracy->mask_different, accuracy->outside);
	fprintf(file, "max %.3g off, %" PRIu64 " ulp, rms %.3g of %.3g, cosine %.9f",
		accuracy->max_abs, accuracy->max_ulps, accuracy->rms, accuracy->rms_original,
		accuracy->cosine);
	if (!isnan(accuracy->noise_rms))
		fprintf(file, "; the original's own noise %.3g", accuracy->noise_rms);
	fputc('\n', file);
	if (accuracy->truth_elements)
		fprintf(file,
			"             float64 of %" PRIu64
			": the original is %.3g off, replaced %.3g, rms of %.3g\n",
			accuracy->truth_elements,
			kp_ab_truth_rms(accuracy, accuracy->truth_original2),
			kp_ab_truth_rms(accuracy, accuracy->truth_candidate2),
			kp_ab_truth_rms(accuracy, accuracy->truth2));
	for (size_t i = 0; accuracy->mismatches && i < accuracy->worst_count; i++)
		fprintf(file, "             [%" PRIu64 ", %" PRIu64 "] %.9g, replaced %.9g\n",
			accuracy->worst[i].row, accuracy->worst[i].column,
			accuracy->worst[i].original, accuracy->worst[i].candidate);
}

static void print_change(FILE *file, const struct kp_ab_estimate *estimate)
{
	if (estimate->known)
		fprintf(file,
			"  change     %+.2f %% (%+.2f to %+.2f %%) by %zu pairs; %.2f %% is "
			"detectable\n",
			estimate->change_pct, estimate->low_pct, estimate->high_pct,
			estimate->pairs_by[0] + estimate->pairs_by[1], estimate->detectable_pct);
}

static void print_conclusion(FILE *file, const struct kp_ab_judged_time *judged)
{
	const struct kp_ab_verdict *verdict = &judged->verdict;

	fprintf(file, "  verdict    %s", kp_ab_verdict_name(verdict->id));
	if (verdict->id == KP_AB_VERDICT_INCONCLUSIVE)
		fprintf(file, ": %s", kp_ab_doubt_words(verdict->doubt));
	if (verdict->id == KP_AB_VERDICT_NO_DIFFERENCE)
		fprintf(file, ": more than %.2f %% is excluded", verdict->excluded_pct);
}

static void print_judged(FILE *file, const struct kp_ab_rule_result *result,
			 const struct kp_ab_judged_time *judged)
{
	print_change(file, &judged->estimate);
	print_conclusion(file, judged);
	if (result->wrong)
		fprintf(file, " (%s%s%s, in %" PRIu64 " of %" PRIu64 " comparisons)", result->fault,
			result->fault_inputs[0] ? " with an input " : "", result->fault_inputs,
			result->wrong, result->shadows);
	fputc('\n', file);
}

/* Single launches, and whole graphs; of neither, what is said of none. */
static void print_verdict(FILE *file, const struct kp_ab_report *view, size_t rule)
{
	const struct kp_ab_rule_result *result = &view->results->rules[rule];
	const struct kp_ab_judged_time *judged = &view->judged->rules[rule];
	const struct kp_ab_judged_time *replays = &view->judged->replays[rule];

	if (!isnan(judged->estimate.median_us[0]))
		fprintf(file, "  time       %.2f µs, replaced %.2f µs (medians of %zu and %zu)\n",
			judged->estimate.median_us[0], judged->estimate.median_us[1],
			result->times.by[0], result->times.by[1]);
	if (result->times.host_bound)
		fprintf(file,
			"  left out   %" PRIu64
			" times: the GPU had nothing to do, and waited for the host\n",
			result->times.host_bound);
	if (result->times.count || !result->replays.count)
		print_judged(file, result, judged);
	if (!result->replays.count)
		return;
	fprintf(file,
		"  graphs     with %.0f replaced in each: %.2f µs, replaced %.2f µs (medians of "
		"%zu and %zu)\n",
		(double)result->replays_replaced / (double)result->replays.count,
		replays->estimate.median_us[0], replays->estimate.median_us[1],
		result->replays.by[0], result->replays.by[1]);
	print_judged(file, result, replays);
}

double kp_ab_units_per_s(const struct kp_ab_report *view, int arm)
{
	if (!view->unit)
		return NAN;
	return view->phase * 1e6 / view->judged->end.estimate.median_us[arm];
}

/* In what the program itself counts by. */
static void print_units(FILE *file, const struct kp_ab_report *view)
{
	if (view->unit && view->results->phase_count == 0)
		fprintf(file, "end to end: there were no phases by ranges «%s»\n", view->unit);
	else if (view->unit)
		fprintf(file, "  %s  %.2f a second, replaced %.2f, in phases of %" PRIu32 "\n",
			view->unit, kp_ab_units_per_s(view, 0), kp_ab_units_per_s(view, 1),
			view->phase);
}

static void print_end(FILE *file, const struct kp_ab_report *view)
{
	const struct kp_ab_judged *judged = view->judged;
	const struct kp_ab_estimate *end = &judged->end.estimate;

	if (isnan(end->median_us[0])) {
		print_units(file, view);
		return;
	}
	fprintf(file, "end to end: phases of %.3f ms, replaced %.3f ms\n", end->median_us[0] / 1e3,
		end->median_us[1] / 1e3);
	print_units(file, view);
	print_change(file, end);
	print_conclusion(file, &judged->end);
	if (end->known)
		fprintf(file, ", %.3f times as fast", kp_ab_speedup(end->change_pct));
	fputc('\n', file);
	if (judged->predicted_known)
		fprintf(file, "  predicted  %+.2f %% (%+.2f to %+.2f %%) by the rules' parts: %s\n",
			judged->predicted.change_pct, judged->predicted.low_pct,
			judged->predicted.high_pct, kp_ab_agreement_words(judged->agreement));
}

static void print_rule(FILE *file, const struct kp_ab_report *view, size_t rule)
{
	const struct kp_ab_rule_result *result = &view->results->rules[rule];
	struct kp_ab_rule_words words = kp_ab_rules_words(view->rules, rule);

	fprintf(file, "%s by %s\n", words.name, words.by);
	print_counts(file, result);
	print_trials(file, result);
	print_modules(file, result);
	print_extras(file, result);
	for (uint32_t i = 0; i < KP_AB_TENSORS_MOST; i++)
		if (result->accuracy[i].seen)
			print_accuracy(file, &result->accuracy[i],
				       kp_ab_rules_data(view->rules, rule, i));
	if (result->counts[KP_AB_COUNT_ELIGIBLE])
		print_verdict(file, view, rule);
}

void kp_ab_print_text(FILE *file, const struct kp_ab_report *view)
{
	size_t idle = 0;

	fprintf(file, "A/B, %s: %" PRIu64 " process%s\n", kp_ab_mode_names[view->mode],
		view->results->processes, view->results->processes == 1 ? "" : "es");
	for (size_t i = 0; i < kp_ab_rules_count(view->rules); i++) {
		if (view->results->rules[i].counts[KP_AB_COUNT_SEEN] ||
		    view->results->rules[i].module_count)
			print_rule(file, view, i);
		else
			idle++;
	}
	if (idle)
		fprintf(file, "%zu rule%s met no launch\n", idle, idle == 1 ? "" : "s");
	print_end(file, view);
	if (view->output != KP_ARMS_UNKNOWN)
		fprintf(file, "output: %s with that of the originals\n",
			kp_arms_verdict_key(view->output));
}
