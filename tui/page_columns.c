/* Choosing columns: those that are shown, or the one to sort by; see pages.h. */
#include "tui/state.h"
#include "tui/table.h"

enum kp_status kp_page_columns_fill(struct kp_tui *tui)
{
	const struct kp_page *page = &kp_pages[tui->columns_of];
	enum kp_status status = KP_OK;

	tui->item_count = 0;
	for (size_t i = 0; i < page->column_count && status == KP_OK; i++) {
		const struct kp_column *column = &page->columns[i];
		if (column->shown && !column->shown(tui))
			continue;
		if (tui->columns_sort ? column->number && !column->bar : column->title[0] != '\0')
			status = kp_tui_add(tui, (struct kp_item){.index = i});
	}
	return status;
}

const char *kp_page_columns_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return kp_pages[tui->columns_of].columns[item->index].title;
}

void kp_page_columns_draw(struct kp_tui *tui, struct kp_area area)
{
	const struct kp_page *page = &kp_pages[tui->columns_of];
	const struct kp_list *chosen = &tui->lists[tui->columns_of];
	const struct kp_list *list = kp_tui_list(tui);

	kp_canvas_put(&tui->canvas, area.row, 1, area.columns - 1, KP_ROLE_HEAD,
		      tui->columns_sort ? "Sort by (Enter chooses, Esc leaves it)"
					: "Columns (Enter shows or hides, Esc goes back)");
	area.row++;
	area.rows--;
	tui->body = area;
	kp_table_scroll(tui, area.rows);
	for (size_t i = 0; i < area.rows && list->top + i < tui->item_count; i++) {
		size_t number = tui->items[list->top + i].index, row = area.row + i;
		const struct kp_column *column = &page->columns[number];
		bool on = tui->columns_sort ? chosen->sort == number
					    : !(chosen->hidden & 1U << number);
		char text[128];
		snprintf(text, sizeof text, " [%c] %-8s %s", on ? 'x' : ' ', column->title,
			 column->about);
		kp_canvas_put(&tui->canvas, row, 0, area.columns, KP_ROLE_PLAIN, text);
		if (list->top + i != list->selected)
			continue;
		kp_canvas_fill(&tui->canvas, row, 0, 1, '>', KP_ROLE_SELECTED);
		kp_canvas_paint(&tui->canvas, row, 0, area.columns, KP_ROLE_SELECTED);
	}
}

void kp_page_columns_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);
	struct kp_list *chosen = &tui->lists[tui->columns_of];

	if (!item)
		return;
	if (!tui->columns_sort) {
		chosen->hidden ^= 1U << item->index;
		return;
	}
	chosen->sort = item->index;
	chosen->inverted = false;
	kp_tui_back(tui);
}
