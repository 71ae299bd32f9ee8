/*
 * Doors: driver calls at whose exit CUPTI calls kprof back, in the thread that made the call.
 *
 * Those that wait for the GPU (synchronising) stand open as long as kprof is subscribed: they are
 * rare, and what was launched before them has run. So do launches of graphs, each of which is one
 * call for many kernels. The others are calls that programs make all the time; a callback at each
 * costs about as much as its record, so they stand open only while kprof waits for any call at all.
 *
 * CUPTI has one place for a subscriber. One thread at a time calls these functions; detach.c sees
 * to that.
 */
#ifndef KP_INJECT_DOORS_H
#define KP_INJECT_DOORS_H

#include <stdbool.h>

#include "inject/cupti.h"

/* Subscribes. `passed` is called at the exit of calls; errno is kept around it. */
CUptiResult kp_doors_open(const struct kp_cupti *cupti, void (*passed)(bool synchronising));
/* Whether the common doors are open, too. */
void kp_doors_widen(const struct kp_cupti *cupti, bool common);
/* Unsubscribes. cuptiFinalize has the same effect. */
void kp_doors_close(const struct kp_cupti *cupti);

#endif
