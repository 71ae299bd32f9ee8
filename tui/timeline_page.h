/* The timeline among the pages; see pages.h. */
#ifndef KP_TUI_TIMELINE_PAGE_H
#define KP_TUI_TIMELINE_PAGE_H

#include "tui/pages.h"
#include "tui/tracks.h"

enum kp_status kp_page_timeline_fill(struct kp_tui *tui);
/* Shows other tracks, which it frees later. */
void kp_page_timeline_take(struct kp_tui *tui, struct kp_tracks *tracks);
void kp_page_timeline_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_timeline_enter(struct kp_tui *tui);
const char *kp_page_timeline_name(const struct kp_tui *tui, const struct kp_item *item);

#endif
