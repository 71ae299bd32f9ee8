/*
 * Detaching CUPTI from the process between windows, which alone brings launches back to bare speed.
 *
 * cuptiFinalize is safe at the exit of a driver call that CUPTI reports to its subscriber. So
 * kprof, which usually is no subscriber (that place is the program's, for its own profiler),
 * subscribes when a window has ended and nothing is outstanding, waits for the next driver call of
 * a few frequent kinds, and finalizes there, in the thread that made the call. Finalizing ends the
 * subscription as well. CUPTI is process-wide: where another client is subscribed, kprof cannot
 * subscribe, and does not detach.
 *
 * A graph that was instantiated while CUPTI was attached goes on writing into CUPTI's memory: on an
 * H200 (driver 580.159.04, CUPTI 13.0) programs that launched one after a cuptiFinalize ended with
 * an unspecified launch failure or a segmentation fault. So a program that has made a graph is
 * never detached from, and detaching happens only where it was asked for (--detach).
 *
 * One request at a time. The worker asks; the callback runs in any thread.
 */
#ifndef KP_INJECT_DETACH_H
#define KP_INJECT_DETACH_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti.h"

/*
 * API version of CUDA 12.6 (cupti_version.h): older ones have crashed when they were used again
 * around graphs after a cuptiFinalize.
 */
#define KP_DETACH_OLDEST 24

/* Why it cannot be done in this process at all; NULL: it can. */
const char *kp_detach_obstacle(const struct kp_cupti *cupti);
/* Asks for it. CUPTI_SUCCESS: it is pending, and no CUPTI function may be called until it ends. */
CUptiResult kp_detach_request(const struct kp_cupti *cupti);
/*
 * Whether it is over; then what it took, and whether CUPTI is detached or has refused. It is closed
 * with that.
 */
bool kp_detach_done(uint64_t *cost_ns, bool *detached);
/*
 * Takes the request back, or waits for it where it is under way. True: CUPTI is detached, and what
 * that took. Does nothing where there is no request.
 */
bool kp_detach_cancel(uint64_t *cost_ns);
/* In a forked child: nothing was asked. */
void kp_detach_forget(void);

#endif
