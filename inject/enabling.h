/*
 * The CUPTI of this process: which library it is, and its records going on and off.
 *
 * kp_enabling_find runs once, when the collector starts. Switching may be done by any thread, but
 * one at a time: inject/windows.c sees to that.
 */
#ifndef KP_INJECT_ENABLING_H
#define KP_INJECT_ENABLING_H

#include <stdbool.h>

#include "inject/cupti.h"
#include "inject/detach.h"
#include "inject/state.h"

/* What came of switching records on. */
enum kp_switched {
	KP_SWITCHED,
	KP_SWITCH_BUSY,   /* another client uses CUPTI: later, perhaps */
	KP_SWITCH_REFUSED /* the reason is in the live slot */
};

/*
 * Binds the first CUPTI that works and switches records on, if they are to be on from the start.
 * NULL where there is none; the reason is in the live slot. *attached: whether CUPTI was enabled.
 */
const struct kp_cupti *kp_enabling_find(struct kp_inject *inject, bool *attached);
/* `events`: kprof stays a subscriber meanwhile, so that CUPTI can be detached; NULL: it does not.
 */
enum kp_switched kp_enabling_on(const struct kp_detach_events *events);
void kp_enabling_off(void);
/* The collector could not start after all: everything is off, and CUPTI the client's again. */
void kp_enabling_abandon(void);

#endif
