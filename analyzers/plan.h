/*
 * The plan: what it is worth to make an operator faster, as a team plans by.
 *
 * kp_plan_build takes a report (built with its timeline) and what the user says of his fleet, and
 * returns a card for each hotspot. It is arithmetic on the report's figures, and measures nothing.
 *
 * Definitions
 *   wall time     the span of report.h, over all GPUs: idle time is a part of it, and stays
 *   share         the operator's exclusive time ÷ wall time: the part in which nothing else ran on
 *                 its GPU. What overlaps with others wins nothing for certain. Where shares of
 *                 others are given, all that is left is divided as in the trace
 *   speed-up      of the operator: its time now ÷ then; of the whole: 1 ÷ (1 - share + share ÷ s)
 *   limit         the speed-up at which the operator reaches what memory or tensor pipes can do
 *                 while it moves the bytes that it moves now (struct kp_row_traffic.headroom), or
 *                 at which its launches last no longer than an empty kernel, or the operations of
 *                 its shapes take as long at the GPU's highest rate; unknown without hardware
 *                 counters
 *   ceiling       the speed-up beyond which it would move those bytes faster than memory does,
 *                 errors allowed for, its launches would be shorter than an empty kernel, or its
 *                 operations more a second than the GPU has of any type: known more often than
 *                 the limit, which arithmetic may bring nearer. No target may lie beyond
 *   goal          the user's target, else the limit; else there is none
 *   realistic     what can be planned with: a part of what a target gains, 1 + part × (target - 1);
 *                 of a limit, running at a part of its rate, part × limit, and 1 at least
 *   measured      what replaced kernels brought end to end, by kprof ab, and the lower end of its
 *                 interval: of the whole only, since no share of it is needed
 *   bound         the operator at no cost at all: nothing can win more
 * GPUs needed are whole, rounded up; those saved are the rest. Money is in the user's currency.
 * Figures that do not follow from what was given are NaN.
 */
#ifndef KP_ANALYZERS_PLAN_H
#define KP_ANALYZERS_PLAN_H

#include "analyzers/plan_sums.h"
#include "analyzers/report.h"

/* The name that stands for all of the wall time, idle time included. */
#define KP_PLAN_WHOLE KP_OPERATOR_ALL
/* The operator that waits for other GPUs. */
#define KP_PLAN_COMMUNICATION "communication"
#define KP_PLAN_ERROR_BYTES 512
/* What an empty kernel takes on an H200, the less of two measurements (docs/results, «launch
 * adds»). No launch is shorter, there or, as far as is known, on any other GPU. */
#define KP_PLAN_LAUNCH_NS 626

/* What is said of one operator. 0: nothing is. */
struct kp_plan_wish {
	const char *name;
	double target;         /* its speed-up */
	double whole_target;   /* the speed-up of the whole that it shall bring */
	double share_pct;      /* of wall time, instead of the trace's */
	double fewer_bytes;    /* times fewer that a replacement moves */
	double fewer_launches; /* times fewer of them */
	double engineer_weeks; /* instead of the default */
};

/* How many times as fast the whole became when kernels were replaced in it; 0: not measured. */
struct kp_plan_measured {
	double speedup, least, most; /* with its 95 % interval */
	uint64_t pairs;              /* of phases that it rests on */
};

struct kp_plan_inputs {
	const struct kp_plan_wish *wishes; /* no name twice */
	size_t wish_count;
	double realistic_pct; /* of the goal */
	struct kp_plan_fleet fleet;
	const char *unit_range; /* NVTX ranges that are units; NULL: none. report.options.iterations
				   must be the same */
	enum kp_plan_unit unit;
	double units_per_range;
	struct kp_plan_measured measured;
};

enum kp_plan_level {
	KP_PLAN_BOUND,
	KP_PLAN_CEILING,
	KP_PLAN_LIMIT,
	KP_PLAN_GOAL,
	KP_PLAN_REALISTIC,
	KP_PLAN_MEASURED,
	KP_PLAN_MEASURED_LEAST
};
#define KP_PLAN_LEVELS 7

/* Whose share it is: the trace's, the user's, or the trace's of what the user's leave. */
enum kp_plan_share { KP_PLAN_SHARE_TRACE, KP_PLAN_SHARE_GIVEN, KP_PLAN_SHARE_LEFT };

enum kp_plan_goal { KP_PLAN_NO_GOAL, KP_PLAN_GOAL_LIMIT, KP_PLAN_GOAL_TARGET };

struct kp_plan_card {
	const char *name;                   /* of the operator, or KP_PLAN_WHOLE */
	const struct kp_operator_row *row;  /* NULL: the whole */
	const struct kp_kernel_row *kernel; /* that takes most of its time; NULL likewise */
	double kernel_pct;                  /* of the operator's time */
	double share_pct;                   /* of wall time */
	enum kp_plan_share share_source;
	double limit;                         /* speed-up at it */
	double ceiling;                       /* as above; NaN: no launch of it has times */
	enum kp_traffic_source limit_source;  /* of what memory and tensor pipes allow; ABSENT: that
						 is not known */
	enum kp_bound limited_by, ceiling_by; /* memory, compute, launch; UNKNOWN: none known */
	bool limit_modelled, ceiling_modelled; /* from launches or shapes; else from counters */
	enum kp_plan_goal goal;
	double fewer_bytes;    /* 1 unless given */
	double fewer_launches; /* likewise */
	double engineer_weeks; /* NaN: not said */
	double effort_cost;    /* NaN likewise */
	bool has[KP_PLAN_LEVELS];
	struct kp_plan_outcome outcomes[KP_PLAN_LEVELS];
	const char *const *notes; /* sentences */
	size_t note_count;
};

struct kp_plan {
	struct kp_plan_card *cards; /* the whole first, then operators by time */
	size_t card_count;
	size_t together_count; /* operators with a goal; below 2 there is no sum of them */
	struct kp_plan_outcome together_goal, together_realistic;
	struct kp_plan_fleet fleet; /* as given; its power as measured where that is wanted */
	bool watts_measured;
	struct kp_plan_now now;
	uint64_t units_counted; /* ranges of unit_range */
	double busy_pct;        /* of wall time */
	double launch_ns; /* no launch is shorter: KP_PLAN_LAUNCH_NS, or the shortest of the trace
			   */
	const char *const *assumptions; /* sentences */
	size_t assumption_count;
	struct kp_arena *arena;
};

/*
 * Errors: KP_NO_MEMORY; KP_INVALID with a sentence in `error`: what was given cannot be (a target
 * beyond the limit, shares of more than all, an operator that is not there), or the trace holds
 * nothing to plan by. The plan borrows from report and inputs.
 */
enum kp_status kp_plan_build(const struct kp_report *report, const struct kp_plan_inputs *inputs,
			     struct kp_plan **out, char error[KP_PLAN_ERROR_BYTES]);
void kp_plan_destroy(struct kp_plan *plan);

#endif
