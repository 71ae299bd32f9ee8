/* Statistics of a run's results; see ab_judged.h. */
#include "profiler/ab_judged.h"

#include <math.h>
#include <stdlib.h>

/* The same results, the same interval. */
#define SEED 1

static enum kp_status judge_rule(const struct kp_ab_rule_result *rule,
				 struct kp_ab_judged_time *out)
{
	struct kp_ab_circumstances how = KP_AB_UNKNOWN(KP_AB_MARGIN_PCT);
	struct kp_ab_pair *pairs;
	size_t count;
	enum kp_status status =
		kp_ab_pair_samples(rule->times.times, rule->times.count, &pairs, &count);

	if (status != KP_OK)
		return status;
	status = kp_ab_estimate_groups(pairs, count, SEED, &out->estimate);
	how.wrong = rule->wrong > 0;
	how.host_bound = rule->times.host_bound > rule->times.count;
	out->verdict = kp_ab_verdict(&out->estimate, &how);
	free(pairs);
	return status;
}

/* The next phase of the same process; NULL: the phase did not end. */
static const struct kp_ab_phase *next_phase(const struct kp_ab_results *results, size_t i)
{
	const struct kp_ab_phase *phase = &results->phases[i];

	for (size_t k = i + 1; k < results->phase_count; k++)
		if (results->phases[k].pid == phase->pid)
			return results->phases[k].number == phase->number + 1 &&
					       results->phases[k].begin_ns > phase->begin_ns
				       ? &results->phases[k]
				       : NULL;
	return NULL;
}

/* All whole phases but the first pair of each process: that holds what was verified first. */
static size_t time_phases(const struct kp_ab_results *results, struct kp_ab_time *times)
{
	size_t count = 0;

	for (size_t i = 0; i < results->phase_count; i++) {
		const struct kp_ab_phase *phase = &results->phases[i], *next;

		next = phase->number < 2 ? NULL : next_phase(results, i);
		if (next)
			times[count++] = (struct kp_ab_time){
				phase->pid, phase->number,
				(double)(next->begin_ns - phase->begin_ns) / 1e3, phase->candidate};
	}
	return count;
}

static enum kp_status judge_end(const struct kp_ab_results *results, struct kp_ab_judged_time *out)
{
	struct kp_ab_time *times = malloc((results->phase_count + 1) * sizeof(*times));
	struct kp_ab_circumstances how = KP_AB_UNKNOWN(KP_AB_MARGIN_PCT);
	struct kp_ab_pair *pairs = NULL;
	enum kp_status status = KP_NO_MEMORY;
	size_t count;

	if (times)
		status = kp_ab_pair_samples(times, time_phases(results, times), &pairs, &count);
	if (status == KP_OK)
		status = kp_ab_estimate_groups(pairs, count, SEED, &out->estimate);
	for (size_t i = 0; i < KP_AB_RULES_MOST; i++)
		how.wrong |= results->rules[i].wrong > 0;
	if (status == KP_OK)
		out->verdict = kp_ab_verdict(&out->estimate, &how);
	free(times);
	free(pairs);
	return status;
}

/* Samples, with those that were left out. */
static double taken(const struct kp_ab_times *times)
{
	return (double)times->count + (double)times->host_bound;
}

/*
 * Amdahl: of a phase, each rule has as many launches as its part of the samples says, each as long
 * as the median. Rules whose change is not known are taken to change nothing.
 */
static void predict(const struct kp_ab_results *results, uint32_t phase, struct kp_ab_judged *out)
{
	struct kp_ab_part parts[KP_AB_RULES_MOST] = {{0}};
	const struct kp_ab_estimate *end = &out->end.estimate;
	double samples = 0;

	for (size_t i = 0; i < KP_AB_RULES_MOST; i++)
		samples += taken(&results->rules[i].times);
	for (size_t i = 0; i < KP_AB_RULES_MOST; i++) {
		const struct kp_ab_estimate *rule = &out->rules[i].estimate;
		double launches = phase * taken(&results->rules[i].times) / samples;

		if (!rule->known)
			continue;
		out->predicted_known = end->known && phase > 0;
		parts[i] =
			(struct kp_ab_part){100 * launches * rule->median_us[0] / end->median_us[0],
					    rule->change_pct, rule->low_pct, rule->high_pct};
	}
	if (!out->predicted_known)
		return;
	out->predicted = kp_ab_predict(parts, KP_AB_RULES_MOST);
	out->agreement =
		kp_ab_compare(&out->predicted,
			      &(struct kp_ab_change){end->change_pct, end->low_pct, end->high_pct});
}

enum kp_status kp_ab_judge_results(const struct kp_ab_results *results, uint32_t phase,
				   struct kp_ab_judged *out)
{
	enum kp_status status = KP_OK;

	*out = (struct kp_ab_judged){0};
	for (size_t i = 0; status == KP_OK && i < KP_AB_RULES_MOST; i++)
		status = judge_rule(&results->rules[i], &out->rules[i]);
	if (status == KP_OK)
		status = judge_end(results, &out->end);
	if (status == KP_OK)
		predict(results, phase, out);
	return status;
}
