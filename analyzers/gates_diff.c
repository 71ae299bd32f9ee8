/* The figures that rules about a comparison look at: changes from base to new; see gates.h. Pure.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/gates_rule.h"

static void comment(struct kp_gate_figure *figure, const char *text)
{
	snprintf(figure->comment, sizeof(figure->comment), "%s", text);
}

static void add_side(struct kp_diff_side *to, const struct kp_diff_side *from)
{
	to->time_ps += from->time_ps;
	to->share_pct += from->share_pct;
	to->calls += from->calls;
	to->launches += from->launches;
	to->total_ns += from->total_ns;
	to->bytes += from->bytes;
	to->bytes_ns += from->bytes_ns;
}

/* All that the rule is about, as one part; returns how many rows that are. */
static size_t sum_sides(const struct kp_gate *gate, const struct kp_diff *diff,
			struct kp_diff_side sides[2])
{
	size_t count = 0;

	for (size_t i = 0; i < diff->row_count; i++) {
		const struct kp_diff_row *row = &diff->rows[i];
		bool fits = false;

		if (row->kind != KP_DIFF_KERNEL)
			continue;
		if (gate->subject == KP_GATE_OPERATOR)
			fits = strcmp(diff->groups[row->group].name, gate->name) == 0;
		for (unsigned k = 0; gate->subject == KP_GATE_KERNEL && k < 2; k++)
			fits |= row->kernels[k] &&
				kp_gate_fits(gate, row->kernels[k]->mangled, row->kernels[k]->full,
					     row->kernels[k]->shortened);
		if (!fits)
			continue;
		count++;
		add_side(&sides[0], &row->sides[0]);
		add_side(&sides[1], &row->sides[1]);
	}
	return count;
}

static double field_of(enum kp_gate_field field, const struct kp_diff_side *side)
{
	switch (field) {
	case KP_GATE_FIELD_SHARE:
		return side->share_pct;
	case KP_GATE_FIELD_CALLS:
		return side->calls;
	case KP_GATE_FIELD_AVERAGE:
		return side->launches > 0 && side->total_ns > 0 ? side->total_ns / side->launches
								: NAN;
	case KP_GATE_FIELD_BANDWIDTH:
		return kp_diff_gbps(side);
	default:
		return (double)side->time_ps / 1000;
	}
}

/* The change, in the unit of the rule. */
static double change_of(const struct kp_gate *gate, double base, double fresh)
{
	if (gate->kind != KP_GATE_PCT || gate->field == KP_GATE_FIELD_SHARE)
		return fresh - base;
	if (isnan(base) || isnan(fresh))
		return NAN;
	if (base > 0)
		return 100 * (fresh - base) / base;
	return fresh > 0 ? INFINITY : 0;
}

static void judge_rows(const struct kp_gate *gate, const struct kp_diff *diff,
		       struct kp_gate_figure *figure)
{
	struct kp_diff_side sides[2] = {{0}, {0}};
	size_t count = sum_sides(gate, diff, sides);

	figure->value =
		change_of(gate, field_of(gate->field, &sides[0]), field_of(gate->field, &sides[1]));
	if (!count)
		comment(figure, "absent on both sides");
	else if (isinf(figure->value))
		comment(figure, "it was not there before");
	else if (isnan(figure->value))
		comment(figure, gate->field == KP_GATE_FIELD_BANDWIDTH
					? "not measured on both sides: record with --counters"
					: "there is no figure on both sides");
	else if (count > 1 && gate->subject == KP_GATE_KERNEL)
		snprintf(figure->comment, sizeof(figure->comment), "%zu kernels", count);
}

static void judge_verdict(const struct kp_gate *gate, const struct kp_diff *diff,
			  struct kp_gate_figure *figure)
{
	const struct kp_effect *effect = &diff->effect;
	bool is = gate->subject == KP_GATE_SLOWER   ? diff->data_verdict == KP_VERDICT_SLOWER
		  : gate->subject == KP_GATE_FASTER ? diff->data_verdict == KP_VERDICT_FASTER
						    : diff->data_verdict == KP_VERDICT_UNDECIDED;
	double change_pct = is ? fabs(effect->change_pct) : 0;

	if (!effect->known && gate->subject != KP_GATE_INCONCLUSIVE) {
		comment(figure, "there is too little to tell");
		return;
	}
	figure->value = gate->compares ? change_pct : (double)is;
	snprintf(figure->comment, sizeof(figure->comment),
		 "%s, %+.2f %%, 95 %% interval %+.2f to %+.2f %%",
		 kp_verdict_name(diff->data_verdict), effect->change_pct, effect->low_pct,
		 effect->high_pct);
	if (!effect->known)
		comment(figure, "there is too little to tell");
}

static void judge_total(const struct kp_gate *gate, const struct kp_diff *diff,
			struct kp_gate_figure *figure)
{
	double values[2];

	for (unsigned i = 0; i < 2; i++) {
		const struct kp_diff_total *total = &diff->totals[i];
		int64_t kernels_ps = 0;

		for (size_t k = 0; k < diff->row_count; k++)
			kernels_ps += diff->rows[k].kind == KP_DIFF_KERNEL
					      ? diff->rows[k].sides[i].time_ps
					      : 0;
		switch (gate->field) {
		case KP_GATE_FIELD_CALLS:
			values[i] = total->calls;
			break;
		case KP_GATE_FIELD_ITERATION:
			values[i] = diff->effect.typical_ns[i];
			break;
		case KP_GATE_FIELD_TIME:
			values[i] = (double)kernels_ps / 1000;
			break;
		case KP_GATE_FIELD_BUSY:
			values[i] = (double)total->busy_ps / 1000;
			break;
		case KP_GATE_FIELD_IDLE:
			values[i] = (double)(total->length_ps - total->busy_ps) / 1000;
			break;
		default:
			values[i] = (double)total->length_ps / 1000;
			break;
		}
	}
	figure->value = change_of(gate, values[0], values[1]);
}

static void judge(const struct kp_gate *gate, const struct kp_diff *diff,
		  struct kp_gate_figure *figure)
{
	if (diff->verdict == KP_VERDICT_NOT_COMPARABLE)
		snprintf(figure->comment, sizeof(figure->comment), "not comparable: %s (%s)",
			 kp_diff_reason_words(diff->obstacles[0].reason),
			 diff->obstacles[0].detail);
	else if (gate->subject >= KP_GATE_SLOWER)
		judge_verdict(gate, diff, figure);
	else if (gate->subject == KP_GATE_TOTAL)
		judge_total(gate, diff, figure);
	else
		judge_rows(gate, diff, figure);
}

enum kp_status kp_gates_judge_diff(const struct kp_gate *const *gates, size_t count,
				   struct kp_diff *diff)
{
	struct kp_gate_outcome *outcomes =
		kp_arena_alloc(diff->arena, (count + 1) * sizeof(*outcomes));
	enum kp_status status = outcomes ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < count; i++) {
		struct kp_gate_figure figure = {.value = NAN};

		judge(gates[i], diff, &figure);
		status = kp_gate_settle(gates[i], &figure, diff->arena, &outcomes[i]);
	}
	diff->gates = outcomes;
	diff->gate_count = count;
	return status;
}
