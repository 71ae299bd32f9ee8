/*
 * What the explorer knows, and what the user chose: the state that views are functions of. Private
 * to tui/. Not thread-safe: the loader's thread never touches it.
 */
#ifndef KP_TUI_STATE_H
#define KP_TUI_STATE_H

#include "analyzers/diff.h"
#include "trace/arena.h"
#include "trace/intern.h"
#include "tui/canvas.h"
#include "tui/loader.h"
#include "tui/pages.h"
#include "tui/plan_edit.h"
#include "tui/prompt.h"
#include "tui/rank.h"
#include "tui/scanner.h"
#include "tui/sheet.h"
#include "tui/top.h"
#include "tui/tui.h"

#define KP_TUI_LEAST_ROWS 5
#define KP_TUI_LEAST_COLUMNS 20
#define KP_TUI_DEPTH 8 /* pages above each other */
#define KP_HITS 48

/* A row of a page's table. */
struct kp_item {
	size_t index; /* of what it shows, as its page counts */
	uint8_t depth;
	uint8_t kind;     /* as its page says */
	uint8_t role;     /* enum kp_role */
	bool opens, open; /* rows may be beneath it; they are shown */
};

/* What was chosen on one page. */
struct kp_list {
	size_t selected, top;
	size_t sort; /* column; SIZE_MAX: the order of the page */
	bool inverted;
	uint32_t hidden; /* bits of columns that were switched off */
	char filter[KP_TUI_TEXT];
};

/* A place on the screen that a click reaches. */
struct kp_hit {
	size_t row, column, columns;
	enum { KP_HIT_PAGE, KP_HIT_KEY, KP_HIT_COLUMN } kind;
	uint32_t value; /* page, key or column */
};

enum kp_gauge { KP_GAUGE_KERNELS, KP_GAUGE_SPAN, KP_GAUGE_CALLS, KP_GAUGES };

struct kp_tui {
	struct kp_tui_source source;
	struct kp_tui_settings settings;
	struct kp_top *top;       /* of kprof top: NULL: a trace is explored */
	struct kp_loader *loader; /* NULL: there is no trace */
	struct kp_report *report; /* NULL: nothing is known yet */
	struct kp_loaded_part part;
	enum kp_status trouble; /* of loading */
	struct kp_rank rank;
	struct kp_intern operator_names; /* those that were opened or closed by hand, */
	bool *operator_open;             /* and which */
	size_t operator_capacity;

	struct kp_canvas canvas;
	enum kp_page_id page;
	enum kp_page_id back[KP_TUI_DEPTH]; /* pages beneath this one */
	size_t depth;
	struct kp_list lists[KP_PAGE_COUNT];
	struct kp_item *items; /* of this page */
	size_t item_count, item_capacity;
	struct kp_sheet sheet;
	struct kp_area body; /* where rows are, without titles */
	struct kp_hit hits[KP_HITS];
	size_t hit_count;

	struct kp_prompt prompt;
	char search[KP_TUI_TEXT];
	char message[256];          /* one line, until the next key */
	enum kp_gauge gauge;        /* what shares and bars are of */
	double least_pct;           /* rows below are not shown */
	enum kp_page_id columns_of; /* the page whose columns are chosen */
	bool columns_sort;          /* to sort by, not to show */

	struct kp_reader_span span; /* of the trace */
	struct kp_scanner *scanner; /* for views that look into the trace; made when one does */
	enum kp_scan_kind scanning; /* what it has more of */
	enum kp_status unread;      /* why the last of it could not be read; KP_OK: it could */
	struct kp_tracks *tracks;   /* the timeline's window; NULL: none was looked at */
	uint64_t cursor_ns;         /* in it */
	struct kp_track chosen;     /* what tells apart the one that is wanted, */
	size_t chosen_at;           /* and where it, or what is there instead, is selected */
	struct kp_history *history; /* of one kernel; NULL: nothing is known yet */
	const char *history_of;     /* the mangled name in the report; NULL: none */
	bool tracks_whole, history_whole; /* all of them has been read */
	struct kp_plan_edit plan;
	const struct kp_diff *diff; /* the loader's; NULL: there is none yet */
	size_t finding, ab_rule;    /* of the pages of evidence and of a rule */
	size_t kernel;              /* in the report, of the kernel page; the key of kprof top's */

	bool stale, all_taken; /* rows must be made again; the loader has ended, and has no more */
	bool redraw_all, closed;
	FILE *printed; /* where P writes in a script; NULL: it asks */
};

/* Begins: starts to load. kp_tui_fini ends it in either case. Errors: KP_NO_MEMORY. */
enum kp_status kp_tui_init(struct kp_tui *tui, const struct kp_tui_source *source,
			   const struct kp_tui_settings *settings);
void kp_tui_fini(struct kp_tui *tui);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_tui_resize(struct kp_tui *tui, size_t rows, size_t columns);

/*
 * Takes in what was loaded, and what was read for views that look into the trace. True: the screen
 * may have changed.
 */
bool kp_tui_work(struct kp_tui *tui);
/* Whether it has more to do. */
bool kp_tui_works(const struct kp_tui *tui);
/* Waits until all is loaded and read. Errors: of loading. */
enum kp_status kp_tui_finish(struct kp_tui *tui);

/* Draws the screen. Errors: KP_NO_MEMORY. */
enum kp_status kp_tui_draw(struct kp_tui *tui);
void kp_tui_print(const struct kp_tui *tui); /* what was drawn last, to `printed` */

/* screen.c, for pages. */
struct kp_list *kp_tui_list(struct kp_tui *tui);
void kp_tui_open(struct kp_tui *tui, enum kp_page_id page); /* above this one */
void kp_tui_show(struct kp_tui *tui, enum kp_page_id page); /* instead */
void kp_tui_back(struct kp_tui *tui);
void kp_tui_hit(struct kp_tui *tui, struct kp_hit hit);
__attribute__((format(printf, 2, 3))) void kp_tui_say(struct kp_tui *tui, const char *format, ...);
/* A row for the page. Errors: KP_NO_MEMORY. */
enum kp_status kp_tui_add(struct kp_tui *tui, struct kp_item item);
/* The row that is selected; NULL: there is none. */
const struct kp_item *kp_tui_selected(const struct kp_tui *tui);
/* Has the trace read for a view. */
void kp_tui_scan(struct kp_tui *tui, const struct kp_scan *scan);
/* Whether `text` holds `part`, whatever the case of ASCII letters. */
bool kp_tui_holds(const char *text, const char *part);
/* Shows a kernel of the report. */
void kp_tui_open_kernel(struct kp_tui *tui, size_t kernel);

#endif
