/* The report of an A/B run as text; see print_ab.h. */
#include "profiler/print_ab.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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
		fprintf(file, " (%s, in %" PRIu64 " of %" PRIu64 " comparisons)", result->fault,
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

static void print_end(FILE *file, const struct kp_ab_judged *judged)
{
	const struct kp_ab_estimate *end = &judged->end.estimate;

	if (isnan(end->median_us[0]))
		return;
	fprintf(file, "end to end: phases of %.3f ms, replaced %.3f ms\n", end->median_us[0] / 1e3,
		end->median_us[1] / 1e3);
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
		if (view->results->rules[i].counts[KP_AB_COUNT_SEEN])
			print_rule(file, view, i);
		else
			idle++;
	}
	if (idle)
		fprintf(file, "%zu rule%s met no launch\n", idle, idle == 1 ? "" : "s");
	print_end(file, view->judged);
	if (view->output != KP_ARMS_UNKNOWN)
		fprintf(file, "output: %s with that of the originals\n",
			kp_arms_verdict_key(view->output));
}
