/*
 * The words of a plan: what each card rests on, and what all of it assumes. Sentences for people;
 * every number in them is one of the report's or of the user's.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/plan_parts.h"

/* Launches that came too late for so much of wall time: the host sets the pace. */
#define LATE_PCT 10
/* A limit below this leaves nothing to win. */
#define NEAR_LIMIT 1.15
/* Shares of wall time that differ by less are the same to a reader. */
#define OVERLAP_PCT 0.5

__attribute__((format(printf, 2, 3))) static void say(struct kp_plan_sentences *sentences,
						      const char *format, ...)
{
	char text[600];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0 || sentences->count == KP_PLAN_SENTENCES_MAX)
		return;
	size_t kept = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
	sentences->items[sentences->count] = kp_arena_copy(sentences->arena, text, kept);
	sentences->failed |= !sentences->items[sentences->count];
	sentences->count++;
}

static enum kp_status keep(const struct kp_plan_sentences *sentences, const char *const **out,
			   size_t *count)
{
	const char **items =
		kp_arena_alloc(sentences->arena, (sentences->count + 1) * sizeof(*items));

	if (!items || sentences->failed)
		return KP_NO_MEMORY;
	memcpy(items, sentences->items, sentences->count * sizeof(*items));
	*out = items;
	*count = sentences->count;
	return KP_OK;
}

/* ---- a card ---- */

static bool any_hidden(const struct kp_report *report)
{
	bool any = false;

	for (size_t i = 0; i < report->gpu_count; i++)
		any |= report->timeline->idle[i].path.hidden_ns > 0;
	return any;
}

static void say_share(struct kp_plan_sentences *sentences, const struct kp_report *report,
		      const struct kp_plan_card *card)
{
	const struct kp_shares *shares = &card->row->shares;

	if (card->share_source == KP_PLAN_SHARE_GIVEN)
		say(sentences, "Its share is the one that was given; in the trace it is %.1f %%.",
		    shares->alone_pct);
	if (card->share_source == KP_PLAN_SHARE_LEFT)
		say(sentences,
		    "In the trace its share is %.1f %%; here it has its part of what the shares "
		    "that were given leave.",
		    shares->alone_pct);
	if (shares->span_pct > shares->alone_pct + OVERLAP_PCT && report->options.busy_shares)
		say(sentences,
		    "It also runs beside other work: %.1f %% of wall time is its part of all, "
		    "%.1f %% its alone; only the latter is counted.",
		    shares->span_pct, shares->alone_pct);
	if (shares->path_pct < shares->alone_pct - OVERLAP_PCT && any_hidden(report))
		say(sentences,
		    "Its sums hold if the program waits for each launch, which a trace cannot "
		    "tell. If it does not, launches that come too late hide a part of it: then "
		    "it is on the critical path for %.1f %% of wall time, not %.1f %%, and at no "
		    "cost at all no more than %.1f %% is saved.",
		    shares->path_pct, shares->alone_pct, shares->path_pct);
	else if (shares->path_pct > shares->alone_pct + OVERLAP_PCT)
		say(sentences,
		    "For %.1f %% of wall time it is on the critical path: so much can be won where "
		    "nothing beside it takes its place.",
		    shares->path_pct);
	if (strcmp(card->name, KP_PLAN_COMMUNICATION) == 0)
		say(sentences, "It includes waiting for other GPUs: balance and overlap come "
			       "before a faster kernel.");
}

static void say_limit(struct kp_plan_sentences *sentences, const struct kp_report *report,
		      const struct kp_plan_card *card)
{
	const struct kp_row_traffic *traffic = &card->row->traffic;
	bool counted = report->traffic.any;

	if (counted && traffic->claimed_pct > 0)
		say(sentences,
		    "Its memory traffic was counted at %.0f %% of the ceiling, which cannot be: "
		    "no limit follows.",
		    traffic->claimed_pct);
	if (!isfinite(card->limit)) {
		say(sentences,
		    "Its limit is not known%s: only the bounds hold, and a target is an input.",
		    counted ? "" : " (record with --counters on)");
		if (card->limit_source && !card->ceiling_modelled)
			say(sentences,
			    "With %s, at %.0f of %.0f GB/s (%s), memory alone allows no more than "
			    "%.2f times. Arithmetic may allow less: tensor pipes were not sampled "
			    "(--counter-set all).",
			    card->fewer_bytes > 1 ? "the fewer bytes that were given"
						  : "the bytes that it moves now",
			    traffic->gbps, traffic->peak_gbps,
			    kp_traffic_source_name(traffic->source), card->ceiling);
		return;
	}
	if (card->limit_modelled)
		return;
	if (card->limited_by == KP_BOUND_MEMORY)
		say(sentences,
		    "At the limit memory moves %.0f GB/s (%s) instead of %.0f GB/s (%s), and %s.",
		    traffic->peak_gbps, kp_ceiling_source_name(traffic->peak_source), traffic->gbps,
		    kp_traffic_source_name(traffic->source),
		    card->fewer_bytes > 1 ? "fewer bytes by the factor that was given"
					  : "as many bytes as now");
	else
		say(sentences,
		    "At the limit tensor pipes work all of the time instead of %.1f %% of it.",
		    traffic->tensor_pct);
	if (!isfinite(traffic->tensor_pct))
		say(sentences, "Tensor pipes were not sampled (--counter-set all): arithmetic may "
			       "be the nearer limit.");
	if (card->limit < NEAR_LIMIT)
		say(sentences, "It is near its limit already: leave it alone, unless a replacement "
			       "moves fewer bytes.");
}

