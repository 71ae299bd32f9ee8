/*
 * Detaching CUPTI from the process, which alone brings launches back to bare speed.
 *
 * It is one step, in a thread of the program, at the exit of a driver call that CUPTI reports
 * (doors.h): all kinds off, a forced flush, cuptiFinalize. What matters is that no thread launches
 * a CUDA graph between the first and the last: a graph that was launched in between goes on writing
 * where CUPTI's memory was, and the program fails after the next attach (seen on an H200, driver
 * 580.159.04, CUPTI 13.0, whatever the door; without such a launch windows of busy programs ended
 * well, with graphs of every age). So launches of graphs, and calls that make or change them, pass
 * gates (hooks_gates.h) that the step closes; a thread that stays inside for long makes the step be
 * put off. Launches of kernels go on; with records off the step waits for those that had begun
 * before, so that none makes its record when CUPTI has gone. Kernel names that records point to go
 * as well: kept_names.h. Where the program's graph launches pass the hooks by, nothing is detached.
 *
 * CUPTI is process-wide: where another client uses it, kprof does not detach, and one that
 * subscribes gets kprof's place at once. Finalizing ends the subscription and all that was set.
 *
 * The worker watches and asks; the step runs in any thread. States change by compare and exchange,
 * so that one thread at a time is in CUPTI for this; no lock is held.
 */
#ifndef KP_INJECT_DETACH_H
#define KP_INJECT_DETACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti.h"

/*
 * API version of CUDA 12.6 (cupti_version.h): older ones have crashed when they were used again
 * around graphs after a cuptiFinalize.
 */
#define KP_DETACH_OLDEST 24

/* What becomes of it, in the program's threads. errno is kept around them. */
struct kp_detach_events {
	void (*synchronised)(void); /* while watching: a call that waits for the GPU has returned */
	void (*begins)(void);       /* the step: records are about to go off */
	void (*ended)(void);        /* it is over, whatever has come of it */
};

enum kp_detach_progress {
	KP_DETACH_NONE, /* kprof is no subscriber: it never was, or has given its place away */
	KP_DETACH_WATCHING,
	KP_DETACH_PENDING, /* asked for, or under way: nobody may call CUPTI */
	KP_DETACH_DONE,    /* CUPTI is detached */
	KP_DETACH_REFUSED  /* by CUPTI; records are off */
};

/* Why it cannot be done in this process, now or at all; NULL: it can. */
const char *kp_detach_obstacle(const struct kp_cupti *cupti);
/* Subscribes. `events` is borrowed for good. */
CUptiResult kp_detach_watch(const struct kp_cupti *cupti, const struct kp_detach_events *events);
/* Asks for the step at the next synchronising call. False: not watching (any more). Worker only. */
bool kp_detach_request(void);
/*
 * From now on at any call: at those whose doors stand open, and, once it is called again, at all.
 * False: they do not stand open yet.
 */
bool kp_detach_hurry(void);
/* Whether CUPTI may be called: no step runs, nor begins before kp_detach_unpause. Worker only. */
bool kp_detach_pause(void);
void kp_detach_unpause(void);
/* Takes the request back and goes on watching. False: it is too late, or nothing was asked. */
bool kp_detach_cancel(void);
enum kp_detach_progress kp_detach_progress(void);
/* After DONE or REFUSED: takes note of it, and how long it held the program up. */
uint64_t kp_detach_conclude(void);
/* Unsubscribes, where it is watching. */
void kp_detach_release(void);
/* Records are off and CUPTI stays: graphs that are launched now forbid detaching later. */
void kp_detach_leave_attached(void);
/* Records that CUPTI said it dropped, when it was detached; SIZE_MAX: it could not say. */
size_t kp_detach_take_dropped(void);

/* Waits while another thread detaches, for a bounded time: before calls of the program to CUPTI. */
void kp_detach_wait(void);
/* Another client is about to subscribe: the place is the program's. */
void kp_detach_yield(void);
/* In a forked child: nothing was asked. */
void kp_detach_forget(void);

#endif
