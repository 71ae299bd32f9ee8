/*
 * The windows of the process: the one that is open, and those that have ended and wait to be
 * written. Threads of the program open, end and put them; the worker takes them. One lock, held
 * across nothing but this.
 */
#ifndef KP_INJECT_WINDOW_LIST_H
#define KP_INJECT_WINDOW_LIST_H

#include <stdbool.h>

#include "trace/writer.h"

/* A moment of the program: how many kernels it had issued. */
struct kp_window_moment {
	uint64_t time_ns, issued;
	enum kp_window_reason reason;
};

/* A window begins. */
void kp_window_list_open(const struct kp_window_moment *begin, uint64_t on_cost_ns);
/* It ends, if one is open. What is issued in it is known only if `issued_known`. */
void kp_window_list_end(const struct kp_window_moment *end, bool issued_known);
/* The one that has ended is complete. off_cost_ns 0: records stay on behind it. */
void kp_window_list_put(uint64_t off_cost_ns, bool detached);
/* Whether one is open that has not ended. */
bool kp_window_list_is_open(void);
/* How many there were, an open one included, and how long they were so far. */
uint64_t kp_window_list_number(void);
uint64_t kp_window_list_inside_ns(uint64_t now_ns);
/* Writes those that are complete, and then once, with `open`, the one that is not. Worker only. */
void kp_window_list_write(struct kp_writer *writer, bool open);
/* In a forked child: there are none. */
void kp_window_list_forget(void);

#endif
