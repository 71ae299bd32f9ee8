/* What a plan shows; see plan_rows.h. */
#include "profiler/plan_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "profiler/humanise.h"

#define DIGITS 4
/* From here on thousands are not written out. */
#define WRITTEN_OUT 1e15

#define AT(member) offsetof(struct kp_plan_outcome, member)

// clang-format off
const struct kp_figure kp_figures[] = {
	{"operator_speed_up", "Speed-up of the operator", KP_FIGURE_TIMES, AT(operator_speedup), 4},
	{"speed_up", "Speed-up of the whole", KP_FIGURE_TIMES, AT(speedup), 4},
	{"wall_time_saved_pct", "Wall time saved", KP_FIGURE_PCT, AT(saved_pct), 4},
	{"gpus_needed", "GPUs needed", KP_FIGURE_COUNT, AT(gpus_needed), 0},
	{"gpus_saved", "GPUs saved", KP_FIGURE_COUNT, AT(gpus_saved), 0},
	{"purchase_saved", "Saved once, by GPUs not bought", KP_FIGURE_MONEY,
	 AT(purchase_saved), 2},
	{"running_saved_per_year", "Saved a year, by GPUs not run", KP_FIGURE_MONEY,
	 AT(running_saved_per_year), 2},
	{"break_even_weeks", "Weeks until break-even", KP_FIGURE_NUMBER, AT(break_even_weeks), 2},
	{"break_even_gpus", "GPUs from which it pays", KP_FIGURE_COUNT, AT(break_even_gpus), 0},
	{"tokens_per_s_per_gpu", "Tokens a second and GPU", KP_FIGURE_NUMBER,
	 AT(units_per_s_per_gpu[KP_PLAN_UNIT_TOKENS]), 4},
	{"cost_per_million_tokens", "Cost of a million tokens", KP_FIGURE_MONEY,
	 AT(cost_per_million[KP_PLAN_UNIT_TOKENS]), 6},
	{"requests_per_s_per_gpu", "Requests a second and GPU", KP_FIGURE_NUMBER,
	 AT(units_per_s_per_gpu[KP_PLAN_UNIT_REQUESTS]), 4},
	{"cost_per_million_requests", "Cost of a million requests", KP_FIGURE_MONEY,
	 AT(cost_per_million[KP_PLAN_UNIT_REQUESTS]), 6},
	{0},
};
// clang-format on

double kp_figure_of(const struct kp_figure *figure, const struct kp_plan_outcome *outcome)
{
	return *(const double *)(const void *)((const char *)outcome + figure->offset);
}

/* Four significant digits below a thousand, whole numbers above. */
static void print_number(struct kp_figure_text *out, double value)
{
	double size = fabs(value);
	int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;

	if (size == 0)
		snprintf(out->text, sizeof out->text, "0");
	else if (size >= WRITTEN_OUT)
		snprintf(out->text, sizeof out->text, "%.3e", value);
	else if (size >= 999.5)
		snprintf(out->text, sizeof out->text, "%s%s", value < 0 ? "-" : "",
			 kp_human_count((uint64_t)(size + 0.5)).text);
	else
		snprintf(out->text, sizeof out->text, "%.*f", decimals, value);
}

struct kp_figure_text kp_figure_print(enum kp_figure_kind kind, double value)
{
	struct kp_figure_text out = {"-"};

	if (!isfinite(value))
		return out;
	switch (kind) {
	case KP_FIGURE_TIMES:
		snprintf(out.text, sizeof out.text, value < 1e6 ? "%.2fx" : "%.3gx", value);
		break;
	case KP_FIGURE_PCT:
		out = (struct kp_figure_text){""};
		snprintf(out.text, sizeof out.text, "%s", kp_human_percent(value).text);
		break;
	case KP_FIGURE_COUNT:
		if (value >= 0 && value < WRITTEN_OUT)
			snprintf(out.text, sizeof out.text, "%s",
				 kp_human_count((uint64_t)value).text);
		else
			snprintf(out.text, sizeof out.text, "%.3e", value);
		break;
	case KP_FIGURE_MONEY:
		if (fabs(value) >= 1 && fabs(value) < 999.5)
			snprintf(out.text, sizeof out.text, "%.2f", value);
		else
			print_number(&out, value);
		break;
	case KP_FIGURE_NUMBER:
		print_number(&out, value);
		break;
	}
	return out;
}