/* Where launches or shapes set the ceiling. */
static void say_ceiling(struct kp_plan_sentences *sentences, const struct kp_plan *plan,
			const struct kp_plan_card *card)
{
	if (!card->ceiling_modelled)
		return;
	if (card->ceiling_by == KP_BOUND_COMPUTE) {
		say(sentences,
		    "The operations of its shapes take 1 ÷ %.2f of its time at the highest dense "
		    "rate that this GPU has in any type: no more is possible.",
		    card->ceiling);
		return;
	}
	say(sentences,
	    "A launch takes %.0f ns at least%s. With %s that allows no more than %.2f times%s.",
	    plan->launch_ns,
	    plan->launch_ns < KP_PLAN_LAUNCH_NS ? ", as the shortest of the trace"
						: ", as an empty kernel on an H200",
	    card->fewer_launches > 1 ? "the fewer launches that were given" : "as many as now",
	    card->ceiling,
	    card->fewer_launches > 1 ? ""
				     : "; a replacement with fewer may go beyond "
				       "(--fewer-launches)");
}

enum kp_status kp_plan_note(const struct kp_plan_build *build, struct kp_plan_card *card)
{
	struct kp_plan_sentences sentences = {.arena = build->plan->arena};

	if (card->row) {
		say_share(&sentences, build->report, card);
		say_limit(&sentences, build->report, card);
		say_ceiling(&sentences, build->plan, card);
	} else if (card->goal != KP_PLAN_NO_GOAL) {
		say(&sentences, "All of the wall time gets faster, idle time included: more than "
				"any kernel can do.");
	}
	if (card->has[KP_PLAN_MEASURED])
		say(&sentences,
		    "Measured by kprof ab with kernels replaced, in %" PRIu64 " pairs of phases "
		    "of a run of its own: %.3f times as fast, 95 %% interval %.3f to %.3f. That "
		    "its phases stand for all of the wall time is assumed.",
		    build->inputs->measured.pairs, build->inputs->measured.speedup,
		    build->inputs->measured.least, build->inputs->measured.most);
	if (card->row && !card->row->above_threshold && build->report->options.threshold_pct < 100)
		say(&sentences,
		    "It takes %.1f %% of kernel time, less than the %g %% at which an "
		    "operator is worth a kernel of its own.",
		    card->row->shares.kernel_pct, build->report->options.threshold_pct);
	return keep(&sentences, &card->notes, &card->note_count);
}

/* ---- the plan ---- */

static void say_wall(struct kp_plan_sentences *sentences, const struct kp_report *report,
		     double busy_pct)
{
	const struct kp_report_windows *windows = &report->windows;

	say(sentences,
	    "Wall time is the trace's: %.6g ms on %zu GPU%s, of which kernels run %.1f %%. It "
	    "stands for production, start-up included; idle time stays as long as it is.",
	    (double)report->span_ns / 1e6, report->gpu_count, report->gpu_count == 1 ? "" : "s",
	    busy_pct);
	if (windows->any && windows->whole_ns > 0)
		say(sentences, "%.3g %% of the run was looked at, in %" PRIu64 " window%s: %s.",
		    100 * windows->inside_ns / windows->whole_ns, windows->count,
		    windows->count == 1 ? "" : "s",
		    windows->sampled ? "these stand for the rest of it"
				     : "only these count, and nothing is said of the rest");
	if (report->gpu_count > 1)
		say(sentences, "Shares are averages over the GPUs: where they wait for each other, "
			       "the slowest decides.");
	say(sentences, "Only the time in which an operator runs alone gets shorter; all else takes "
		       "as long as now (Amdahl).");
}

