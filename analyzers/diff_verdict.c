/*
 * The verdict of a comparison: the interval of the change, what keeps two sides from being
 * compared, and what else to know; see diff.h and diff_verdict.h. Pure.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/diff_build.h"

/* How far apart two sides may be and still be compared. */
#define CLOCKS_APART_PCT 3.0
#define THROTTLED_APART_POINTS 10.0
#define CALLS_APART 1.25
/* The mean tells another story than the typical length from there on, in points. */
#define MEAN_APART_POINTS 2.0
/* So much kernel time outside of iterations is worth a word. */
#define OUTSIDE_PCT 5.0
#define WORDS_MAX 512
#define NOTES_MAX 16

static const char *const verdict_names[KP_VERDICT_COUNT] = {
#define X(NAME, key) key,
	KP_VERDICTS(X)
#undef X
};
static const char *const reason_keys[KP_DIFF_REASON_COUNT] = {
#define X(NAME, key, words) key,
	KP_DIFF_REASONS(X)
#undef X
};
static const char *const reason_words[KP_DIFF_REASON_COUNT] = {
#define X(NAME, key, words) words,
	KP_DIFF_REASONS(X)
#undef X
};

const char *kp_verdict_name(enum kp_verdict verdict)
{
	return verdict_names[verdict];
}

const char *kp_diff_reason_key(enum kp_diff_reason reason)
{
	return reason_keys[reason];
}

const char *kp_diff_reason_words(enum kp_diff_reason reason)
{
	return reason_words[reason];
}

/* What is being judged. */
struct judging {
	struct kp_diff *diff;
	struct kp_diff_obstacle *obstacles;
	const char **notes;
	bool no_memory;
};

static const char *words(struct judging *judging, const char *format, va_list arguments)
{
	char text[WORDS_MAX];
	const char *out;

	vsnprintf(text, sizeof(text), format, arguments);
	out = kp_arena_copy(judging->diff->arena, text, strlen(text));
	judging->no_memory |= !out;
	return out;
}

