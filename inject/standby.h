/*
 * Standby: records are taken for whoever watches, and none is kept until «kprof ctl start», or
 * kprof top, asks for it (KPROF_STANDBY=1). It is a window that begins and ends without switching
 * anything; once nobody watches any more, records go off for good like after «kprof ctl stop».
 *
 * The worker's alone, but for kp_standby_start, which comes before it.
 */
#ifndef KP_INJECT_STANDBY_H
#define KP_INJECT_STANDBY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the launcher asked for it. Any thread. */
bool kp_standby_asked(void);
/* Begins, for kp_windows_start: records are on. */
void kp_standby_start(void);
bool kp_standby_is_on(void);
/* Keeps records from now on, or does no more. */
void kp_standby_keep(bool keep);
/* Whether what was from start_ns to end_ns (0: it goes on) goes into the trace: always, without
 * standby; what has no valid times, if it comes while anything does. */
bool kp_standby_keeps(uint64_t start_ns, uint64_t end_ns);
/* Whether anything does now. */
bool kp_standby_is_keeping(void);
/* Nobody watches any more; false: it was not on, or keeps on recording. Else the caller switches
 * records off. */
bool kp_standby_leave(void);
/* In a forked child. */
void kp_standby_forget(void);

#endif
