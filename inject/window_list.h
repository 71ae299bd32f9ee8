/*
 * Windows that have ended and wait to be written: threads of the program put them, the worker
 * takes them. One lock, held across nothing but the list.
 */
#ifndef KP_INJECT_WINDOW_LIST_H
#define KP_INJECT_WINDOW_LIST_H

#include <stdbool.h>

#include "trace/writer.h"

/* Any thread. Without room the window is joined to the one before it. */
void kp_window_list_put(const struct kp_window_info *window);
/* What the last window cost to switch off in all, and whether CUPTI was detached after it. */
void kp_window_list_complete(uint64_t detach_cost_ns, bool detached);
/* Writes them; the last one stays if `keep_last`. Worker only. */
void kp_window_list_write(struct kp_writer *writer, bool keep_last);
/* Whether none waits. */
bool kp_window_list_is_empty(void);
/* In a forked child: there are none. */
void kp_window_list_forget(void);

#endif
