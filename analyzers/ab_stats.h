/*
 * How much longer or shorter a candidate takes than the original, from times that were taken in
 * turn in one process.
 *
 * Neighbours make a pair, one of each arm, in an order that was drawn at random: what drifts (a
 * clock, a growing context) is the same for both, and what the order does (the first of two finds
 * other caches) is told apart by the pairs of either order and taken out. What is left are
 * logarithms of ratios in order of time. Their level is a trimmed mean, so that an outlier or a
 * pair that a clock step has split counts for little; its interval comes from a bootstrap that
 * draws runs of neighbours, as long as they are alike, and is widened by Student's distribution
 * where pairs are few. The same pairs and seed give the same bits.
 *
 * Phases of a program that alternates (original, candidate, candidate, original) are such pairs.
 *
 * Sources: Davison and Hinkley, Bootstrap Methods and their Application (1997), chapter 8; Politis
 * and White, Econometric Reviews 23 (2004), for the length of what is drawn. Pure.
 */
#ifndef KP_ANALYZERS_AB_STATS_H
#define KP_ANALYZERS_AB_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

/* With fewer pairs, and fewer of either order, there is no interval. */
#define KP_AB_PAIRS_LEAST 8
#define KP_AB_ORDER_LEAST 3
/* The power that the minimum detectable effect is stated for, in percent. */
#define KP_AB_POWER_PCT 80

/* One time, in order of time. Of one group (a shape in a process), numbers 2 k and 2 k + 1 pair. */
struct kp_ab_time {
	uint64_t group, number;
	double us;
	bool candidate;
};

struct kp_ab_pair {
	uint64_t group;
	double original_us, candidate_us;
	bool candidate_first;
};

struct kp_ab_estimate {
	bool known;                /* false: too few to tell; medians alone are known */
	size_t pairs, pairs_by[2]; /* all; used, by order: the original first, the candidate */
	size_t settling;           /* pairs of the beginning that were left out */
	double median_us[2];       /* original, candidate; NaN: none */
	double change_pct;         /* of the candidate's time against the original's; NaN */
	double low_pct, high_pct;  /* 95 % interval */
	double detectable_pct;     /* that much is seen with a probability of KP_AB_POWER_PCT */
	double order_pct;          /* what running second costs */
	double drift_pct;          /* of both arms, from the first quarter to the last */
	double unsteady;           /* halves of the run, how far apart by their own errors */
	double unsteady_pct;       /* and in percent */
	double left_out_pct;       /* groups of too few pairs, of the originals' time */
};

/* Pairs in order of time, from the heap, and how many. Errors: KP_NO_MEMORY. */
enum kp_status kp_ab_pair_samples(const struct kp_ab_time *samples, size_t count,
				  struct kp_ab_pair **out, size_t *out_count);

/* Pairs of one group, or as if they were. Errors: KP_NO_MEMORY. */
enum kp_status kp_ab_estimate(const struct kp_ab_pair *pairs, size_t count, uint64_t seed,
			      struct kp_ab_estimate *out);
/*
 * Pairs of any groups, in order of time: each group for itself, weighed by the time that originals
 * took. Groups are samples of equal density. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_ab_estimate_groups(const struct kp_ab_pair *pairs, size_t count, uint64_t seed,
				     struct kp_ab_estimate *out);

#endif
