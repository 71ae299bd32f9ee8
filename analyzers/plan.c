/*
 * The cards of a plan; see plan.h. Inputs are checked first (plan_check.c), sums are those of
 * plan_sums.c, words those of plan_notes.c.
 */
#include "analyzers/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/plan_parts.h"

const struct kp_plan_wish *kp_plan_wish_of(const struct kp_plan_inputs *inputs, const char *name)
{
	for (size_t i = 0; i < inputs->wish_count; i++) {
		if (strcmp(inputs->wishes[i].name, name) == 0)
			return &inputs->wishes[i];
	}
	return NULL;
}

const struct kp_operator_row *kp_plan_operator(const struct kp_report *report, const char *name)
{
	for (size_t i = 0; i < report->operator_count; i++) {
		if (strcmp(report->operators[i].name, name) == 0)
			return &report->operators[i];
	}
	return NULL;
}

enum kp_status kp_plan_refuse(struct kp_plan_build *build, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(build->error, KP_PLAN_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return KP_INVALID;
}

/* The kernel that takes most of the operator's time. */
static void set_kernel(const struct kp_report *report, struct kp_plan_card *card)
{
	const struct kp_operator_row *row = card->row;

	card->kernel = &report->kernels[row->first_kernel];
	if (row->durations.total_ns > 0)
		card->kernel_pct = 100 * (double)card->kernel->durations.total_ns /
				   (double)row->durations.total_ns;
}

/* The goal's speed-up; NaN: there is none. */
static double set_goal(struct kp_plan_card *card, const struct kp_plan_wish *wish)
{
	double share = card->share_pct / 100;

	if (wish && (wish->target > 0 || wish->whole_target > 0)) {
		double target = wish->target > 0
					? wish->target
					: kp_plan_inverse_amdahl(share, wish->whole_target);

		card->goal = KP_PLAN_GOAL_TARGET;
		return fmin(target, card->ceiling); /* NaN: there is none */
	}
	if (isfinite(card->limit)) {
		card->goal = KP_PLAN_GOAL_LIMIT;
		return card->limit;
	}
	return NAN;
}

static void put(const struct kp_plan_build *build, struct kp_plan_card *card,
		enum kp_plan_level level, double speedup)
{
	double whole = kp_plan_amdahl(card->share_pct / 100, speedup);

	card->has[level] = true;
	card->outcomes[level] =
		kp_plan_outcome(&build->plan->fleet, &build->plan->now, whole, card->effort_cost);
	card->outcomes[level].operator_speedup = speedup;
}

/* Of a target a part of what it gains; of a limit the speed-up at a part of its rate. */
static double realistic(const struct kp_plan_inputs *inputs, enum kp_plan_goal kind, double goal)
{
	double part = inputs->realistic_pct / 100;

	return kind == KP_PLAN_GOAL_TARGET ? 1 + part * (goal - 1) : fmax(1, part * goal);
}

static void put_outcomes(const struct kp_plan_build *build, struct kp_plan_card *card, double goal)
{
	const struct kp_plan_measured *measured = &build->inputs->measured;

	if (!card->row && measured->speedup > 0) {
		put(build, card, KP_PLAN_MEASURED, measured->speedup);
		put(build, card, KP_PLAN_MEASURED_LEAST, measured->least);
	}
	if (card->row || card->goal != KP_PLAN_NO_GOAL)
		put(build, card, KP_PLAN_BOUND, INFINITY);
	if (card->has[KP_PLAN_BOUND] && isfinite(card->ceiling))
		put(build, card, KP_PLAN_CEILING, card->ceiling);
	if (isfinite(card->limit))
		put(build, card, KP_PLAN_LIMIT, card->limit);
	if (card->goal == KP_PLAN_GOAL_TARGET)
		put(build, card, KP_PLAN_GOAL, goal);
	if (card->goal != KP_PLAN_NO_GOAL)
		put(build, card, KP_PLAN_REALISTIC, realistic(build->inputs, card->goal, goal));
}

static void set_effort(const struct kp_plan_fleet *fleet, const struct kp_plan_wish *wish,
		       struct kp_plan_card *card)
{
	double weeks =
		wish && wish->engineer_weeks > 0 ? wish->engineer_weeks : fleet->engineer_weeks;

	card->engineer_weeks = weeks > 0 ? weeks : NAN;
	card->effort_cost =
		fleet->engineer_week > 0 ? card->engineer_weeks * fleet->engineer_week : NAN;
}

static void set_share(const struct kp_plan_build *build, const struct kp_plan_wish *wish,
		      struct kp_plan_card *card)
{
	double recorded_pct = fmin(card->row->shares.alone_pct, 100);

	if (wish && wish->share_pct > 0) {
		card->share_source = KP_PLAN_SHARE_GIVEN;
		card->share_pct = wish->share_pct;
		return;
	}
	card->share_source = build->share_left == 1 ? KP_PLAN_SHARE_TRACE : KP_PLAN_SHARE_LEFT;
	card->share_pct = recorded_pct * build->share_left;
}

/* A card of an operator; row is NULL for the whole. */
static enum kp_status put_card(struct kp_plan_build *build, const char *name,
			       const struct kp_operator_row *row)
{
	const struct kp_plan_wish *wish = kp_plan_wish_of(build->inputs, name);
	struct kp_plan_card *card = &build->plan->cards[build->plan->card_count];
	enum kp_status status;

	*card = (struct kp_plan_card){.name = name, .row = row, .share_pct = 100};
	card->fewer_bytes = wish && wish->fewer_bytes > 0 ? wish->fewer_bytes : 1;
	card->fewer_launches = wish && wish->fewer_launches > 0 ? wish->fewer_launches : 1;
	if (row) {
		set_kernel(build->report, card);
		set_share(build, wish, card);
	}
	kp_plan_limit(build, card);
	set_effort(&build->plan->fleet, wish, card);
	if (wish) {
		status = kp_plan_check_target(build, card, wish);
		if (status != KP_OK)
			return status;
	}
	double goal = set_goal(card, wish);
	put_outcomes(build, card, goal);
	build->plan->card_count++;
	return kp_plan_note(build, card);
}

/*
 * Compilers try kernels once, at the start: nobody replaces that by a faster kernel. Who names it
 * has a card all the same.
 */
static bool has_card(const struct kp_plan_build *build, const struct kp_operator_row *row)
{
	return kp_plan_wish_of(build->inputs, row->name) ||
	       (row->above_threshold && strcmp(row->name, KP_PLAN_TRIALS) != 0);
}

static enum kp_status put_cards(struct kp_plan_build *build)
{
	const struct kp_report *report = build->report;
	enum kp_status status = KP_OK;

	build->plan->cards = kp_arena_alloc(
		build->plan->arena, (report->operator_count + 1) * sizeof(struct kp_plan_card));
	if (!build->plan->cards)
		return KP_NO_MEMORY;
	if (kp_plan_wish_of(build->inputs, KP_PLAN_WHOLE) || build->inputs->measured.speedup > 0)
		status = put_card(build, KP_PLAN_WHOLE, NULL);
	for (size_t i = 0; i < report->operator_count && status == KP_OK; i++) {
		const struct kp_operator_row *row = &report->operators[i];

		if (has_card(build, row))
			status = put_card(build, row->name, row);
	}
	return status;
}

/* All operators that have a goal, made faster together. */
static void put_together(struct kp_plan_build *build)
{
	struct kp_plan *plan = build->plan;
	double goal_left = 1, realistic_left = 1, effort_cost = 0;

	for (size_t i = 0; i < plan->card_count; i++) {
		const struct kp_plan_card *card = &plan->cards[i];
		double share = card->share_pct / 100;

		if (!card->row || card->goal == KP_PLAN_NO_GOAL)
			continue;
		enum kp_plan_level level =
			card->goal == KP_PLAN_GOAL_TARGET ? KP_PLAN_GOAL : KP_PLAN_LIMIT;
		goal_left -= share - share / card->outcomes[level].operator_speedup;
		realistic_left -=
			share - share / card->outcomes[KP_PLAN_REALISTIC].operator_speedup;
		effort_cost += card->effort_cost;
		plan->together_count++;
	}
	plan->together_goal =
		kp_plan_outcome(&build->plan->fleet, &plan->now, 1 / goal_left, effort_cost);
	plan->together_realistic =
		kp_plan_outcome(&build->plan->fleet, &plan->now, 1 / realistic_left, effort_cost);
}

/* What one GPU does now: as counted in the trace, or of the fleet. */
static void put_now(struct kp_plan_build *build)
{
	const struct kp_plan_inputs *inputs = build->inputs;
	double per_gpu[KP_PLAN_UNIT_COUNT] = {0};

	if (inputs->unit_range) {
		build->plan->units_counted = build->report->timeline->ranges_found;
		per_gpu[inputs->unit] = (double)build->plan->units_counted *
					inputs->units_per_range /
					((double)build->report->span_ns * 1e-9);
	}
	build->plan->now = kp_plan_now(&build->plan->fleet, per_gpu);
	build->plan->busy_pct =
		100 * (double)build->report->busy_ns / (double)build->report->span_ns;
}

/* The fleet as it was given, with the power that GPUs drew where its price is, but not how much. */
static void set_fleet(struct kp_plan_build *build)
{
	struct kp_plan *plan = build->plan;
	double milliwatts = 0;
	size_t readings = 0;

	plan->fleet = build->inputs->fleet;
	if (!(plan->fleet.kwh_price > 0) || plan->fleet.gpu_watts != 0)
		return;
	for (size_t i = 0; i < build->report->gpu_count; i++) {
		const struct kp_clocks_summary *clocks = &build->report->gpus[i].clocks;

		if (!clocks->power_mw.known)
			continue;
		milliwatts += clocks->power_mw.mean;
		readings++;
	}
	if (readings > 0)
		plan->fleet.gpu_watts = milliwatts / (double)readings / 1000;
	plan->watts_measured = readings > 0;
}

enum kp_status kp_plan_build(const struct kp_report *report, const struct kp_plan_inputs *inputs,
			     struct kp_plan **out, char error[KP_PLAN_ERROR_BYTES])
{
	struct kp_plan_build build = {report, inputs, calloc(1, sizeof(struct kp_plan)), error,
				      .share_left = 1};
	enum kp_status status = KP_NO_MEMORY;

	error[0] = '\0';
	*out = NULL;
	if (build.plan)
		build.plan->arena = kp_arena_create();
	if (!build.plan || !build.plan->arena)
		goto out;
	set_fleet(&build);
	status = kp_plan_check_inputs(&build);
	if (status == KP_OK)
		status = kp_plan_check_shares(&build);
	if (status != KP_OK)
		goto out;
	build.plan->launch_ns = kp_plan_launch_ns(report);
	put_now(&build);
	status = put_cards(&build);
	if (status != KP_OK)
		goto out;
	put_together(&build);
	status = kp_plan_assume(&build);
out:
	if (status == KP_OK)
		*out = build.plan;
	else
		kp_plan_destroy(build.plan);
	return status;
}

void kp_plan_destroy(struct kp_plan *plan)
{
	if (!plan)
		return;
	kp_arena_destroy(plan->arena);
	free(plan);
}
