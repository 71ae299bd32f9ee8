/* The views of a report of kprof ab: its rules, and one of them in full. */
#ifndef KP_TUI_AB_PAGES_H
#define KP_TUI_AB_PAGES_H

#include "tui/pages.h"

#define KP_AB_COLUMNS 9

enum kp_status kp_page_ab_fill(struct kp_tui *tui);
void kp_page_ab_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_ab_enter(struct kp_tui *tui);
const char *kp_page_ab_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_ab_columns[KP_AB_COLUMNS];

enum kp_status kp_page_ab_rule_fill(struct kp_tui *tui);

#endif
