/*
 * The conditions under which the user wants records: time (--delay, --duration), an NVTX range,
 * cuProfilerStart and -Stop; «kprof ctl start» and «stop» overrule them. And for how long they
 * held.
 *
 * Any thread; events may come before kp_window_gates_start. What they come to is windows.c's.
 */
#ifndef KP_INJECT_WINDOW_GATES_H
#define KP_INJECT_WINDOW_GATES_H

#include <stdbool.h>
#include <stdint.h>

enum kp_window_manual { KP_WINDOW_BY_GATES, KP_WINDOW_ALWAYS, KP_WINDOW_NEVER };

void kp_window_gates_start(uint64_t now_ns);
/* Whether they hold now; accounts for the time until then. */
bool kp_window_gates_hold(uint64_t now_ns);
/* Whether they held when that was last asked. */
bool kp_window_gates_held(void);
/* For how long they have held so far. */
uint64_t kp_window_gates_held_ns(uint64_t now_ns);
/* Whether they would hold from the start on. */
bool kp_window_gates_hold_at_start(void);
/* Whether any were asked for at all. */
bool kp_window_gates_asked(void);

/* A range of the name that was asked for begins or ends. True: that has changed something. */
bool kp_window_gates_range_begin(bool *counted);
bool kp_window_gates_range_end(bool counted);
void kp_window_gates_capture(bool on);
void kp_window_gates_control(enum kp_window_manual manual);

/* When the delay ends; 0: there is none. */
uint64_t kp_window_gates_begin_ns(void);
/* When the duration ends; 0: there is none, or it has not begun. */
uint64_t kp_window_gates_until_ns(void);
/* The duration has ended. False: that is known. */
bool kp_window_gates_expire(void);

/* In a forked child: nothing has happened. */
void kp_window_gates_forget(void);

#endif
