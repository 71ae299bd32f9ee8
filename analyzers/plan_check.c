/*
 * What a plan refuses: inputs that contradict each other, the trace, or physics. Each has one
 * sentence that says what is possible instead.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/plan_parts.h"

/* Shares are rounded when people write them down. */
#define SHARE_ROUNDING_PCT 0.05
/* A target that quotes a ceiling, with two decimals as it is printed, may lie beyond it. The goal
 * is then the ceiling. */
#define TARGET_ROUNDING 0.005
#define NAMES_BYTES 300

static enum kp_status check_trace(struct kp_plan_build *build)
{
	const struct kp_report *report = build->report;

	if (!report->counts.kernels_timed || !report->span_ns || !report->timeline)
		return kp_plan_refuse(build, "no kernel of this trace has times: there is nothing "
					     "to plan by");
	return KP_OK;
}

/* Not negative, not NaN, not endless: what a price or a count of GPUs may be. 0: not given. */
static enum kp_status check_numbers(struct kp_plan_build *build)
{
	const struct kp_plan_inputs *inputs = build->inputs;
	const struct kp_plan_fleet *fleet = &build->plan->fleet;
	const struct {
		const char *name;
		double value;
	} rows[] = {
		{"the number of GPUs", fleet->gpus},
		{"the price of a GPU", fleet->gpu_price},
		{"the price of an hour", fleet->gpu_hour},
		{"the power of a GPU", fleet->gpu_watts},
		{"the price of power", fleet->kwh_price},
		{"tokens a second", fleet->units_per_s[KP_PLAN_UNIT_TOKENS]},
		{"requests a second", fleet->units_per_s[KP_PLAN_UNIT_REQUESTS]},
		{"engineer-weeks", fleet->engineer_weeks},
		{"the price of a week", fleet->engineer_week},
		{"the hours of a year", fleet->hours_per_year},
		{"the units of a range", inputs->units_per_range},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!isfinite(rows[i].value) || rows[i].value < 0)
			return kp_plan_refuse(build, "%s cannot be %g", rows[i].name,
					      rows[i].value);
	}
	if (fleet->gpus != floor(fleet->gpus))
		return kp_plan_refuse(build, "%g GPUs: it is a whole number", fleet->gpus);
	if (!(fleet->hours_per_year > 0 && fleet->hours_per_year <= 8784))
		return kp_plan_refuse(build, "a year has 8,760 hours or less, not %g",
				      fleet->hours_per_year);
	if (!(inputs->realistic_pct > 0 && inputs->realistic_pct <= 100))
		return kp_plan_refuse(build,
				      "realistic is a part of the goal, up to 100 %%, not %g %%",
				      inputs->realistic_pct);
	return KP_OK;
}

/* What is of no use without something else. */
static enum kp_status check_pairs(struct kp_plan_build *build)
{
	const struct kp_plan_fleet *fleet = &build->plan->fleet;
	const struct {
		bool bad;
		const char *words;
	} rows[] = {
		{!(fleet->gpus > 0) && (fleet->units_per_s[0] > 0 || fleet->units_per_s[1] > 0),
		 "tokens and requests a second are those of the fleet: say of how many GPUs "
		 "(--gpus)"},
		{fleet->engineer_week > 0 && !(fleet->engineer_weeks > 0) &&
			 build->inputs->wish_count == 0,
		 "the price of a week is of no use without engineer-weeks"},
		{fleet->kwh_price > 0 && !(fleet->gpu_watts > 0),
		 "the trace does not tell how much power the GPU drew: give it (--gpu-watts)"},
		{fleet->gpu_watts > 0 && !(fleet->kwh_price > 0),
		 "the power of a GPU is of no use without the price of a kilowatt-hour"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].bad)
			return kp_plan_refuse(build, "%s", rows[i].words);
	}
	return KP_OK;
}

static enum kp_status check_units(struct kp_plan_build *build)
{
	const struct kp_plan_inputs *inputs = build->inputs;