/* The first of a reason is enough. */
__attribute__((format(printf, 3, 4))) static void obstruct(struct judging *judging,
							   enum kp_diff_reason reason,
							   const char *format, ...)
{
	struct kp_diff *diff = judging->diff;
	va_list arguments;

	for (size_t i = 0; i < diff->obstacle_count; i++)
		if (judging->obstacles[i].reason == reason)
			return;
	va_start(arguments, format);
	judging->obstacles[diff->obstacle_count++] = (struct kp_diff_obstacle){
		.reason = reason, .detail = words(judging, format, arguments)};
	va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void note(struct judging *judging, const char *format,
						       ...)
{
	struct kp_diff *diff = judging->diff;
	va_list arguments;

	const char *text;

	va_start(arguments, format);
	text = words(judging, format, arguments);
	va_end(arguments);
	for (size_t i = 0; text && i < diff->note_count; i++)
		if (strcmp(judging->notes[i], text) == 0)
			return;
	if (text && diff->note_count < NOTES_MAX)
		judging->notes[diff->note_count++] = text;
}

static const struct kp_run *run_of(const struct kp_diff *diff, unsigned side, size_t number)
{
	return diff->totals[side].runs[number];
}

/* ---- one run against the first of all ---- */

static bool same_text(const char *a, const char *b)
{
	return !a || !b || strcmp(a, b) == 0;
}

static void judge_place(struct judging *judging, const struct kp_run *first,
			const struct kp_run *run)
{
	if (*first->gpus && *run->gpus && strcmp(first->gpus, run->gpus) != 0)
		obstruct(judging, KP_DIFF_GPU, "%s; %s", first->gpus, run->gpus);
	if (!same_text(first->command, run->command))
		obstruct(judging, KP_DIFF_COMMAND, "«%.160s»; «%.160s»", first->command,
			 run->command);
	if (!same_text(first->driver, run->driver))
		note(judging, "The drivers differ: %s; %s.", first->driver, run->driver);
	if (first->host != run->host)
		note(judging, "Calls were timed (--host) in one of them only, which costs time.");
	if (first->counted != run->counted)
		note(judging, "Hardware counters were sampled in one of them only.");
}

static void judge_recording(struct judging *judging, const struct kp_run *first,
			    const struct kp_run *run)
{
	bool whole = judging->diff->unit == KP_UNIT_RUN;

	if (first->windows != run->windows || first->sampled != run->sampled)
		obstruct(judging, KP_DIFF_WINDOWS, "%s was recorded %s, %s %s", first->name,
			 first->sampled   ? "in windows of --duty"
			 : first->windows ? "in windows"
					  : "from start to end",
			 run->name,
			 run->sampled   ? "in windows of --duty"
			 : run->windows ? "in windows"
					: "from start to end");
	else if (whole && run->windows && !judging->diff->same_recording)
		obstruct(judging, KP_DIFF_WINDOWS,
			 "%s was recorded in windows, and has no iterations", run->name);
	if ((first->filtered > 0) != (run->filtered > 0))
		obstruct(judging, KP_DIFF_FILTER, "%" PRIu64 " left out; %" PRIu64 " left out",
			 first->filtered, run->filtered);
}

static void judge_missing(struct judging *judging, const struct kp_run *run)
{
	char lacks[128];

	kp_losses_describe(&run->losses, lacks, sizeof(lacks));
	if (!run->launches)
		obstruct(judging, KP_DIFF_KERNELS, "%s holds none", run->name);
	else if (kp_losses_weigh(&run->losses))
		obstruct(judging, KP_DIFF_MISSING, "%s: %s", run->name, lacks);
	else if (run->losses.missing)
		note(judging, "%s: %s, or have no times.", run->name, lacks);
	else if (!run->losses.known)
		note(judging, "It is not known whether launches of %s are missing.", run->name);
	if (run->unfinished)
		note(judging, "Processes of %s were killed, or still ran: their end is missing.",
		     run->name);
}

static void judge_range(struct judging *judging, const struct kp_run *run, const char *range)
{
	if (range && run->lengths[KP_UNIT_STEP].count == 0)
		obstruct(judging, KP_DIFF_RANGE, "no launches in a range «%.100s» of %s", range,
			 run->name);
}

/* ---- side against side ---- */

/* The mean over the runs of a side that know it; NaN: none does. */
static double mean_of(const struct kp_diff *diff, unsigned side, bool throttled)
{
	double sum = 0, known = 0;

	for (size_t i = 0; i < diff->totals[side].run_count; i++) {
		const struct kp_run *run = run_of(diff, side, i);
		double value = throttled ? run->throttled_pct : run->sm_mhz;

		sum += isnan(value) ? 0 : value;
		known += !isnan(value);
	}
	return known > 0 ? sum / known : NAN;
}

static void judge_clocks(struct judging *judging)
{
	double a = mean_of(judging->diff, 0, false), b = mean_of(judging->diff, 1, false);

	if (fabs(b - a) * 100 > CLOCKS_APART_PCT * a)
		obstruct(judging, KP_DIFF_CLOCKS, "%.0f MHz; %.0f MHz", a, b);
	a = mean_of(judging->diff, 0, true);
	b = mean_of(judging->diff, 1, true);
	if (fabs(b - a) > THROTTLED_APART_POINTS)
		obstruct(judging, KP_DIFF_THROTTLED, "%.0f %% of the time; %.0f %%", a, b);
}

struct weighted {
	double ratio, weight;
};

static int compare_ratios(const void *left, const void *right)
{
	const struct weighted *a = left, *b = right;

	return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

/*
 * How often the same kernels ran in a unit of the new side, for once in one of the base side: the
 * median by time. Where no kernel is the same, by launches. 0: nothing is known.
 */
static double work_ratio(struct judging *judging, bool *same_kernels)
{
	const struct kp_diff *diff = judging->diff;
	struct weighted *items = malloc((diff->row_count + 1) * sizeof(*items));
	double sum = 0, half = 0, out = 0;
	size_t count = 0;

	judging->no_memory |= !items;
	for (size_t i = 0; items && i < diff->row_count; i++) {
		const struct kp_diff_side *sides = diff->rows[i].sides;

		if (diff->rows[i].kind != KP_DIFF_KERNEL || diff->rows[i].match != KP_MATCH_SAME ||
		    !(sides[0].calls > 0))
			continue;
		items[count].ratio = sides[1].calls / sides[0].calls;
		items[count].weight = (double)sides[0].time_ps + (double)sides[1].time_ps;
		sum += items[count++].weight;
	}
	*same_kernels = sum > 0;
	if (count)
		qsort(items, count, sizeof(*items), compare_ratios);
	for (size_t i = 0; i < count && half * 2 <= sum; i++) {
		half += items[i].weight;
		out = items[i].ratio;
	}
	free(items);
	if (!*same_kernels && diff->totals[0].calls > 0)
		out = diff->totals[1].calls / diff->totals[0].calls;
	return out;
}

static void judge_work(struct judging *judging)
{
	const struct kp_diff *diff = judging->diff;
	const char *unit = diff->unit == KP_UNIT_STEP ? "an iteration" : "a run";
	bool same_kernels = false;
	double ratio = work_ratio(judging, &same_kernels);
	/* Other kernels may be other ways to do the same work: one may stand for two. */
	double apart = same_kernels ? CALLS_APART : 2 * CALLS_APART;

	if (ratio > 0 && (ratio > apart || ratio * apart < 1))
		obstruct(judging, KP_DIFF_UNIT,
			 "%s of the new side has %.3g times the %s of one of the base side%s", unit,
			 ratio, same_kernels ? "calls of the same kernels" : "launches",
			 diff->unit == KP_UNIT_STEP
				 ? ": name the range that is one with --iterations"
				 : "");
}

static void note_units(struct judging *judging)
{
	const struct kp_diff *diff = judging->diff;
	bool any = false;

	for (unsigned side = 0; side < 2; side++) {
		const struct kp_diff_total *total = &diff->totals[side];
		double inside = 0;

		for (size_t i = 0; i < diff->row_count; i++)
			inside += (double)diff->rows[i].sides[side].time_ps *
				  (diff->rows[i].kind == KP_DIFF_KERNEL) * (double)total->units /
				  1000;
		if (diff->unit == KP_UNIT_STEP &&
		    (double)total->busy_ns - inside > OUTSIDE_PCT / 100 * (double)total->busy_ns)
			note(judging,
			     "%s side: %.0f %% of the GPUs' busy time lies outside of "
			     "iterations (prefill, warm-up), and is not compared.",
			     side ? "New" : "Base", 100 * (1 - inside / (double)total->busy_ns));
		for (size_t i = 0; i < total->run_count; i++)
			any |= run_of(diff, side, i)->lengths[KP_UNIT_STEP].count > 0;
	}
	if (diff->unit == KP_UNIT_RUN && any)
		note(judging, "Whole runs are compared: not all of them have iterations.");
}

static bool is_same_run(const struct kp_run *a, const struct kp_run *b)
{
	return a->identity_count == b->identity_count && a->launches == b->launches &&
	       a->kernel_ns == b->kernel_ns && a->span_ns == b->span_ns &&
	       a->wall_count == b->wall_count &&
	       memcmp(a->identities, b->identities, a->identity_count * sizeof(*a->identities)) ==
		       0 &&
	       memcmp(a->walls_ns, b->walls_ns, a->wall_count * sizeof(*a->walls_ns)) == 0;
}

/* Whether both sides are the very same recordings. */
static bool is_same_recording(const struct kp_diff *diff)
{
	bool same = diff->totals[0].run_count == diff->totals[1].run_count;

	for (size_t i = 0; same && i < diff->totals[0].run_count; i++)
		same = is_same_run(run_of(diff, 0, i), run_of(diff, 1, i));
	return same;
}

/* A recording that is there twice says nothing of how much runs differ. */
static void judge_repeated(struct judging *judging, unsigned side)
{
	const struct kp_diff *diff = judging->diff;

	for (size_t i = 1; i < diff->totals[side].run_count; i++)
		for (size_t k = 0; k < i; k++)
			if (is_same_run(run_of(diff, side, i), run_of(diff, side, k)))
				obstruct(judging, KP_DIFF_REPEATED, "%s is %s",
					 run_of(diff, side, i)->name, run_of(diff, side, k)->name);
}

/* ---- the interval ---- */

/* The series of the runs of a side; *lengths is what they point into where a run is one value. */
static struct kp_series *series_of(const struct kp_diff *diff, unsigned side, double **lengths)
{
	const struct kp_diff_total *total = &diff->totals[side];
	struct kp_series *series = malloc((total->run_count + 1) * sizeof(*series));

	*lengths = malloc((total->run_count + 1) * sizeof(**lengths));
	for (size_t i = 0; series && *lengths && i < total->run_count; i++) {
		const struct kp_run *run = run_of(diff, side, i);

		(*lengths)[i] = (double)run->lengths[diff->unit].length_ns;
		series[i] = (struct kp_series){&(*lengths)[i], 1};
		if (diff->unit == KP_UNIT_STEP && run->wall_count)
			series[i] = (struct kp_series){run->walls_ns, run->wall_count};
	}
	return series;
}

static enum kp_status measure(struct kp_diff *diff)
{
	double *base_lengths, *fresh_lengths;
	struct kp_series *base = series_of(diff, 0, &base_lengths);
	struct kp_series *fresh = series_of(diff, 1, &fresh_lengths);
	enum kp_status status = KP_NO_MEMORY;

	if (base && fresh && base_lengths && fresh_lengths)
		status = kp_stats_compare(base, diff->totals[0].run_count, fresh,
					  diff->totals[1].run_count, &diff->effect);
	free(base);
	free(fresh);
	free(base_lengths);
	free(fresh_lengths);
	diff->same_recording = is_same_recording(diff);
	if (diff->same_recording) {
		diff->effect.known = true;
		diff->effect.change_pct = diff->effect.low_pct = diff->effect.high_pct = 0;
	}
	return status;
}

static enum kp_verdict decide(const struct kp_diff *diff)
{
	const struct kp_effect *effect = &diff->effect;

	if (!effect->known)
		return KP_VERDICT_UNDECIDED;
	if (effect->low_pct >= -diff->margin_pct && effect->high_pct <= diff->margin_pct)
		return KP_VERDICT_SAME;
	if (effect->high_pct < 0)
		return KP_VERDICT_FASTER;
	return effect->low_pct > 0 ? KP_VERDICT_SLOWER : KP_VERDICT_UNDECIDED;
}

static void judge_effect(struct judging *judging)
{
	const struct kp_diff *diff = judging->diff;
	const struct kp_diff_total *base = &diff->totals[0], *fresh = &diff->totals[1];
	double mean_pct =
		base->length_ps > 0 ? 100 * (double)diff->change_ps / (double)base->length_ps : 0;

	if (!diff->effect.known && diff->unit == KP_UNIT_STEP)
		obstruct(judging, KP_DIFF_FEW,
			 "%" PRIu64 "; %" PRIu64 " iterations, and %d are the least", base->units,
			 fresh->units, KP_STATS_LEAST);
	else if (!diff->effect.known)
		obstruct(judging, KP_DIFF_FEW,
			 "%" PRIu64 "; %" PRIu64
			 " runs without iterations, and 2 on a side are the least",
			 base->units, fresh->units);
	if (diff->same_recording)
		note(judging, "Both sides are the same recording.");
	else if (base->run_count == 1 && fresh->run_count == 1 && diff->effect.known)
		note(judging, "One run a side: how much runs differ from one another is not in the "
			      "interval. Give several of each to know.");
	if (diff->unit == KP_UNIT_STEP &&
	    fabs(mean_pct - diff->effect.change_pct) > MEAN_APART_POINTS)
		note(judging,
		     "The mean changed by %+.1f %%, the typical iteration by %+.1f %%: iterations "
		     "that took much longer than most count in the mean alone.",
		     mean_pct, diff->effect.change_pct);
}

enum kp_status kp_diff_judge(struct kp_differ *differ, const struct kp_diff_options *options)
{
	struct kp_diff *diff = differ->diff;
	const struct kp_run *first = run_of(diff, 0, 0);
	struct judging judging = {.diff = diff};
	enum kp_status status = measure(diff);

	judging.obstacles =
		kp_arena_alloc(diff->arena, KP_DIFF_REASON_COUNT * sizeof(*judging.obstacles));
	judging.notes = kp_arena_alloc(diff->arena, NOTES_MAX * sizeof(*judging.notes));
	if (status != KP_OK || !judging.obstacles || !judging.notes)
		return KP_NO_MEMORY;
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < diff->totals[side].run_count; i++) {
			judge_place(&judging, first, run_of(diff, side, i));
			judge_recording(&judging, first, run_of(diff, side, i));
			judge_missing(&judging, run_of(diff, side, i));
			judge_range(&judging, run_of(diff, side, i), options->range);
		}
		judge_repeated(&judging, side);
	}
	judge_clocks(&judging);
	judge_work(&judging);
	judge_effect(&judging);
	note_units(&judging);
	diff->obstacles = judging.obstacles;
	diff->notes = judging.notes;
	diff->data_verdict = decide(diff);
	diff->verdict = diff->obstacle_count && !options->allow_not_comparable
				? KP_VERDICT_NOT_COMPARABLE
				: diff->data_verdict;
	return judging.no_memory ? KP_NO_MEMORY : KP_OK;
}
