/*
 * What of the findings is told: no two contradict each other, the better advice goes before the
 * other, and the user's wishes are kept. Rules apply in the order of the table, and what one holds
 * back holds nothing back itself.
 */
#include "analyzers/findings_search.h"

#include <math.h>
#include <stdlib.h>

/* From so many missing launches on, idle time means nothing. */
#define MISSING_PCT 1.0
/* Where the likely win is not known, a finding ranks as if this part of the bound were. */
#define UNKNOWN_PART 0.25

enum scope {
	ANYWHERE,
	SAME_ROWS,  /* the other concerns most of the same operator */
	MOST_OF_IT, /* the other wins, or has, at least half as much */
	CHAINED,    /* known chains have at least half of the tiny kernels' time */
	WHEN_IDLE,  /* the GPU mostly waits */
	MISSING,    /* too many launches are missing */
	STEPPED     /* the clock went back */
};

struct rule {
	enum kp_finding_id held, by;
	enum scope scope;
	const char *why;
};

#define RULE(held, by, scope, why)                                                                 \
	{                                                                                          \
		KP_FINDING_##held, KP_FINDING_##by, scope, why                                     \
	}
#define LOST "launches are missing, and their time is not idle"
#define CLOCK "the clock went back, and gaps cannot be told"
#define WAITS "the GPU mostly waits, and a faster kernel only lengthens that"
#define FIRST "the ladder begins with what exists"

static const struct rule rules[] = {
	RULE(GPU_IDLE, INCOMPLETE, MISSING, LOST),
	RULE(LAUNCH_BOUND, INCOMPLETE, MISSING, LOST),
	RULE(SYNC_COPIES, INCOMPLETE, MISSING, LOST),
	RULE(MEMORY_COPIES, INCOMPLETE, MISSING, LOST),
	RULE(GPU_IMBALANCE, INCOMPLETE, MISSING, LOST),
	RULE(GPU_IDLE, BROKEN_TIMES, STEPPED, CLOCK),
	RULE(LAUNCH_BOUND, BROKEN_TIMES, STEPPED, CLOCK),
	RULE(SYNC_COPIES, BROKEN_TIMES, STEPPED, CLOCK),
	RULE(GPU_IDLE, LAUNCH_BOUND, ANYWHERE, "launches say what it waits for"),
	RULE(GPU_IDLE, SYNC_COPIES, MOST_OF_IT, "copies say what it waits for"),
	RULE(GPU_IDLE, MEMORY_COPIES, MOST_OF_IT, "copies say what it waits for"),
	RULE(SKINNY_GEMM, NEAR_LIMIT, SAME_ROWS, "it is near the limit"),
	RULE(SKINNY_GEMM, TENSOR_CORES_UNUSED, SAME_ROWS, FIRST),
	RULE(LOW_OCCUPANCY, NEAR_LIMIT, SAME_ROWS, "it is near the limit"),
	RULE(LOW_OCCUPANCY, MATH_ATTENTION, SAME_ROWS, FIRST),
	RULE(LOW_OCCUPANCY, TENSOR_CORES_UNUSED, SAME_ROWS, FIRST),
	RULE(LOW_OCCUPANCY, SKINNY_GEMM, SAME_ROWS, "few rows are why"),
	RULE(TAIL_WAVE, NEAR_LIMIT, SAME_ROWS, "it is near the limit"),
	RULE(TAIL_WAVE, MATH_ATTENTION, SAME_ROWS, FIRST),
	RULE(TAIL_WAVE, TENSOR_CORES_UNUSED, SAME_ROWS, FIRST),
	RULE(TAIL_WAVE, SKINNY_GEMM, SAME_ROWS, "few rows are why"),
	RULE(UNFUSED_CHAIN, NEAR_LIMIT, SAME_ROWS, "its kernels are near the limit one by one"),
	RULE(TINY_KERNELS, UNFUSED_CHAIN, CHAINED, "the chains are most of them"),
	RULE(CANDIDATE, LAUNCH_BOUND, WHEN_IDLE, WAITS),
	RULE(CANDIDATE, GPU_IDLE, WHEN_IDLE, WAITS),
	RULE(CANDIDATE, SYNC_COPIES, WHEN_IDLE, WAITS),
	RULE(CANDIDATE, MEMORY_COPIES, WHEN_IDLE, WAITS),
	RULE(MANY_SHAPES, LAUNCH_BOUND, WHEN_IDLE, WAITS),
	RULE(MANY_SHAPES, GPU_IDLE, WHEN_IDLE, WAITS),
	RULE(CANDIDATE, NEAR_LIMIT, SAME_ROWS, "it is near the limit"),
	RULE(CANDIDATE, MANY_SHAPES, SAME_ROWS, "its shapes are too many"),
	RULE(CANDIDATE, MATH_ATTENTION, SAME_ROWS, FIRST),
	RULE(CANDIDATE, TENSOR_CORES_UNUSED, SAME_ROWS, FIRST),
	RULE(CANDIDATE, WIDE_TYPE, SAME_ROWS, FIRST),
	RULE(CANDIDATE, SKINNY_GEMM, SAME_ROWS, FIRST),
	RULE(CANDIDATE, UNFUSED_CHAIN, SAME_ROWS, FIRST),
	RULE(CANDIDATE, LOW_OCCUPANCY, SAME_ROWS, FIRST),
	RULE(COMMUNICATION, GPU_IMBALANCE, MOST_OF_IT, "unequal work says why it waits"),
	RULE(NO_HOTSPOT, LAUNCH_BOUND, WHEN_IDLE, WAITS),
	RULE(NO_HOTSPOT, GPU_IDLE, WHEN_IDLE, WAITS),
	RULE(NO_HOTSPOT, SYNC_COPIES, WHEN_IDLE, WAITS),
	RULE(NO_HOTSPOT, MEMORY_COPIES, WHEN_IDLE, WAITS),
	RULE(NO_HOTSPOT, UNFUSED_CHAIN, ANYWHERE, "the chains say what to fuse"),
	RULE(NO_HOTSPOT, TINY_KERNELS, ANYWHERE, "they are many and small, which says what to do"),
	RULE(NO_HOTSPOT, MATH_ATTENTION, ANYWHERE, FIRST),
};