	if (!inputs->unit_range)
		return KP_OK;
	if (build->report->windows.any)
		return kp_plan_refuse(build,
				      "the trace was recorded in windows, and ranges are counted "
				      "outside of them too: give the fleet's units a second "
				      "instead of a range");
	if (build->report->timeline->ranges_found == 0)
		return kp_plan_refuse(build, "no NVTX range is called %.100s in this trace",
				      inputs->unit_range);
	if (!(inputs->units_per_range > 0))
		return kp_plan_refuse(build, "a range holds at least a part of a unit");
	if (build->plan->fleet.units_per_s[inputs->unit] > 0)
		return kp_plan_refuse(build, "%s are counted by ranges or given a second, not both",
				      kp_plan_unit_key(inputs->unit));
	return KP_OK;
}

/* «attention, gemm, norm» */
static void list_operators(const struct kp_report *report, char *out, size_t size)
{
	size_t length = 0;

	out[0] = '\0';
	for (size_t i = 0; i < report->operator_count; i++) {
		const char *name = report->operators[i].name;

		if (length + strlen(name) + sizeof(", …") > size) {
			snprintf(out + length, size - length, ", …");
			return;
		}
		length +=
			(size_t)snprintf(out + length, size - length, "%s%s", i ? ", " : "", name);
	}
}

/* A number that may be absent (0) and is finite and at least `least` else. */
static bool fits(double value, double least, double most)
{
	return value == 0 || (value >= least && value <= most);
}

static enum kp_status check_wish(struct kp_plan_build *build, const struct kp_plan_wish *wish)
{
	bool whole = strcmp(wish->name, KP_PLAN_WHOLE) == 0;
	char names[NAMES_BYTES];

	if (kp_plan_wish_of(build->inputs, wish->name) != wish)
		return kp_plan_refuse(build, "%.100s is there twice", wish->name);
	if (!whole && !kp_plan_operator(build->report, wish->name)) {
		list_operators(build->report, names, sizeof(names));
		return kp_plan_refuse(build, "the trace has no operator %.100s; it has %s",
				      wish->name, names);
	}
	if (whole && (wish->share_pct != 0 || wish->fewer_bytes != 0))
		return kp_plan_refuse(build, "all is the whole wall time: its share is 100 %%, and "
					     "its bytes say nothing");
	if (whole && wish->fewer_launches != 0 && !(wish->target > 0 || wish->whole_target > 0))
		return kp_plan_refuse(build,
				      "all: fewer launches move only how far a target of the "
				      "whole may go, and there is none (--target all=2x)");
	if (!fits(wish->target, 1, HUGE_VAL) || isinf(wish->target))
		return kp_plan_refuse(build,
				      "%.100s: a target is a speed-up of 1 or more, not %g: "
				      "nothing is saved by a slower operator",
				      wish->name, wish->target);
	if (!fits(wish->whole_target, 1, HUGE_VAL) || isinf(wish->whole_target))
		return kp_plan_refuse(build, "%.100s: the whole is at least as fast as now, not %g",
				      wish->name, wish->whole_target);
	if (wish->target > 0 && wish->whole_target > 0)
		return kp_plan_refuse(build, "%.100s has a target of its own and one of the whole",
				      wish->name);
	if (!fits(wish->share_pct, 0, 100))
		return kp_plan_refuse(build,
				      "%.100s: a share of wall time is at most 100 %%, not %g %%",
				      wish->name, wish->share_pct);
	if (!fits(wish->fewer_bytes, 1, HUGE_VAL) || isinf(wish->fewer_bytes))
		return kp_plan_refuse(build,
				      "%.100s: fewer bytes are 1 or more times fewer, not %g",
				      wish->name, wish->fewer_bytes);
	if (!fits(wish->fewer_launches, 1, HUGE_VAL) || isinf(wish->fewer_launches))
		return kp_plan_refuse(build,
				      "%.100s: fewer launches are 1 or more times fewer, not %g",
				      wish->name, wish->fewer_launches);
	if (!fits(wish->engineer_weeks, 0, 1e9))
		return kp_plan_refuse(build, "%.100s: %g engineer-weeks cannot be", wish->name,
				      wish->engineer_weeks);
	return KP_OK;
}

enum kp_status kp_plan_check_inputs(struct kp_plan_build *build)
{
	enum kp_status status = check_trace(build);

	if (status == KP_OK)
		status = check_numbers(build);
	if (status == KP_OK)
		status = check_pairs(build);
	if (status == KP_OK)
		status = check_units(build);
	for (size_t i = 0; i < build->inputs->wish_count && status == KP_OK; i++)
		status = check_wish(build, &build->inputs->wishes[i]);
	return status;
}