size_t kp_plan_columns(const struct kp_plan_card *card,
		       struct kp_plan_column columns[KP_PLAN_LEVELS])
{
	static const struct {
		enum kp_plan_level level;
		const char *title, *key;
	} order[KP_PLAN_LEVELS] = {
		{KP_PLAN_MEASURED_LEAST, "at least", "measured_least"},
		{KP_PLAN_MEASURED, "measured", "measured"},
		{KP_PLAN_REALISTIC, "realistic", "realistic"},
		{KP_PLAN_GOAL, "target", "target"},
		{KP_PLAN_LIMIT, "limit", "limit"},
		{KP_PLAN_CEILING, "at most", "at_most"},
		{KP_PLAN_BOUND, "at no cost", "bound"},
	};
	size_t count = 0;

	for (size_t i = 0; i < KP_PLAN_LEVELS; i++) {
		if (card->has[order[i].level])
			columns[count++] = (struct kp_plan_column){order[i].title, order[i].key,
								   &card->outcomes[order[i].level]};
	}
	return count;
}

size_t kp_plan_shown(const struct kp_plan_card *card, struct kp_plan_column columns[KP_PLAN_LEVELS])
{
	size_t count = kp_plan_columns(card, columns);

	return card->has[KP_PLAN_CEILING] && card->has[KP_PLAN_BOUND] ? count - 1 : count;
}

size_t kp_plan_together(const struct kp_plan *plan, struct kp_plan_column columns[KP_PLAN_LEVELS])
{
	if (plan->together_count < 2)
		return 0;
	columns[0] = (struct kp_plan_column){"realistic", "realistic", &plan->together_realistic};
	columns[1] = (struct kp_plan_column){"goals", "goal", &plan->together_goal};
	return 2;
}

/* Total now, of the whole run where that is estimated. */
static void put_time(const struct kp_report *report, const struct kp_operator_row *row,
		     struct kp_plan_line *line)
{
	line->label = "Time now";
	if (report->windows.scaled)
		snprintf(line->text, sizeof line->text, "~%s ±%s in the whole run, estimated",
			 kp_human_duration(row->estimate.total_ns, DIGITS).text,
			 kp_human_duration(row->estimate.total_ci95_ns, DIGITS).text);
	else
		snprintf(line->text, sizeof line->text, "%s in %s launch%s, %s on average",
			 kp_human_duration((double)row->durations.total_ns, DIGITS).text,
			 kp_human_count(row->calls).text, row->calls == 1 ? "" : "es",
			 kp_human_duration(row->durations.mean_ns, DIGITS).text);
}

static void put_shape(const struct kp_plan_card *card, struct kp_plan_line *line)
{
	const struct kp_kernel_row *kernel = card->kernel;

	line->label = "Shape";
	snprintf(line->text, sizeof line->text,
		 "grid %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", block %" PRIu32 "x%" PRIu32 "x%" PRIu32
		 "%s%s; %" PRIu32 " launch configuration%s of this kernel, %zu kernel%s",
		 kernel->grid[0], kernel->grid[1], kernel->grid[2], kernel->block[0],
		 kernel->block[1], kernel->block[2], kernel->dtype ? ", " : "",
		 kernel->dtype ? kernel->dtype : "", kernel->config_count,
		 kernel->config_count == 1 ? "" : "s", card->row->kernel_count,
		 card->row->kernel_count == 1 ? "" : "s");
}

const char *kp_plan_limit_source(const struct kp_plan_card *card)
{
	bool modelled = isfinite(card->limit) ? card->limit_modelled : card->ceiling_modelled;

	if (!isfinite(card->ceiling))
		return "unknown";
	return modelled ? "modelled" : kp_traffic_source_name(card->limit_source);
}