struct verdict {
	bool held;
	enum kp_held_reason reason;
	const struct rule *rule;
};

/* Whether `by` concerns most of the operator of a kernel, or of what `held` is about. */
static bool same_rows(const struct kp_search *search, const struct kp_finding *held,
		      const struct kp_finding *by)
{
	double whole_ns = held->kernel_ns;

	if (held->operator_index == KP_FINDING_NOWHERE ||
	    held->operator_index != by->operator_index)
		return false;
	if (by->kernel_index != KP_FINDING_NOWHERE)
		return held->kernel_index == by->kernel_index;
	if (held->kernel_index != KP_FINDING_NOWHERE)
		whole_ns =
			(double)search->report->operators[held->operator_index].durations.total_ns;
	return by->kernel_ns * 2 >= whole_ns;
}

static bool most_of_it(const struct kp_finding *held, const struct kp_finding *by)
{
	if (held->kernel_ns > 0) /* of a wait: what it wins */
		return fmax(by->kernel_ns, by->win.span_bound_ns) * 2 >= held->kernel_ns;
	return by->win.span_bound_ns * 2 >= held->win.span_bound_ns;
}

static bool applies(const struct kp_search *search, const struct rule *rule,
		    const struct kp_finding *held, const struct kp_finding *by)
{
	switch (rule->scope) {
	case ANYWHERE:
		return true;
	case SAME_ROWS:
		return same_rows(search, held, by);
	case MOST_OF_IT:
		return most_of_it(held, by);
	case CHAINED:
		return search->chained_part >= 0.5;
	case WHEN_IDLE:
		return search->mostly_idle;
	case MISSING:
		return kp_search_missing_pct(search) >= MISSING_PCT;
	case STEPPED:
		return kp_search_clock_stepped(search);
	}
	return false;
}

