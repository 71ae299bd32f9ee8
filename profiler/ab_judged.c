/* Statistics of a run's results; see ab_judged.h. */
#include "profiler/ab_judged.h"

#include <math.h>
#include <stdlib.h>

/* The same results, the same interval. */
#define SEED 1

static enum kp_status judge_times(const struct kp_ab_times *times, bool wrong,
				  struct kp_ab_judged_time *out)
{
	struct kp_ab_circumstances how = KP_AB_UNKNOWN(KP_AB_MARGIN_PCT);
	struct kp_ab_pair *pairs;
	size_t count;
	enum kp_status status = kp_ab_pair_samples(times->times, times->count, &pairs, &count);

	if (status != KP_OK)
		return status;
	status = kp_ab_estimate_groups(pairs, count, SEED, &out->estimate);
	how.wrong = wrong;
	how.host_bound = times->host_bound > times->count;
	out->verdict = kp_ab_verdict(&out->estimate, &how);
	free(pairs);
	return status;
}

/*
 * All phases but the first pair of each process: that holds what was verified first. A phase ends
 * with a launch, which may be a graph with many: its time is that of as many as it should have.
 */
static size_t time_phases(const struct kp_ab_results *results, uint32_t length,
			  struct kp_ab_time *times)
{
	size_t count = 0;

	for (size_t i = 0; i < results->phase_count; i++) {
		const struct kp_ab_phase *phase = &results->phases[i];

		if (phase->number >= 2)
			times[count++] = (struct kp_ab_time){
				phase->pid, phase->number,
				phase->us * length / (double)phase->units, phase->candidate};
	}
	return count;
}

static enum kp_status judge_end(const struct kp_ab_results *results, uint32_t length,
				struct kp_ab_judged_time *out)
{
	struct kp_ab_time *times = malloc((results->phase_count + 1) * sizeof(*times));
	struct kp_ab_circumstances how = KP_AB_UNKNOWN(KP_AB_MARGIN_PCT);
	struct kp_ab_pair *pairs = NULL;
	enum kp_status status = KP_NO_MEMORY;
	size_t count;

	if (times)
		status = kp_ab_pair_samples(times, time_phases(results, length, times), &pairs,
					    &count);
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

/* Eligible launches of a phase, which may be counted by ranges. */
static double launches_of(const struct kp_ab_results *results, uint32_t phase)
{
	double launches = 0, units = 0;

	for (size_t i = 0; i < results->phase_count; i++) {
		launches += (double)results->phases[i].eligible;
		units += (double)results->phases[i].units;
	}
	return units > 0 ? phase * launches / units : 0;
}

/* A part of a phase in which so many times as long as this passes once. */
static struct kp_ab_part part_of(const struct kp_ab_estimate *of, double times,
				 const struct kp_ab_estimate *phase)
{
	return (struct kp_ab_part){100 * times * of->median_us[0] / phase->median_us[0],
				   of->change_pct, of->low_pct, of->high_pct};
}

/*
 * Amdahl: of a phase, each rule has as many launches as its part of the samples says, each as long
 * as the median. Where graphs were timed, they are what a phase consists of: each as long as the
 * median, and with each rule's change. Rules whose change is not known are taken to change nothing.
 */
static void predict(const struct kp_ab_results *results, double phase, struct kp_ab_judged *out)
{
	struct kp_ab_part parts[KP_AB_RULES_MOST] = {{0}};
	const struct kp_ab_estimate *end = &out->end.estimate;
	double samples = 0, replays = 0;

	for (size_t i = 0; i < KP_AB_RULES_MOST; i++) {
		samples += taken(&results->rules[i].times);
		replays += (double)results->rules[i].replays.count;
	}
	for (size_t i = 0; i < KP_AB_RULES_MOST; i++) {
		const struct kp_ab_rule_result *rule = &results->rules[i];
		const struct kp_ab_estimate *of =
			replays > 0 ? &out->replays[i].estimate : &out->rules[i].estimate;

		if (!of->known)
			continue;
		out->predicted_known = end->known && phase > 0;
		parts[i] = part_of(of,
				   replays > 0 ? phase * (double)rule->replays.count /
							 (double)rule->replays_launches
					       : phase * taken(&rule->times) / samples,
				   end);
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
	for (size_t i = 0; status == KP_OK && i < KP_AB_RULES_MOST; i++) {
		const struct kp_ab_rule_result *rule = &results->rules[i];

		status = judge_times(&rule->times, rule->wrong > 0, &out->rules[i]);
		if (status == KP_OK)
			status = judge_times(&rule->replays, rule->wrong > 0, &out->replays[i]);
	}
	if (status == KP_OK)
		status = judge_end(results, phase, &out->end);
	if (status == KP_OK)
		predict(results, launches_of(results, phase), out);
	return status;
}
