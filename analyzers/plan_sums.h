/*
 * The sums of a plan: Amdahl's law, GPUs, money. Pure functions of numbers; see plan.h for words.
 *
 * Speed-ups are times («3» is three times as fast), shares are parts of 1. What does not follow
 * from the fleet's figures is NaN.
 */
#ifndef KP_ANALYZERS_PLAN_SUMS_H
#define KP_ANALYZERS_PLAN_SUMS_H

/* X(NAME, key): what a service is counted in. */
#define KP_PLAN_UNITS(X)                                                                           \
	X(TOKENS, "tokens")                                                                        \
	X(REQUESTS, "requests")

enum kp_plan_unit {
#define KP_PLAN_UNIT_ROW(NAME, key) KP_PLAN_UNIT_##NAME,
	KP_PLAN_UNITS(KP_PLAN_UNIT_ROW)
#undef KP_PLAN_UNIT_ROW
		KP_PLAN_UNIT_COUNT
};

/* What the user says of his GPUs and costs. 0: not said. */
struct kp_plan_fleet {
	double gpus;                            /* whole; that do this work */
	double gpu_price;                       /* to buy one */
	double gpu_hour;                        /* to have one for an hour */
	double hours_per_year;                  /* that it is paid for */
	double gpu_watts, kwh_price;            /* power, paid besides */
	double units_per_s[KP_PLAN_UNIT_COUNT]; /* of the whole fleet */
	double engineer_weeks, engineer_week;   /* effort for an operator; price of a week */
};

/* What one GPU does now. */
struct kp_plan_now {
	double units_per_s_per_gpu[KP_PLAN_UNIT_COUNT];
	double cost_per_million[KP_PLAN_UNIT_COUNT];
};

/* What follows from one speed-up of one operator. */
struct kp_plan_outcome {
	double operator_speedup; /* infinite: at no cost at all; NaN: of several */
	double speedup;          /* of the whole; infinite likewise */
	double saved_pct;        /* of wall time */
	double gpus_needed, gpus_saved;
	double purchase_saved;         /* once: GPUs that need not be bought */
	double running_saved_per_year; /* hours of GPUs, and power where its price is given */
	double break_even_weeks;       /* until running savings have paid the effort */
	double break_even_gpus;        /* fleet from which the purchase saved, else a year's running
					  saving, pays the effort */
	double units_per_s_per_gpu[KP_PLAN_UNIT_COUNT];
	double cost_per_million[KP_PLAN_UNIT_COUNT];
};

/* The whole's speed-up when a part of it is `speedup` (> 0, may be infinite) times as fast. */
double kp_plan_amdahl(double share, double speedup);
/* The part's speed-up that makes the whole `whole` times as fast; infinite where none does. */
double kp_plan_inverse_amdahl(double share, double whole);
/* GPUs that do the same work: whole, at least one. */
double kp_plan_gpus_needed(double gpus, double speedup);

/* Units of a GPU and their cost now. per_gpu: counted in the trace, of one GPU; 0: not counted. */
struct kp_plan_now kp_plan_now(const struct kp_plan_fleet *fleet,
			       const double per_gpu[KP_PLAN_UNIT_COUNT]);
/* All of an outcome but operator_speedup. effort_cost may be NaN. */
struct kp_plan_outcome kp_plan_outcome(const struct kp_plan_fleet *fleet,
				       const struct kp_plan_now *now, double speedup,
				       double effort_cost);

const char *kp_plan_unit_key(enum kp_plan_unit unit);

#endif