/* Whether something that is told holds `held` back by this rule. */
static bool is_held(const struct kp_search *search, const struct rule *rule,
		    const struct kp_finding *held, const struct verdict *verdicts)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct kp_finding *by = &search->items[i];

		if (by->id == rule->by && !verdicts[i].held && applies(search, rule, held, by))
			return true;
	}
	return false;
}

static void apply_rules(const struct kp_search *search, struct verdict *verdicts)
{
	for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++) {
		for (size_t i = 0; i < search->count; i++) {
			if (verdicts[i].held || search->items[i].id != rules[r].held ||
			    !is_held(search, &rules[r], &search->items[i], verdicts))
				continue;
			verdicts[i] = (struct verdict){true, KP_HELD_RULE, &rules[r]};
		}
	}
}

static void apply_wishes(const struct kp_search *search, struct verdict *verdicts)
{
	const struct kp_findings_options *options = search->options;

	for (size_t i = 0; i < search->count; i++) {
		const struct kp_finding *finding = &search->items[i];

		if (verdicts[i].held)
			continue;
		if (options->silenced >> finding->id & 1)
			verdicts[i] = (struct verdict){true, KP_HELD_SILENCED, NULL};
		else if (finding->win.span_bound_pct < options->min_gain_pct)
			verdicts[i] = (struct verdict){true, KP_HELD_SMALL, NULL};
	}
}

/* ---- order ---- */

/* What a finding ranks by, ns; those that win nothing come last. */
static double rank(const struct kp_finding *finding)
{
	const struct kp_win *win = &finding->win;

	if (finding->id == KP_FINDING_NEAR_LIMIT || isnan(win->span_bound_ns))
		return -1;
	return isnan(win->span_likely_ns) ? UNKNOWN_PART * win->span_bound_ns : win->span_likely_ns;
}

static int descending(double a, double b)
{
	return (b > a) - (b < a);
}

/* What wins most first; of equal ones what may win most, then what concerns most, then by id and
 * place. */
static int compare(const void *left, const void *right)
{
	const struct kp_finding *a = left, *b = right;
	int order = descending(rank(a), rank(b));

	if (!order && rank(a) >= 0)
		order = descending(a->win.span_bound_ns, b->win.span_bound_ns);
	if (!order)
		order = descending(a->kernel_ns, b->kernel_ns);
	if (!order)
		order = (a->id > b->id) - (a->id < b->id);
	if (!order)
		order = (a->operator_index > b->operator_index) -
			(a->operator_index < b->operator_index);
	return order ? order
		     : (a->kernel_index > b->kernel_index) - (a->kernel_index < b->kernel_index);
}

static int compare_held(const void *left, const void *right)
{
	const struct kp_finding_held *a = left, *b = right;

	return compare(&a->finding, &b->finding);
}

enum kp_status kp_findings_resolve(struct kp_search *search, struct kp_findings *out)
{
	struct verdict *verdicts = calloc(search->count + 1, sizeof(*verdicts));
	struct kp_finding *items =
		kp_arena_alloc(search->arena, (search->count + 1) * sizeof(*items));
	struct kp_finding_held *held =
		kp_arena_alloc(search->arena, (search->count + 1) * sizeof(*held));

	if (!verdicts || !items || !held) {
		free(verdicts);
		return KP_NO_MEMORY;
	}
	apply_rules(search, verdicts);
	apply_wishes(search, verdicts);
	*out = (struct kp_findings){.items = items, .held = held};
	for (size_t i = 0; i < search->count; i++) {
		const struct rule *rule = verdicts[i].rule;

		if (verdicts[i].held)
			held[out->held_count++] = (struct kp_finding_held){
				search->items[i], verdicts[i].reason,
				rule ? rule->by : search->items[i].id, rule ? rule->why : NULL};
		else
			items[out->count++] = search->items[i];
	}
	free(verdicts);
	qsort(items, out->count, sizeof(*items), compare);
	qsort(held, out->held_count, sizeof(*held), compare_held);
	return KP_OK;
}
