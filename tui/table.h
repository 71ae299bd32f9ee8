/* Tables: columns that leave where there is no room, rows that scroll, sorting. */
#ifndef KP_TUI_TABLE_H
#define KP_TUI_TABLE_H

#include "tui/state.h"

/* Draws the rows of the page with its columns and titles. */
void kp_table_draw(struct kp_tui *tui, struct kp_area area);
/* Scrolls so that the selected row is within so many. */
void kp_table_scroll(struct kp_tui *tui, size_t rows);
/* Sorts rows [first, first + count) by the column that was chosen; stable. Errors: KP_NO_MEMORY. */
enum kp_status kp_table_sort(struct kp_tui *tui, size_t first, size_t count);
/* Rows 0 … count - 1 that the filter lets through, sorted. Errors: KP_NO_MEMORY. */
enum kp_status kp_table_fill(struct kp_tui *tui, size_t count, uint8_t kind);
/* Whether a column is there, and is not switched off. */
bool kp_table_shows(const struct kp_tui *tui, enum kp_page_id page, size_t column);

#endif
