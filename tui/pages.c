/* The table of views; see pages.h. Data only. */
#include "tui/pages.h"

#include "tui/ab_pages.h"
#include "tui/live_pages.h"
#include "tui/state.h"
#include "tui/table.h"
#include "tui/timeline_page.h"

static void draw_sheet(struct kp_tui *tui, struct kp_area area)
{
	struct kp_list *list = kp_tui_list(tui);

	tui->body = area;
	if (list->top + area.rows > tui->sheet.count)
		list->top = tui->sheet.count > area.rows ? tui->sheet.count - area.rows : 0;
	kp_sheet_draw(&tui->sheet, &tui->canvas, area, list->top);
}

#define TITLE(NAME, words, tab) [KP_PAGE_##NAME] = {words, KP_TAB_##tab},
static const struct {
	const char *title;
	enum kp_tab tab;
} titles[KP_PAGE_COUNT] = {KP_PAGES(TITLE)};
#undef TITLE

/* A page of rows with columns, and a page of lines. */
#define TABLE(NAME, part, title, drawing, fuller)                                                  \
	[KP_PAGE_##NAME] = {                                                                       \
		.fill = kp_page_##part##_fill,                                                     \
		.draw = (drawing),                                                                 \
		.enter = kp_page_##part##_enter,                                                   \
		.name = kp_page_##part##_name,                                                     \
		.full = (fuller),                                                                  \
		.name_title = (title),                                                             \
		.columns = kp_page_##part##_columns,                                               \
		.column_count = KP_##NAME##_COLUMNS,                                               \
	}
/* The same rows and columns, of another kind. */
#define LIVE(NAME, title)                                                                          \
	[KP_PAGE_LIVE_##NAME] = {                                                                  \
		.fill = kp_page_live_fill,                                                         \
		.draw = kp_page_live_draw,                                                         \
		.enter = kp_page_live_enter,                                                       \
		.name = kp_page_live_name,                                                         \
		.full = kp_page_live_full,                                                         \
		.name_title = (title),                                                             \
		.columns = kp_page_live_columns,                                                   \
		.column_count = KP_LIVE_COLUMNS,                                                   \
	}
#define SHEET(NAME, part) [KP_PAGE_##NAME] = {.fill = kp_page_##part##_fill, .draw = draw_sheet}

const struct kp_page kp_pages[KP_PAGE_COUNT] = {
	TABLE(OPERATORS, operators, "Operator/Kernel", kp_page_operators_draw,
	      kp_page_operators_full),
	TABLE(ROOFLINE, roofline, "Kernel", kp_page_roofline_draw, NULL),
	TABLE(FINDINGS, findings, "Finding", kp_page_findings_draw, NULL),
	TABLE(COMPARE, compare, "Operator/Kernel", kp_page_compare_draw, NULL),
	[KP_PAGE_EVIDENCE] = {.fill = kp_page_evidence_fill,
			      .draw = draw_sheet,
			      .enter = kp_page_evidence_enter},
	TABLE(PLAN, plan, "Assumption", kp_page_plan_draw, NULL),
	TABLE(PROCESSES, processes, "GPU/Process", kp_table_draw, NULL),
	TABLE(AB, ab, "Rule", kp_page_ab_draw, NULL),
	SHEET(AB_RULE, ab_rule),
	[KP_PAGE_TIMELINE] = {.fill = kp_page_timeline_fill,
			      .draw = kp_page_timeline_draw,
			      .enter = kp_page_timeline_enter,
			      .name = kp_page_timeline_name},
	[KP_PAGE_COLUMNS] = {.fill = kp_page_columns_fill,
			     .draw = kp_page_columns_draw,
			     .enter = kp_page_columns_enter,
			     .name = kp_page_columns_name},
	LIVE(KERNELS, "Kernel"),
	LIVE(OPERATORS, "Operator"),
	LIVE(RANGES, "Range"),
	TABLE(LIVE_GPUS, live_gpus, "GPU/Process", kp_page_live_draw, NULL),
	TABLE(LIVE_RULES, live_rules, "Rule", kp_page_live_draw, NULL),
	SHEET(LIVE_RULE, live_rule),
	SHEET(LIVE_KERNEL, live_kernel),
	SHEET(KERNEL, kernel),
	SHEET(INFO, info),
	SHEET(HELP, help),
};

const char *kp_page_title(enum kp_page_id page)
{
	return titles[page].title;
}

enum kp_tab kp_page_tab(enum kp_page_id page)
{
	return titles[page].tab;
}
