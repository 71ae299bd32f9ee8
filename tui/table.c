/* Tables; see table.h. */
#include "tui/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tui/live.h"

#define LEAST_NAME 14
#define NARROW_NAME 10
#define COLUMNS_MOST 32
#define LAST_LEAVER 16
#define FOLDED 0x25B8
#define UNFOLDED 0x25BE

bool kp_table_shows(const struct kp_tui *tui, enum kp_page_id page, size_t column)
{
	const struct kp_column *columns = kp_pages[page].columns;

	if (tui->lists[page].hidden & 1U << column)
		return false;
	return !columns[column].shown || columns[column].shown(tui);
}

/* Which columns are drawn: the first to leave go until the names have room. */
static void choose(const struct kp_tui *tui, size_t width, bool shown[COLUMNS_MOST])
{
	const struct kp_page *page = &kp_pages[tui->page];
	size_t taken = 1, least = width / 3 > LEAST_NAME ? width / 3 : LEAST_NAME;

	for (size_t i = 0; i < page->column_count; i++) {
		shown[i] = kp_table_shows(tui, tui->page, i);
		taken += shown[i] ? page->columns[i].width + 1 : 0;
	}
	for (unsigned order = 1; order <= LAST_LEAVER; order++) {
		for (size_t i = 0; i < page->column_count; i++) {
			if (taken + least <= width || !shown[i] || page->columns[i].leaves != order)
				continue;
			shown[i] = false;
			taken -= page->columns[i].width + 1;
		}
	}
}

/* On the narrowest screens a name and one figure are worth more than figures of what is not named.
 */
static void make_room(const struct kp_tui *tui, size_t width, bool shown[COLUMNS_MOST])
{
	const struct kp_page *page = &kp_pages[tui->page];
	size_t taken = 1, kept = 0;

	for (size_t i = 0; i < page->column_count; i++) {
		size_t columns = shown[i] ? page->columns[i].width + 1 : 0;
		if (columns && kept && taken + columns + NARROW_NAME > width)
			shown[i] = false;
		kept += shown[i];
		taken += shown[i] ? columns : 0;
	}
}

static void draw_titles(struct kp_tui *tui, struct kp_area area, const bool shown[COLUMNS_MOST])
{
	const struct kp_page *page = &kp_pages[tui->page];
	const struct kp_list *list = &tui->lists[tui->page];
	size_t at = area.column + 1;

	for (size_t i = 0; i < page->column_count; i++) {
		const struct kp_column *column = &page->columns[i];
		char title[32];
		if (!shown[i])
			continue;
		snprintf(title, sizeof title, "%s%s",
			 column->titled ? column->titled(tui) : column->title,
			 list->sort != i  ? ""
			 : list->inverted ? "\342\206\221"
					  : "\342\206\223");
		if (column->left)
			kp_canvas_put(&tui->canvas, area.row, at, column->width + 1, KP_ROLE_HEAD,
				      title);
		else
			kp_canvas_put_right(&tui->canvas, area.row, at, column->width, KP_ROLE_HEAD,
					    title);
		kp_tui_hit(tui, (struct kp_hit){.row = area.row,
						.column = at,
						.columns = column->width + 1,
						.kind = KP_HIT_COLUMN,
						.value = (uint32_t)i});
		at += column->width + 1;
	}
	if (at < area.columns)
		kp_canvas_put(&tui->canvas, area.row, at, area.columns - at, KP_ROLE_HEAD,
			      page->name_title);
}

static void draw_value(struct kp_tui *tui, size_t row, size_t at, const struct kp_column *column,
		       const struct kp_item *item)
{
	enum kp_role role = (enum kp_role)item->role;
	struct kp_value value = {.text = "", .role = KP_ROLE_PLAIN};

	if (column->bar) {
		kp_canvas_bar(&tui->canvas, row, at, column->width, column->number(tui, item) / 100,
			      role == KP_ROLE_HOT ? KP_ROLE_BAR_HOT : KP_ROLE_BAR);
		return;
	}
	column->text(tui, item, &value);
	if (value.role == KP_ROLE_PLAIN)
		value.role = role;
	if (column->left)
		kp_canvas_put(&tui->canvas, row, at, column->width, value.role, value.text);
	else
		kp_canvas_put_right(&tui->canvas, row, at, column->width, value.role, value.text);
}

static void draw_row(struct kp_tui *tui, size_t row, struct kp_area area,
		     const struct kp_item *item, const bool shown[COLUMNS_MOST])
{
	const struct kp_page *page = &kp_pages[tui->page];
	enum kp_role role = (enum kp_role)item->role;
	size_t at = area.column + 1;

	for (size_t i = 0; i < page->column_count; i++) {
		if (!shown[i])
			continue;
		draw_value(tui, row, at, &page->columns[i], item);
		at += page->columns[i].width + 1;
	}
	at += 2 * (size_t)item->depth;
	if (item->opens)
		kp_canvas_fill(&tui->canvas, row, at, 1, item->open ? UNFOLDED : FOLDED, role);
	at += item->opens || item->depth > 0 ? 2 : 0;
	if (at >= area.columns)
		return;
	const char *name = page->name(tui, item);
	if (tui->page == KP_PAGE_FINDINGS) /* sentences: their beginning says most */
		kp_canvas_put(&tui->canvas, row, at, area.columns - at, role, name);
	else
		kp_canvas_put_name(&tui->canvas, row, at, area.columns - at, role,
				   name[0] ? name : "(no name)");
}

