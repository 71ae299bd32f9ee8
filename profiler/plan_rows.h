/*
 * What a plan shows, once for text, Markdown, YAML and JSON: the figures of an outcome as a table
 * of keys and labels, and the facts of a card as labelled lines. Pure functions.
 */
#ifndef KP_PROFILER_PLAN_ROWS_H
#define KP_PROFILER_PLAN_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/plan.h"

enum kp_figure_kind {
	KP_FIGURE_TIMES,
	KP_FIGURE_PCT,
	KP_FIGURE_COUNT,
	KP_FIGURE_NUMBER,
	KP_FIGURE_MONEY
};

/* A number of struct kp_plan_outcome. */
struct kp_figure {
	const char *key; /* in YAML; NULL ends the table */
	const char *label;
	enum kp_figure_kind kind;
	size_t offset;
	int decimals; /* in YAML */
};
extern const struct kp_figure kp_figures[];

double kp_figure_of(const struct kp_figure *figure, const struct kp_plan_outcome *outcome);

/* For people: «1.43x», «30.0%», «7,000»; «-» where there is none. */
struct kp_figure_text {
	char text[48];
};
struct kp_figure_text kp_figure_print(enum kp_figure_kind kind, double value);

/* The columns of a card: levels that it has, from the least to the most that can be won. */
struct kp_plan_column {
	const char *title, *key;
	const struct kp_plan_outcome *outcome;
};
size_t kp_plan_columns(const struct kp_plan_card *card,
		       struct kp_plan_column columns[KP_PLAN_LEVELS]);
/* Likewise those that texts have room for: not what is won at no cost, where less is the most. */
size_t kp_plan_shown(const struct kp_plan_card *card,
		     struct kp_plan_column columns[KP_PLAN_LEVELS]);
/* Likewise of all operators that have a goal, together; 0: there are fewer than two. */
size_t kp_plan_together(const struct kp_plan *plan, struct kp_plan_column columns[KP_PLAN_LEVELS]);

/* A fact of a card. `name` is of the trace or the user, and goes before the text. */
struct kp_plan_line {
	const char *label;
	const char *name; /* NULL: none */
	char text[256];
};
#define KP_PLAN_LINES_MAX 8
/* Where its limit is from, or else what it is at most: "measured", "estimated", "modelled" from its
 * launches or shapes, "unknown". */
const char *kp_plan_limit_source(const struct kp_plan_card *card);
size_t kp_plan_lines(const struct kp_report *report, const struct kp_plan_card *card,
		     const char *currency, struct kp_plan_line lines[KP_PLAN_LINES_MAX]);

#endif
