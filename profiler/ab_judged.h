/* What the results of an A/B run say: each rule's change of time and verdict, and end to end. */
#ifndef KP_PROFILER_AB_JUDGED_H
#define KP_PROFILER_AB_JUDGED_H

#include "analyzers/ab_verdict.h"
#include "profiler/ab_results.h"

struct kp_ab_judged_time {
	struct kp_ab_estimate estimate;
	struct kp_ab_verdict verdict;
};

struct kp_ab_judged {
	struct kp_ab_judged_time rules[KP_AB_RULES_MOST];
	struct kp_ab_judged_time replays[KP_AB_RULES_MOST]; /* of whole graphs */
	/* Phases; times are of as many eligible launches as a phase is to have. */
	struct kp_ab_judged_time end;
	bool predicted_known; /* both what rules should bring and what they brought */
	struct kp_ab_change predicted;
	enum kp_ab_agreement agreement;
};

/* `phase`: so many eligible launches, or ranges, are a phase; 0: there were none. Errors:
 * KP_NO_MEMORY. */
enum kp_status kp_ab_judge_results(const struct kp_ab_results *results, uint32_t phase,
				   struct kp_ab_judged *out);

#endif
