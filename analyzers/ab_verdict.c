/* What an estimate says under its circumstances; see ab_verdict.h. Pure. */
#include "analyzers/ab_verdict.h"

#include <math.h>

/* A time may be so much shorter than the least possible: clocks and ceilings have errors. */
#define CEILING_SLACK 0.98
/* The same limits as a comparison of runs has; see diff_verdict.c. */
#define CLOCKS_APART_PCT 3.0
#define THROTTLED_APART_POINTS 10.0
/* From there on clocks were held down. */
#define THROTTLED_PCT 10.0
/* Halves of a run that are further apart than this, by their own errors, are two runs. */
#define UNSTEADY 5.0
/* A prediction may miss the effect by that part of it. */
#define AGREEMENT 0.1

static const char *const names[KP_AB_VERDICT_COUNT] = {
#define NAME_OF(NAME, name, what) name,
	KP_AB_VERDICTS(NAME_OF)
#undef NAME_OF
};
static const char *const doubt_keys[KP_AB_DOUBT_COUNT] = {
#define KEY_OF(NAME, key, what) key,
	KP_AB_DOUBTS(KEY_OF)
#undef KEY_OF
};
static const char *const doubt_words[KP_AB_DOUBT_COUNT] = {
#define WHAT_OF(NAME, key, what) what,
	KP_AB_DOUBTS(WHAT_OF)
#undef WHAT_OF
};
static const char *const agreement_keys[KP_AB_AGREEMENT_COUNT] = {
#define KEY_OF(NAME, key, what) key,
	KP_AB_AGREEMENTS(KEY_OF)
#undef KEY_OF
};

static const char *const agreement_words[KP_AB_AGREEMENT_COUNT] = {
#define WHAT_OF_AGREEMENT(NAME, key, what) what,
	KP_AB_AGREEMENTS(WHAT_OF_AGREEMENT)
#undef WHAT_OF_AGREEMENT
};

const char *kp_ab_verdict_name(enum kp_ab_verdict_id id)
{
	return names[id];
}

const char *kp_ab_doubt_key(enum kp_ab_doubt doubt)
{
	return doubt_keys[doubt];
}

const char *kp_ab_doubt_words(enum kp_ab_doubt doubt)
{
	return doubt_words[doubt];
}

const char *kp_ab_agreement_key(enum kp_ab_agreement agreement)
{
	return agreement_keys[agreement];
}

const char *kp_ab_agreement_words(enum kp_ab_agreement agreement)
{
	return agreement_words[agreement];
}

double kp_ab_speedup(double change_pct)
{
	return 1 / (1 + change_pct / 100);
}

/* Comparisons with NaN do not hold: what is not known is no reason to doubt. */
static enum kp_ab_doubt find_doubt(const struct kp_ab_estimate *estimate,
				   const struct kp_ab_circumstances *how)
{
	double larger = fabs(estimate->low_pct) > fabs(estimate->high_pct)
				? fabs(estimate->low_pct)
				: fabs(estimate->high_pct);

	if (estimate->median_us[0] < CEILING_SLACK * how->floor_us ||
	    estimate->median_us[1] < CEILING_SLACK * how->floor_us)
		return KP_AB_DOUBT_CEILING;
	if (!estimate->known)
		return how->host_bound ? KP_AB_DOUBT_HOST : KP_AB_DOUBT_FEW;
	if (fabs(100 * (how->sm_mhz[1] / how->sm_mhz[0] - 1)) > CLOCKS_APART_PCT)
		return KP_AB_DOUBT_CLOCKS;
	if (fabs(how->throttled_pct[1] - how->throttled_pct[0]) > THROTTLED_APART_POINTS)
		return KP_AB_DOUBT_THROTTLED;
	if (estimate->unsteady > UNSTEADY && estimate->unsteady_pct > how->margin_pct)
		return KP_AB_DOUBT_UNSTEADY;
	if (estimate->low_pct <= 0 && estimate->high_pct >= 0 && larger > how->margin_pct)
		return KP_AB_DOUBT_WIDE;
	return KP_AB_DOUBT_NOTHING;
}

struct kp_ab_verdict kp_ab_verdict(const struct kp_ab_estimate *estimate,
				   const struct kp_ab_circumstances *how)
{
	struct kp_ab_verdict out = {.id = KP_AB_VERDICT_WRONG, .excluded_pct = NAN};

	out.throttled =
		how->throttled_pct[0] > THROTTLED_PCT && how->throttled_pct[1] > THROTTLED_PCT;
	if (estimate->known)
		out.excluded_pct = fmax(fabs(estimate->low_pct), fabs(estimate->high_pct));
	if (how->wrong)
		return out;
	out.doubt = find_doubt(estimate, how);
	if (out.doubt != KP_AB_DOUBT_NOTHING)
		out.id = KP_AB_VERDICT_INCONCLUSIVE;
	else if (out.excluded_pct <= how->margin_pct)
		out.id = KP_AB_VERDICT_NO_DIFFERENCE;
	else
		out.id = estimate->change_pct < 0 ? KP_AB_VERDICT_FASTER : KP_AB_VERDICT_SLOWER;
	return out;
}

/* ---- end to end ---- */

struct kp_ab_change kp_ab_predict(const struct kp_ab_part *parts, size_t count)
{
	struct kp_ab_change out = {0};
	double below = 0, above = 0;

	for (size_t i = 0; i < count; i++) {
		double share = parts[i].share_pct / 100;

		out.change_pct += share * parts[i].change_pct;
		below += pow(share * (parts[i].change_pct - parts[i].low_pct), 2);
		above += pow(share * (parts[i].high_pct - parts[i].change_pct), 2);
	}
	out.low_pct = out.change_pct - sqrt(below);
	out.high_pct = out.change_pct + sqrt(above);
	return out;
}

enum kp_ab_agreement kp_ab_compare(const struct kp_ab_change *predicted,
				   const struct kp_ab_change *measured)
{
	double apart = predicted->change_pct - measured->change_pct;
	double allowed = AGREEMENT * fabs(measured->change_pct), error;

	if (fabs(apart) <= allowed)
		return KP_AB_AGREEMENT_AGREES;
	/* The sides of the intervals that face each other. */
	error = apart > 0 ? hypot(predicted->change_pct - predicted->low_pct,
				  measured->high_pct - measured->change_pct)
			  : hypot(predicted->high_pct - predicted->change_pct,
				  measured->change_pct - measured->low_pct);
	return fabs(apart) > allowed + error ? KP_AB_AGREEMENT_DISAGREES
					     : KP_AB_AGREEMENT_UNCERTAIN;
}