void kp_table_scroll(struct kp_tui *tui, size_t rows)
{
	struct kp_list *list = &tui->lists[tui->page];

	if (list->selected >= tui->item_count)
		list->selected = tui->item_count ? tui->item_count - 1 : 0;
	if (list->selected < list->top)
		list->top = list->selected;
	if (rows > 0 && list->selected >= list->top + rows)
		list->top = list->selected - rows + 1;
	/* No room is wasted below the last row. */
	if (list->top + rows > tui->item_count)
		list->top = tui->item_count > rows ? tui->item_count - rows : 0;
}

static const char *why_empty(const struct kp_tui *tui)
{
	bool least = tui->page == KP_PAGE_OPERATORS && tui->least_pct > 0 && tui->rank.count > 0;

	if (tui->lists[tui->page].filter[0])
		return least ? "No row passes the filter and the least share; \\ and m change them."
			     : "No row passes the filter; \\ changes it.";
	if (least)
		return "All rows are below the least share; m changes it.";
	if (tui->report)
		return "There are no rows.";
	return tui->top ? kp_live_empty(tui) : "Reading ...";
}

void kp_table_draw(struct kp_tui *tui, struct kp_area area)
{
	struct kp_list *list = &tui->lists[tui->page];
	bool shown[COLUMNS_MOST] = {false};

	choose(tui, area.columns, shown);
	make_room(tui, area.columns, shown);
	draw_titles(tui, area, shown);
	area.row++;
	area.rows = area.rows ? area.rows - 1 : 0;
	tui->body = area;
	kp_table_scroll(tui, area.rows);
	for (size_t i = 0; i < area.rows && list->top + i < tui->item_count; i++) {
		size_t row = area.row + i;
		draw_row(tui, row, area, &tui->items[list->top + i], shown);
		if (list->top + i != list->selected)
			continue;
		kp_canvas_fill(&tui->canvas, row, area.column, 1, '>', KP_ROLE_SELECTED);
		kp_canvas_paint(&tui->canvas, row, area.column, area.columns, KP_ROLE_SELECTED);
	}
	if (tui->item_count == 0 && area.rows > 0)
		kp_canvas_put(&tui->canvas, area.row, area.column + 1, area.columns - 1,
			      KP_ROLE_DIM, why_empty(tui));
}

/* A row and what it is sorted by. */
struct keyed {
	struct kp_item item;
	double number;
	size_t place;
};

static int by_number(const void *a, const void *b, void *context)
{
	const struct keyed *left = a, *right = b;
	bool inverted = *(const bool *)context;
	bool left_known = !isnan(left->number), right_known = !isnan(right->number);

	if (left_known != right_known)
		return left_known ? -1 : 1;
	if (left_known && left->number != right->number)
		return (left->number > right->number) != inverted ? -1 : 1;
	if (!left_known || left->number == right->number)
		return left->place < right->place ? -1 : 1;
	return 0;
}

enum kp_status kp_table_sort(struct kp_tui *tui, size_t first, size_t count)
{
	const struct kp_page *page = &kp_pages[tui->page];
	struct kp_list *list = &tui->lists[tui->page];
	bool own = list->sort >= page->column_count; /* the order of the page */
	struct keyed *rows;

	if (count < 2 || (own && !list->inverted))
		return KP_OK;
	rows = calloc(count, sizeof *rows);
	if (!rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		rows[i].item = tui->items[first + i];
		rows[i].place = i;
		rows[i].number =
			own ? -(double)i : page->columns[list->sort].number(tui, &rows[i].item);
	}
	qsort_r(rows, count, sizeof *rows, by_number, &list->inverted);
	for (size_t i = 0; i < count; i++)
		tui->items[first + i] = rows[i].item;
	free(rows);
	return KP_OK;
}

enum kp_status kp_table_fill(struct kp_tui *tui, size_t count, uint8_t kind)
{
	const struct kp_page *page = &kp_pages[tui->page];
	const struct kp_list *list = &tui->lists[tui->page];
	size_t first = tui->item_count;
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < count && status == KP_OK; i++) {
		struct kp_item item = {.index = i, .kind = kind};
		if (!list->filter[0] || kp_tui_holds(page->name(tui, &item), list->filter))
			status = kp_tui_add(tui, item);
	}
	return status == KP_OK ? kp_table_sort(tui, first, tui->item_count - first) : status;
}