/* The host, where it sets the pace. */
static void say_late(struct kp_plan_sentences *sentences, const struct kp_report *report)
{
	uint64_t late_ns = 0;

	for (size_t i = 0; i < report->gpu_count; i++)
		late_ns += report->timeline->idle[i].parts[KP_GAP_LAUNCH].total_ns;
	double late_pct = 100 * (double)late_ns / (double)report->span_ns;
	if (late_pct >= LATE_PCT)
		say(sentences,
		    "For %.1f %% of wall time launches came too late: unless the program waits for "
		    "each of them, the host sets the pace there, and a faster kernel wins less "
		    "than these sums say. See to that first.",
		    late_pct);
}

/* What compilers tried, above the threshold, of which no card is. */
static void say_trials(struct kp_plan_sentences *sentences, const struct kp_plan_build *build)
{
	const struct kp_report *report = build->report;

	for (size_t i = 0; i < report->operator_count; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		if (strcmp(row->name, KP_PLAN_TRIALS) == 0 && row->above_threshold &&
		    !kp_plan_wish_of(build->inputs, row->name))
			say(sentences,
			    "%.1f %% of kernel time are kernels that a compiler tried "
			    "(" KP_PLAN_TRIALS "): it does so at the start alone, and no kernel of "
			    "yours saves it. They have no card, but count as wall time.",
			    row->shares.kernel_pct);
	}
}

static void say_losses(struct kp_plan_sentences *sentences, const struct kp_report_counts *counts)
{
	uint64_t missing = counts->dropped + counts->unwritten + counts->lost;

	if (missing > 0)
		say(sentences,
		    "%" PRIu64 " records are missing from the trace: what they took counts as "
		    "idle time.",
		    missing);
}

static void say_fleet(struct kp_plan_sentences *sentences, const struct kp_plan_fleet *fleet)
{
	if (fleet->gpus > 0)
		say(sentences,
		    "%.0f GPU%s this work and nothing else, evenly, and the work stays as much: "
		    "GPUs needed are their number ÷ the speed-up of the whole, rounded up.",
		    fleet->gpus, fleet->gpus == 1 ? " does" : "s do");
	if (fleet->gpu_hour > 0 || fleet->kwh_price > 0)
		say(sentences, "A GPU is paid for %g hours a year, busy or not.",
		    fleet->hours_per_year);
	if (fleet->gpu_price > 0 && (fleet->gpu_hour > 0 || fleet->kwh_price > 0))
		say(sentences, "What is saved once and what is saved a year are never added: an "
			       "hour's price may hold the purchase.");
	if (fleet->gpu_hour > 0 && fleet->kwh_price > 0)
		say(sentences, "Power is paid on top of the hours.");
	if (fleet->engineer_week > 0)
		say(sentences, "Weeks until break-even begin when the faster operator is in use; "
			       "its upkeep is not counted.");
}

static void say_units(struct kp_plan_sentences *sentences, const struct kp_plan_build *build)
{
	const struct kp_plan_inputs *inputs = build->inputs;

	if (inputs->unit_range)
		say(sentences,
		    "%" PRIu64 " ranges «%.100s» of %g %s each were counted over all processes and "
		    "divided by wall time: ranks that work on one and the same range each count "
		    "it.",
		    build->plan->units_counted, inputs->unit_range, inputs->units_per_range,
		    kp_plan_unit_key(inputs->unit));
	if (isfinite(build->plan->now.cost_per_million[KP_PLAN_UNIT_TOKENS]) ||
	    isfinite(build->plan->now.cost_per_million[KP_PLAN_UNIT_REQUESTS]))
		say(sentences, "Costs per million are those of GPUs that are as busy then as now.");
}

enum kp_status kp_plan_assume(const struct kp_plan_build *build)
{
	struct kp_plan *plan = build->plan;
	struct kp_plan_sentences sentences = {.arena = plan->arena};

	say_wall(&sentences, build->report, plan->busy_pct);
	say_late(&sentences, build->report);
	say_trials(&sentences, build);
	say_losses(&sentences, &build->report->counts);
	say(&sentences, "Realistic is %g %% of what a target gains, or of the rate at a limit.",
	    build->inputs->realistic_pct);
	say_fleet(&sentences, &plan->fleet);
	if (plan->watts_measured)
		say(&sentences, "A GPU draws %.0f W, as it did while the trace was recorded.",
		    plan->fleet.gpu_watts);
	say_units(&sentences, build);
	return keep(&sentences, &plan->assumptions, &plan->assumption_count);
}
