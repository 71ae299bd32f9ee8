/*
 * What programs have left of an A/B run (trace/ab_results.h), added up by rule. A line that is not
 * whole, or says what is not known, is counted and left out.
 */
#ifndef KP_PROFILER_AB_RESULTS_H
#define KP_PROFILER_AB_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzers/ab_stats.h"
#include "trace/ab_plan.h"
#include "trace/ab_results.h"
#include "trace/ab_trials.h"
#include "trace/status.h"

/* An element that was off. */
struct kp_ab_worst {
	uint64_t row, column;
	double original, candidate;
};

/* What comparisons say of one declared piece of data. NaN: nothing. */
struct kp_ab_accuracy {
	bool seen;
	uint64_t elements, mismatches, mask_different, outside, max_ulps;
	double max_abs, rms, rms_original, cosine, noise_rms; /* the worst of each */
	/* In float64: how many, and sums of squares of them and of what both are off. */
	uint64_t truth_elements;
	double truth2, truth_original2, truth_candidate2;
	struct kp_ab_worst worst[KP_AB_WORST];
	size_t worst_count;
};

/* Times of both arms as they came; a group is a shape in a process. */
struct kp_ab_times {
	struct kp_ab_time *times;
	size_t count, capacity, by[2]; /* originals, candidates */
	uint64_t host_bound; /* left out: the GPU may have waited for the host between its events */
};

/* Where kernels of a rule's name came from. */
#define KP_AB_MODULES_MOST 8
struct kp_ab_module {
	uint64_t hash; /* 0: not known */
	bool fits;
};

struct kp_ab_rule_result {
	uint64_t counts[KP_AB_COUNT_COUNT], reasons[KP_AB_REASON_COUNT];
	uint64_t shadows, wrong;            /* comparisons that ended */
	uint64_t extras[KP_AB_EXTRA_COUNT]; /* of these, with other inputs */
	char fault_inputs[16]; /* which, of the first that was wrong; empty: the program's own */
	char fault[16];        /* of the first that was wrong; empty: none was */
	struct kp_ab_module modules[KP_AB_MODULES_MOST];
	size_t module_count;
	uint64_t trials;                    /* shapes that did no harm in a process of their own */
	enum kp_ab_trial_fault trial_fault; /* of the first that failed there */
	int trial_error;                    /* the driver's; 0: none */
	struct kp_ab_accuracy accuracy[KP_AB_TENSORS_MOST];
	struct kp_ab_times times;
	/* Of whole graphs in which this rule alone replaces: so many launches of it, of all that
	 * are eligible in it, by sample. */
	struct kp_ab_times replays;
	uint64_t replays_replaced, replays_launches; /* sums over samples */
};

/* A phase that has ended: how many eligible launches it had, and of what it is counted by. */
struct kp_ab_phase {
	uint64_t pid, number, eligible, units;
	double us;
	bool candidate;
};

struct kp_ab_results {
	struct kp_ab_rule_result rules[KP_AB_RULES_MOST];
	struct kp_ab_phase *phases;
	size_t phase_count, phase_capacity;
	uint64_t processes, lines_bad;
};

/* Errors: KP_IO (errno), KP_NO_MEMORY. kp_ab_results_destroy frees. */
enum kp_status kp_ab_results_read(const char *path, struct kp_ab_results **out);
void kp_ab_results_destroy(struct kp_ab_results *results);

#endif
