/*
 * A report of kprof ab that was saved (--out FILE.yaml or .json, kprof.ab/v1), read back.
 *
 * Keys that are not known are passed over: a later kprof may write more. docs/rules.md says what
 * the keys mean.
 */
#ifndef KP_ANALYZERS_AB_SAVED_H
#define KP_ANALYZERS_AB_SAVED_H

#include <stddef.h>
#include <stdint.h>

#include "analyzers/ab_verdict.h"
#include "analyzers/operators.h"
#include "trace/ab_results.h"

/* Times of originals and replacements, and what they say. NaN: not known. */
struct kp_ab_saved_time {
	double original_us, candidate_us;     /* medians */
	double change_pct, low_pct, high_pct; /* negative is faster; 95 % interval */
	double detectable_pct;
	uint64_t pairs;
	enum kp_ab_verdict_id verdict;
	enum kp_ab_doubt doubt;
};

/* What all comparisons of one output found. NaN: not known. */
struct kp_ab_saved_accuracy {
	const char *data;
	uint64_t elements, mismatches, outside;
	double max_abs, rms, rms_original, cosine;
};

struct kp_ab_saved_rule {
	const char *name, *by;
	const char *fault; /* NULL: none */
	uint64_t counts[KP_AB_COUNT_COUNT], reasons[KP_AB_REASON_COUNT];
	uint64_t comparisons, wrong;
	struct kp_ab_saved_accuracy *accuracy;
	size_t accuracy_count;
	struct kp_ab_saved_time time;   /* of a launch */
	struct kp_ab_saved_time graphs; /* of whole graphs with this rule alone replaced */
	double replaced_each;           /* kernels in a graph; NaN: no graph was timed */
};

struct kp_ab_saved {
	const char *mode;
	struct kp_ab_saved_rule *rules;
	size_t rule_count;
	struct kp_ab_saved_time end; /* of phases, end to end */
	uint64_t phases;
	double predicted_pct;           /* NaN: not known */
	enum kp_ab_agreement agreement; /* KP_AB_AGREEMENT_COUNT: not known */
	struct kp_arena *arena;         /* of all texts and lists */
};

/*
 * Errors: KP_INVALID (error is filled: it is no such report), KP_NO_MEMORY. kp_ab_saved_fini frees
 * what is zeroed or was read.
 */
enum kp_status kp_ab_saved_read(const char *text, size_t length, struct kp_ab_saved *out,
				struct kp_rules_error *error);
void kp_ab_saved_fini(struct kp_ab_saved *saved);

/* Launches that the program saw replaced, in graphs and out of them. */
uint64_t kp_ab_saved_replaced(const struct kp_ab_saved_rule *rule);

#endif
