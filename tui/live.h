/* «kprof top» on the explorer's screen: what differs from a trace. Private to tui/. */
#ifndef KP_TUI_LIVE_H
#define KP_TUI_LIVE_H

#include "profiler/humanise.h"
#include "tui/live_pages.h"
#include "tui/state.h"

/* ---- state.c ---- */

/* Selects the row of that name again, after the rows have changed. */
void kp_tui_select_again(struct kp_tui *tui, const char *name);
/* Whether a view is a tab here. */
bool kp_tui_has_tab(const struct kp_tui *tui, enum kp_page_id page);

/* ---- live.c ---- */

/* Begins and ends; errors: KP_NO_MEMORY. */
enum kp_status kp_live_init(struct kp_tui *tui);
void kp_live_fini(struct kp_tui *tui);
/* Takes in what is new, unless it is paused. True: the screen may have changed. */
bool kp_live_work(struct kp_tui *tui);
/* The title's words, and those to the right. */
void kp_live_describe(const struct kp_tui *tui, char *out, size_t size);
void kp_live_describe_right(const struct kp_tui *tui, char *out, size_t size);
/* Draws what stands above the rows; returns what is left for them. */
struct kp_area kp_live_draw_head(struct kp_tui *tui, struct kp_area area);
/* `count` numbers as so many columns of a sparkline, up to `most`; returns the bytes of UTF-8. */
size_t kp_live_sparkline(const double *numbers, size_t count, size_t columns, double most,
			 char *out, size_t size);
/* Why a table has no rows. */
const char *kp_live_empty(const struct kp_tui *tui);
/* A number a second, in few characters. */
struct kp_human kp_live_rate(double per_s);
/*
 * Waits until there is something new, or nothing more to come: other figures, or, once a kernel has
 * run, a second more that they are of.
 */
void kp_live_wait(struct kp_tui *tui);
/* Prints `frames` screens, a second apart; 0: one, when the program has ended. */
enum kp_status kp_live_frames(struct kp_tui *tui, size_t frames);

#endif
