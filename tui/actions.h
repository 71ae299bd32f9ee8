/* What keys do: one function each, named in keys.def. */
#ifndef KP_TUI_ACTIONS_H
#define KP_TUI_ACTIONS_H

#include <stddef.h>
#include <stdint.h>

struct kp_tui;

#define KP_ACTIONS(X)                                                                              \
	X(up)                                                                                      \
	X(down)                                                                                    \
	X(page_up)                                                                                 \
	X(page_down)                                                                               \
	X(home)                                                                                    \
	X(end)                                                                                     \
	X(enter)                                                                                   \
	X(back)                                                                                    \
	X(next_page)                                                                               \
	X(previous_page)                                                                           \
	X(number)                                                                                  \
	X(search)                                                                                  \
	X(search_next)                                                                             \
	X(search_previous)                                                                         \
	X(filter)                                                                                  \
	X(sort)                                                                                    \
	X(sort_next)                                                                               \
	X(sort_previous)                                                                           \
	X(invert)                                                                                  \
	X(columns)                                                                                 \
	X(expand)                                                                                  \
	X(collapse)                                                                                \
	X(expand_all)                                                                              \
	X(collapse_all)                                                                            \
	X(gauge)                                                                                   \
	X(least)                                                                                   \
	X(pan_left)                                                                                \
	X(pan_right)                                                                               \
	X(window_left)                                                                             \
	X(window_right)                                                                            \
	X(zoom_in)                                                                                 \
	X(zoom_out)                                                                                \
	X(whole)                                                                                   \
	X(next_gap)                                                                                \
	X(info)                                                                                    \
	X(write)                                                                                   \
	X(help)                                                                                    \
	X(close)                                                                                   \
	X(quit)                                                                                    \
	X(redraw)                                                                                  \
	X(pause)                                                                                   \
	X(reset)                                                                                   \
	X(span)                                                                                    \
	X(record)                                                                                  \
	X(switch_rule)

#define KP_ACTION_DECLARE(name) void kp_do_##name(struct kp_tui *tui, uint32_t code);
KP_ACTIONS(KP_ACTION_DECLARE)
#undef KP_ACTION_DECLARE

/* Sorts by a column; where it does so already, the other way round. */
void kp_do_sort_by(struct kp_tui *tui, size_t column);

#endif
