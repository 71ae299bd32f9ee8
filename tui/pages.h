/* The views of the explorer, as one table: pages.c. */
#ifndef KP_TUI_PAGES_H
#define KP_TUI_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/canvas.h"

struct kp_tui;
struct kp_item;

/* Where a view is a tab: they follow each other with Tab, the others open above them. */
enum kp_tab { KP_TAB_NONE, KP_TAB_TRACE, KP_TAB_LIVE };

/* X(NAME, title, a tab of what): those of a trace, and those of kprof top. */
#define KP_PAGES(X)                                                                                \
	X(OPERATORS, "Operators", TRACE)                                                           \
	X(TIMELINE, "Timeline", TRACE)                                                             \
	X(ROOFLINE, "Roofline", TRACE)                                                             \
	X(FINDINGS, "Findings", TRACE)                                                             \
	X(COMPARE, "Compare", TRACE)                                                               \
	X(PLAN, "Plan", TRACE)                                                                     \
	X(PROCESSES, "GPUs", TRACE)                                                                \
	X(AB, "A/B", TRACE)                                                                        \
	X(LIVE_KERNELS, "Kernels", LIVE)                                                           \
	X(LIVE_OPERATORS, "Operators", LIVE)                                                       \
	X(LIVE_RANGES, "Ranges", LIVE)                                                             \
	X(LIVE_GPUS, "GPUs", LIVE)                                                                 \
	X(LIVE_RULES, "A/B", LIVE)                                                                 \
	X(EVIDENCE, "Evidence", NONE)                                                              \
	X(AB_RULE, "Rule", NONE)                                                                   \
	X(KERNEL, "Kernel", NONE)                                                                  \
	X(COLUMNS, "Columns", NONE)                                                                \
	X(INFO, "Trace", NONE)                                                                     \
	X(HELP, "Help", NONE)                                                                      \
	X(LIVE_KERNEL, "Kernel", NONE)                                                             \
	X(LIVE_RULE, "Rule", NONE)

enum kp_page_id {
#define KP_PAGE_ROW(NAME, title, tab) KP_PAGE_##NAME,
	KP_PAGES(KP_PAGE_ROW)
#undef KP_PAGE_ROW
		KP_PAGE_COUNT
};
#define KP_PAGE_BIT(NAME) (1U << KP_PAGE_##NAME)

/* The text of a cell, and how it looks; KP_ROLE_PLAIN: as its row does. */
struct kp_value {
	char text[48];
	enum kp_role role;
};

/* A column of a table of rows. */
struct kp_column {
	const char *title;
	const char *(*titled)(const struct kp_tui *tui); /* where it changes; else NULL */
	const char *about;
	unsigned width;
	bool left;       /* else to the right */
	bool bar;        /* `number` is drawn, of 100 */
	unsigned leaves; /* the lowest goes first where there is no room; 0: never */
	void (*text)(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out);
	/* To sort by, descending; NaN comes last. NULL: it does not sort. */
	double (*number)(const struct kp_tui *tui, const struct kp_item *item);
	bool (*shown)(const struct kp_tui *tui); /* NULL: always */
};

struct kp_page {
	/* Makes the rows that it has: tui->items, or tui->sheet for a page of text. */
	enum kp_status (*fill)(struct kp_tui *tui);
	void (*draw)(struct kp_tui *tui, struct kp_area area);
	void (*enter)(struct kp_tui *tui); /* Enter on a row; NULL: does nothing */
	const char *(*name)(const struct kp_tui *tui, const struct kp_item *item);
	const char *name_title;
	/* The name in full, for the line beneath; NULL: that is `name`. */
	const char *(*full)(const struct kp_tui *tui, const struct kp_item *item);
	const struct kp_column *columns; /* NULL: a page of text, or of its own kind */
	size_t column_count;
};

extern const struct kp_page kp_pages[KP_PAGE_COUNT];
const char *kp_page_title(enum kp_page_id page);
enum kp_tab kp_page_tab(enum kp_page_id page);

/* Columns of each table. */
#define KP_OPERATORS_COLUMNS 19
#define KP_ROOFLINE_COLUMNS 7
#define KP_FINDINGS_COLUMNS 5
#define KP_COMPARE_COLUMNS 7
#define KP_PLAN_COLUMNS 1
#define KP_PROCESSES_COLUMNS 10

/* One file each: page_*.c. */
enum kp_status kp_page_operators_fill(struct kp_tui *tui);
void kp_page_operators_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_operators_enter(struct kp_tui *tui);
const char *kp_page_operators_name(const struct kp_tui *tui, const struct kp_item *item);
const char *kp_page_operators_full(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_operators_columns[KP_OPERATORS_COLUMNS];

/* Selects an operator of that name, or its kernel; what hides it is undone. */
void kp_page_operators_select(struct kp_tui *tui, const char *name, size_t kernel);

enum kp_status kp_page_kernel_fill(struct kp_tui *tui);
enum kp_status kp_page_info_fill(struct kp_tui *tui);
enum kp_status kp_page_help_fill(struct kp_tui *tui);
enum kp_status kp_page_columns_fill(struct kp_tui *tui);
void kp_page_columns_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_columns_enter(struct kp_tui *tui);
const char *kp_page_columns_name(const struct kp_tui *tui, const struct kp_item *item);

enum kp_status kp_page_processes_fill(struct kp_tui *tui);
void kp_page_processes_enter(struct kp_tui *tui);
const char *kp_page_processes_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_processes_columns[KP_PROCESSES_COLUMNS];

enum kp_status kp_page_roofline_fill(struct kp_tui *tui);
void kp_page_roofline_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_roofline_enter(struct kp_tui *tui);
const char *kp_page_roofline_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_roofline_columns[KP_ROOFLINE_COLUMNS];

enum kp_status kp_page_findings_fill(struct kp_tui *tui);
void kp_page_findings_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_findings_enter(struct kp_tui *tui);
const char *kp_page_findings_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_findings_columns[KP_FINDINGS_COLUMNS];

enum kp_status kp_page_compare_fill(struct kp_tui *tui);
void kp_page_compare_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_compare_enter(struct kp_tui *tui);
const char *kp_page_compare_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_compare_columns[KP_COMPARE_COLUMNS];

enum kp_status kp_page_evidence_fill(struct kp_tui *tui);
void kp_page_evidence_enter(struct kp_tui *tui);
enum kp_status kp_page_plan_fill(struct kp_tui *tui);
void kp_page_plan_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_plan_enter(struct kp_tui *tui);
const char *kp_page_plan_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_plan_columns[KP_PLAN_COLUMNS];

#endif
