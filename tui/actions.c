/* Moving, searching, sorting, and going from view to view; see actions.h. */
#include "tui/actions.h"

#include <stdlib.h>
#include <string.h>

#include "tui/keys.h"
#include "tui/live.h"
#include "tui/state.h"

static void move(struct kp_tui *tui, long by)
{
	struct kp_list *list = kp_tui_list(tui);
	bool text = !kp_pages[tui->page].name;
	size_t *at = text ? &list->top : &list->selected;
	size_t count = text ? tui->sheet.count : tui->item_count;
	size_t room = text ? tui->body.rows : 1;
	size_t last = count > room ? count - room : 0;

	if (by < 0)
		*at = (size_t)-by < *at ? *at - (size_t)-by : 0;
	else
		*at = *at + (size_t)by < last ? *at + (size_t)by : last;
}

#define MOVE(name, by)                                                                             \
	void kp_do_##name(struct kp_tui *tui, uint32_t code)                                       \
	{                                                                                          \
		(void)code;                                                                        \
		move(tui, by);                                                                     \
	}
MOVE(up, -1)
MOVE(down, 1)
MOVE(page_up, -(long)(tui->body.rows > 1 ? tui->body.rows - 1 : 1))
MOVE(page_down, (long)(tui->body.rows > 1 ? tui->body.rows - 1 : 1))
MOVE(home, -(1L << 40))
MOVE(end, 1L << 40)

void kp_do_enter(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	if (kp_pages[tui->page].enter)
		kp_pages[tui->page].enter(tui);
}

void kp_do_back(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	kp_tui_back(tui);
}

/* The tab that is `step` from this page, or from the one beneath it. */
static void turn(struct kp_tui *tui, int step)
{
	int page = (int)(tui->depth > 0 ? tui->back[0] : tui->page);

	do
		page = (page + step + KP_PAGE_COUNT) % KP_PAGE_COUNT;
	while (!kp_tui_has_tab(tui, (enum kp_page_id)page));
	kp_tui_show(tui, (enum kp_page_id)page);
}

void kp_do_next_page(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	turn(tui, 1);
}

void kp_do_previous_page(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	turn(tui, -1);
}

void kp_do_number(struct kp_tui *tui, uint32_t code)
{
	uint32_t number = '0';

	for (unsigned i = 0; i < KP_PAGE_COUNT; i++) {
		if (!kp_tui_has_tab(tui, (enum kp_page_id)i) || ++number != code)
			continue;
		kp_tui_show(tui, (enum kp_page_id)i);
		return;
	}
	kp_tui_say(tui, "There is no view of that number.");
}

/* Selects the next row that holds what was searched for, round the end. */
static void find(struct kp_tui *tui, bool backwards, bool from_here)
{
	const struct kp_page *page = &kp_pages[tui->page];
	struct kp_list *list = kp_tui_list(tui);

	if (!tui->search[0] || !tui->item_count) {
		kp_tui_say(tui, "Nothing to search for; / asks.");
		return;
	}
	for (size_t i = from_here ? 0 : 1; i <= tui->item_count; i++) {
		size_t step = backwards ? tui->item_count - i % tui->item_count : i;
		size_t at = (list->selected + step) % tui->item_count;
		if (!kp_tui_holds(page->name(tui, &tui->items[at]), tui->search))
			continue;
		list->selected = at;
		return;
	}
	kp_tui_say(tui, "No row holds «%s».", tui->search);
}

static void search_for(struct kp_tui *tui, const char *text)
{
	snprintf(tui->search, sizeof tui->search, "%s", text);
	if (text[0])
		find(tui, false, true);
}

void kp_do_search(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	kp_prompt_open(tui, "Search: ", "", search_for);
}

void kp_do_search_next(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	find(tui, false, false);
}

void kp_do_search_previous(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	find(tui, true, false);
}

static void filter_by(struct kp_tui *tui, const char *text)
{
	struct kp_list *list = kp_tui_list(tui);

	snprintf(list->filter, sizeof list->filter, "%s", text);
	list->selected = list->top = 0;
	tui->stale = true;
}

void kp_do_filter(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	kp_prompt_open(tui, "Filter: ", kp_tui_list(tui)->filter, filter_by);
}

void kp_do_sort_by(struct kp_tui *tui, size_t column)
{
	struct kp_list *list = kp_tui_list(tui);
	const struct kp_page *page = &kp_pages[tui->page];

	if (column >= page->column_count || !page->columns[column].number)
		return;
	list->inverted = list->sort == column && !list->inverted;
	list->sort = column;
	tui->stale = true;
}

static void sort_step(struct kp_tui *tui, int step)
{
	struct kp_list *list = kp_tui_list(tui);
	const struct kp_page *page = &kp_pages[tui->page];
	int count = (int)page->column_count;
	int column = list->sort < page->column_count ? (int)list->sort : step > 0 ? -1 : count;

	for (int i = 0; i < count; i++) {
		column = (column + step + count) % count;
		const struct kp_column *candidate = &page->columns[column];
		if (!candidate->number || candidate->bar ||
		    (candidate->shown && !candidate->shown(tui)))
			continue;
		list->sort = (size_t)column;
		list->inverted = false;
		tui->stale = true;
		kp_tui_say(tui, "Sorted by %s: %s.", candidate->title, candidate->about);
		return;
	}
}

void kp_do_sort_next(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	sort_step(tui, 1);
}

void kp_do_sort_previous(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	sort_step(tui, -1);
}

void kp_do_invert(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	kp_tui_list(tui)->inverted = !kp_tui_list(tui)->inverted;
	tui->stale = true;
}

static void choose_columns(struct kp_tui *tui, bool sort)
{
	if (!kp_pages[tui->page].columns) {
		kp_tui_say(tui, "This view has no columns.");
		return;
	}
	tui->columns_of = tui->page;
	tui->columns_sort = sort;
	kp_tui_open(tui, KP_PAGE_COLUMNS);
}

void kp_do_sort(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	choose_columns(tui, true);
}

void kp_do_columns(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	choose_columns(tui, false);
}

void kp_do_info(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	if (tui->top)
		kp_tui_say(tui, "There is no trace to show.");
	else if (tui->page != KP_PAGE_INFO)
		kp_tui_open(tui, KP_PAGE_INFO);
}

void kp_do_help(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	if (tui->page != KP_PAGE_HELP)
		kp_tui_open(tui, KP_PAGE_HELP);
}

void kp_do_close(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	if (tui->depth > 0)
		kp_tui_back(tui);
	else
		tui->closed = true;
}

void kp_do_quit(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	tui->closed = true;
}

void kp_do_redraw(struct kp_tui *tui, uint32_t code)
{
	(void)code;
	tui->redraw_all = true;
}