/* A target beyond the ceiling: what stands there, and what may move it. */
static enum kp_status refuse_beyond(struct kp_plan_build *build, const struct kp_plan_card *card,
				    double target)
{
	bool fewer_bytes = card->fewer_bytes > 1, fewer_launches = card->fewer_launches > 1;
	const char *words =
		fewer_bytes ? "memory is at its ceiling, with the fewer bytes that were given"
			    : "memory is at its ceiling, with the bytes that it moves now; a "
			      "replacement that moves fewer may go beyond (--fewer-bytes)";

	if (card->ceiling_by == KP_BOUND_COMPUTE)
		words = card->ceiling_modelled ? "the operations of its shapes run at the GPU's "
						 "highest rate of any type"
					       : "tensor pipes would always work";
	else if (card->ceiling_by == KP_BOUND_LAUNCH)
		words = fewer_launches
				? "launches are as short as an empty kernel, with the fewer of "
				  "them that were given"
				: "launches, as many as now, are as short as an empty kernel; a "
				  "replacement with fewer may go beyond (--fewer-launches)";
	return kp_plan_refuse(build,
			      "%.100s: %.2f times as fast is beyond physics: at %.2f times %s",
			      card->row ? card->name : "the whole", target, card->ceiling, words);
}

/* There must be a launch left. */
static enum kp_status check_launches(struct kp_plan_build *build, const struct kp_plan_card *card,
				     const struct kp_plan_wish *wish)
{
	uint64_t calls = card->row ? card->row->calls : build->report->counts.kernels_timed;

	if (wish->fewer_launches > (double)calls)
		return kp_plan_refuse(
			build, "%.100s has %" PRIu64 " launches: they cannot be %g times fewer",
			card->row ? card->name : "the whole", calls, wish->fewer_launches);
	return KP_OK;
}

enum kp_status kp_plan_check_target(struct kp_plan_build *build, const struct kp_plan_card *card,
				    const struct kp_plan_wish *wish)
{
	double share = card->share_pct / 100, target = wish->target;
	double bound = kp_plan_amdahl(share, INFINITY);

	if (card->row && !(card->share_pct > 0) && (target > 0 || wish->whole_target > 0))
		return kp_plan_refuse(build,
				      "%.100s never runs alone, so that making it faster wins "
				      "nothing for certain",
				      card->name);
	if (check_launches(build, card, wish) != KP_OK)
		return KP_INVALID;
	if (wish->fewer_bytes > 0 && !card->limit_source)
		return kp_plan_refuse(
			build,
			"%.100s: fewer bytes move a limit, and nothing is known of it "
			"(record with --counters on)",
			card->name);
	if (wish->whole_target > 0) {
		double most = kp_plan_amdahl(share, card->ceiling);

		if (!(wish->whole_target < bound))
			return kp_plan_refuse(
				build,
				"%.100s takes %.1f %% of wall time: even at no cost "
				"at all the whole would be %.2f times as fast, not %g",
				card->name, card->share_pct, bound, wish->whole_target);
		target = kp_plan_inverse_amdahl(share, wish->whole_target);
		if (wish->whole_target <= most + TARGET_ROUNDING)
			return KP_OK;
	}
	if (target > card->ceiling + TARGET_ROUNDING)
		return refuse_beyond(build, card, target);
	return KP_OK;
}

/* What is not given, idle time too, has what the given ones leave, divided as in the trace. */
enum kp_status kp_plan_check_shares(struct kp_plan_build *build)
{
	const struct kp_plan_inputs *inputs = build->inputs;
	double given_pct = 0, recorded_pct = 0;

	for (size_t i = 0; i < inputs->wish_count; i++) {
		const struct kp_operator_row *row =
			kp_plan_operator(build->report, inputs->wishes[i].name);

		if (!row || !(inputs->wishes[i].share_pct > 0))
			continue;
		given_pct += inputs->wishes[i].share_pct;
		recorded_pct += row->shares.alone_pct;
	}
	if (given_pct > 100 + SHARE_ROUNDING_PCT)
		return kp_plan_refuse(build,
				      "the shares that were given add up to %.1f %% of wall time",
				      given_pct);
	if (given_pct > 0)
		build->share_left =
			recorded_pct < 100 ? fmax(100 - given_pct, 0) / (100 - recorded_pct) : 0;
	return KP_OK;
}