static void put_limit(const struct kp_plan_card *card, struct kp_plan_line *line)
{
	line->label = "Limit";
	if (isfinite(card->limit))
		snprintf(line->text, sizeof line->text, "%s as fast, by %s (%s)",
			 kp_figure_print(KP_FIGURE_TIMES, card->limit).text,
			 kp_bound_name(card->limited_by), kp_plan_limit_source(card));
	else if (isfinite(card->ceiling))
		snprintf(line->text, sizeof line->text, "unknown; at most %s, by %s (%s)",
			 kp_figure_print(KP_FIGURE_TIMES, card->ceiling).text,
			 kp_bound_name(card->ceiling_by), kp_plan_limit_source(card));
	else
		snprintf(line->text, sizeof line->text, "unknown");
}

/* The goal, and what the whole gains: from a realistic part of it to all of it. */
static void put_goal(const struct kp_plan_card *card, struct kp_plan_line *line)
{
	bool given = card->goal == KP_PLAN_GOAL_TARGET;
	const struct kp_plan_outcome *goal = &card->outcomes[given ? KP_PLAN_GOAL : KP_PLAN_LIMIT];

	line->label = "Goal";
	if (card->goal == KP_PLAN_NO_GOAL && card->has[KP_PLAN_MEASURED])
		snprintf(line->text, sizeof line->text, "measured by kprof ab: the whole %s",
			 kp_figure_print(KP_FIGURE_TIMES, card->outcomes[KP_PLAN_MEASURED].speedup)
				 .text);
	else if (card->goal == KP_PLAN_NO_GOAL)
		snprintf(line->text, sizeof line->text, "none: give one with --target");
	else
		snprintf(line->text, sizeof line->text, "%s as fast, %s: the whole %s to %s",
			 kp_figure_print(KP_FIGURE_TIMES, goal->operator_speedup).text,
			 given ? "as given" : "the limit",
			 kp_figure_print(KP_FIGURE_TIMES, card->outcomes[KP_PLAN_REALISTIC].speedup)
				 .text,
			 kp_figure_print(KP_FIGURE_TIMES, goal->speedup).text);
}

static void put_effort(const struct kp_plan_card *card, const char *currency,
		       struct kp_plan_line *line)
{
	int length = snprintf(line->text, sizeof line->text, "%g engineer-week%s",
			      card->engineer_weeks, card->engineer_weeks == 1 ? "" : "s");

	line->label = "Effort";
	if (isfinite(card->effort_cost))
		snprintf(line->text + length, sizeof line->text - (size_t)length, ", %s%s%s",
			 kp_figure_print(KP_FIGURE_MONEY, card->effort_cost).text,
			 currency ? " " : "", currency ? currency : "");
}

size_t kp_plan_lines(const struct kp_report *report, const struct kp_plan_card *card,
		     const char *currency, struct kp_plan_line lines[KP_PLAN_LINES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < KP_PLAN_LINES_MAX; i++)
		lines[i] = (struct kp_plan_line){0};
	if (card->row) {
		lines[count].label = "Kernel";
		lines[count].name = card->kernel->shortened;
		snprintf(lines[count].text, sizeof lines[count].text, "%.1f%% of its time",
			 card->kernel_pct);
		count++;
		put_shape(card, &lines[count++]);
		put_time(report, card->row, &lines[count++]);
	}
	lines[count].label = "Share";
	snprintf(lines[count].text, sizeof lines[count].text, "%.1f%% of wall time%s",
		 card->share_pct,
		 card->share_source == KP_PLAN_SHARE_GIVEN  ? ", as given"
		 : card->share_source == KP_PLAN_SHARE_LEFT ? ", of what is left"
		 : card->row                                ? ", in which nothing else ran"
							    : "");
	count++;
	if (card->row)
		put_limit(card, &lines[count++]);
	put_goal(card, &lines[count++]);
	if (isfinite(card->engineer_weeks))
		put_effort(card, currency, &lines[count++]);
	return count;
}
