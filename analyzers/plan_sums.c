/* The sums of a plan; see plan_sums.h. */
#include "analyzers/plan_sums.h"

#include <math.h>
#include <stdbool.h>

#define WEEKS_PER_YEAR (365.0 / 7)
#define SECONDS_PER_HOUR 3600.0
/* Of a GPU: so much of the next whole one is the arithmetic's, not the work's. */
#define WHOLE_PART 1e-9

const char *kp_plan_unit_key(enum kp_plan_unit unit)
{
	static const char *const keys[KP_PLAN_UNIT_COUNT] = {
#define X(NAME, key) key,
		KP_PLAN_UNITS(X)
#undef X
	};

	return keys[unit];
}

double kp_plan_amdahl(double share, double speedup)
{
	double left = 1 - share + (isinf(speedup) ? 0 : share / speedup);

	return left > 0 ? 1 / left : INFINITY;
}

double kp_plan_inverse_amdahl(double share, double whole)
{
	double left = 1 / whole - (1 - share);

	return left > 0 ? share / left : INFINITY;
}

double kp_plan_gpus_needed(double gpus, double speedup)
{
	double needed = isinf(speedup) ? 0 : gpus / speedup;

	return fmax(1, ceil(needed * (1 - WHOLE_PART)));
}

/* What all of the fleet's GPUs cost in a second; NaN: not said. */
static double fleet_cost_per_s(const struct kp_plan_fleet *fleet)
{
	double an_hour = fleet->gpu_hour > 0 ? fleet->gpu_hour : NAN;

	if (fleet->gpu_hour > 0 && fleet->kwh_price > 0)
		an_hour += fleet->gpu_watts / 1000 * fleet->kwh_price;
	return an_hour / SECONDS_PER_HOUR;
}

struct kp_plan_now kp_plan_now(const struct kp_plan_fleet *fleet,
			       const double per_gpu[KP_PLAN_UNIT_COUNT])
{
	struct kp_plan_now now;

	for (int i = 0; i < KP_PLAN_UNIT_COUNT; i++) {
		double rate = per_gpu[i];

		if (fleet->units_per_s[i] > 0 && fleet->gpus > 0)
			rate = fleet->units_per_s[i] / fleet->gpus;
		now.units_per_s_per_gpu[i] = rate > 0 ? rate : NAN;
		now.cost_per_million[i] = fleet_cost_per_s(fleet) / rate * 1e6;
		if (!(rate > 0))
			now.cost_per_million[i] = NAN;
	}
	return now;
}

/* A year of one GPU; NaN: no price is known. */
static double running_cost_per_year(const struct kp_plan_fleet *fleet)
{
	double an_hour = fleet->gpu_hour + fleet->gpu_watts / 1000 * fleet->kwh_price;

	return an_hour > 0 ? an_hour * fleet->hours_per_year : NAN;
}

/*
 * The smallest fleet in which so many GPUs are saved: n - ceil(n / speedup) >= saved, where one GPU
 * at least stays.
 */
static double fleet_that_saves(double saved, double speedup)
{
	double part = isinf(speedup) ? 1 : 1 - 1 / speedup;

	return fmax(ceil(saved / part * (1 - WHOLE_PART)), saved + 1);
}

static void set_money(struct kp_plan_outcome *outcome, const struct kp_plan_fleet *fleet,
		      double effort_cost)
{
	double a_year = running_cost_per_year(fleet);
	/* What a GPU less saves: its price; else what it costs in a year. */
	double each = fleet->gpu_price > 0 ? fleet->gpu_price : a_year;

	if (fleet->gpu_price > 0)
		outcome->purchase_saved = outcome->gpus_saved * fleet->gpu_price;
	outcome->running_saved_per_year = outcome->gpus_saved * a_year;
	if (outcome->running_saved_per_year > 0)
		outcome->break_even_weeks =
			effort_cost / outcome->running_saved_per_year * WEEKS_PER_YEAR;
	if (outcome->speedup > 1 && effort_cost > 0 && each > 0)
		outcome->break_even_gpus =
			fleet_that_saves(ceil(effort_cost / each), outcome->speedup);
}

struct kp_plan_outcome kp_plan_outcome(const struct kp_plan_fleet *fleet,
				       const struct kp_plan_now *now, double speedup,
				       double effort_cost)
{
	struct kp_plan_outcome outcome = {
		.operator_speedup = NAN,
		.speedup = speedup,
		.saved_pct = isinf(speedup) ? 100 : 100 * (1 - 1 / speedup),
		.gpus_needed = NAN,
		.gpus_saved = NAN,
		.purchase_saved = NAN,
		.running_saved_per_year = NAN,
		.break_even_weeks = NAN,
		.break_even_gpus = NAN,
	};

	for (int i = 0; i < KP_PLAN_UNIT_COUNT; i++) {
		bool finite = isfinite(speedup);
		outcome.units_per_s_per_gpu[i] =
			finite ? now->units_per_s_per_gpu[i] * speedup : NAN;
		outcome.cost_per_million[i] = finite ? now->cost_per_million[i] / speedup : NAN;
	}
	if (fleet->gpus > 0) {
		outcome.gpus_needed = kp_plan_gpus_needed(fleet->gpus, speedup);
		outcome.gpus_saved = fleet->gpus - outcome.gpus_needed;
	}
	set_money(&outcome, fleet, effort_cost);
	return outcome;
}
