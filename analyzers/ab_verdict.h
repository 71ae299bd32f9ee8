/*
 * What times of originals and candidates say: the verdict of a rule, and why there is none; what
 * rules should bring end to end, and whether they did. docs/ab.md says how. Pure.
 */
#ifndef KP_ANALYZERS_AB_VERDICT_H
#define KP_ANALYZERS_AB_VERDICT_H

#include "analyzers/ab_stats.h"

/* X(NAME, name, what it means) */
#define KP_AB_VERDICTS(X)                                                                          \
	X(WRONG, "wrong", "its results were not the original's")                                   \
	X(INCONCLUSIVE, "inconclusive", "the times do not tell")                                   \
	X(FASTER, "faster", "it takes less time: 0 is not in the interval")                        \
	X(SLOWER, "slower", "it takes more time: 0 is not in the interval")                        \
	X(NO_DIFFERENCE, "no difference", "all of the interval is within the margin")

enum kp_ab_verdict_id {
#define KP_AB_VERDICT_ENUM(NAME, name, what) KP_AB_VERDICT_##NAME,
	KP_AB_VERDICTS(KP_AB_VERDICT_ENUM)
#undef KP_AB_VERDICT_ENUM
		KP_AB_VERDICT_COUNT
};

/* X(NAME, key, what it means): why a verdict is inconclusive; the first that holds. */
#define KP_AB_DOUBTS(X)                                                                            \
	X(NOTHING, "none", "nothing")                                                              \
	X(HOST, "host_bound", "the GPU waited for the host at most launches: no times of kernels") \
	X(FEW, "too_few_pairs", "too few pairs of neighbours were timed, or of either order")      \
	X(CEILING, "above_ceiling", "it would be faster than the hardware can be")                 \
	X(CLOCKS, "other_clocks", "the clocks of the two arms differed")                           \
	X(THROTTLED, "throttled", "clocks were held down, for one arm more than for the other")    \
	X(UNSTEADY, "unsteady", "what it brings changed within the run")                           \
	X(WIDE, "too_wide", "the interval is wider than the margin")

enum kp_ab_doubt {
#define KP_AB_DOUBT_ENUM(NAME, key, what) KP_AB_DOUBT_##NAME,
	KP_AB_DOUBTS(KP_AB_DOUBT_ENUM)
#undef KP_AB_DOUBT_ENUM
		KP_AB_DOUBT_COUNT
};

/* How it came about. NaN: not known. */
struct kp_ab_circumstances {
	bool wrong;              /* a comparison of results failed */
	double margin_pct;       /* a smaller change is none */
	double floor_us;         /* no less time is possible, by the ceilings of the GPU */
	double sm_mhz[2];        /* original, candidate: while they were timed */
	double throttled_pct[2]; /* of their times */
	bool host_bound;         /* most samples were left out: the GPU waited for the host */
};
#define KP_AB_UNKNOWN(margin)                                                                      \
	((struct kp_ab_circumstances){false, (margin), NAN, {NAN, NAN}, {NAN, NAN}, false})
#define KP_AB_MARGIN_PCT 1.0

struct kp_ab_verdict {
	enum kp_ab_verdict_id id;
	enum kp_ab_doubt doubt; /* of an inconclusive one */
	double excluded_pct;    /* a change of more than that, either way; NaN: none is */
	bool throttled;         /* clocks were held down for both arms alike */
};

struct kp_ab_verdict kp_ab_verdict(const struct kp_ab_estimate *estimate,
				   const struct kp_ab_circumstances *how);
const char *kp_ab_verdict_name(enum kp_ab_verdict_id id);
const char *kp_ab_doubt_key(enum kp_ab_doubt doubt);
const char *kp_ab_doubt_words(enum kp_ab_doubt doubt);

/* ---- end to end ---- */

/* A part of the time end to end, and what becomes of it. */
struct kp_ab_part {
	double share_pct;                     /* of the originals' run, not hidden behind others */
	double change_pct, low_pct, high_pct; /* of its time; 0 and its interval where unknown */
};

/* The change of the time end to end, negative where it is shorter. */
struct kp_ab_change {
	double change_pct, low_pct, high_pct;
};

/* Amdahl: parts are independent, and what is in none of them stays. */
struct kp_ab_change kp_ab_predict(const struct kp_ab_part *parts, size_t count);

/* X(NAME, key, what it means) */
#define KP_AB_AGREEMENTS(X)                                                                        \
	X(AGREES, "agrees", "prediction and measurement are within 10 % of the effect")            \
	X(UNCERTAIN, "uncertain", "they differ by no more than their intervals allow")             \
	X(DISAGREES, "disagrees", "they differ by more than their intervals and 10 % allow")

enum kp_ab_agreement {
#define KP_AB_AGREEMENT_ENUM(NAME, key, what) KP_AB_AGREEMENT_##NAME,
	KP_AB_AGREEMENTS(KP_AB_AGREEMENT_ENUM)
#undef KP_AB_AGREEMENT_ENUM
		KP_AB_AGREEMENT_COUNT
};
enum kp_ab_agreement kp_ab_compare(const struct kp_ab_change *predicted,
				   const struct kp_ab_change *measured);
const char *kp_ab_agreement_key(enum kp_ab_agreement agreement);
const char *kp_ab_agreement_words(enum kp_ab_agreement agreement);
/* How many times as fast that is. */
double kp_ab_speedup(double change_pct);

#endif
