/*
 * From CUPTI's buffers into the other client's: which records are the client's, and under what kind
 * and times it knows them.
 *
 * Threading: any; deliveries run beside each other, on the threads on which CUPTI gives buffers
 * back.
 */
#ifndef KP_INJECT_SHARE_DELIVER_H
#define KP_INJECT_SHARE_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti.h"

#define KP_SHARED_KINDS 8 /* kinds that kprof needs: at most so many */

/* Before all others. `kinds`: those that kprof needs; both stay borrowed. */
void kp_deliver_begin(const struct kp_cupti *cupti, const CUpti_ActivityKind *kinds,
		      size_t kind_count);
/* Whether kprof has this kind on itself: then windows say what of it is the client's. */
bool kp_deliver_shares(CUpti_ActivityKind kind);
/* The client has switched such a kind on, or off. */
void kp_deliver_open(CUpti_ActivityKind kind);
void kp_deliver_close(CUpti_ActivityKind kind);
/* No window was ever open. */
void kp_deliver_forget(void);
/* Calls of this thread are kprof's, not the program's. */
void kp_deliver_not_mine(void);

/* Copies what is the client's; returns how many records had to be dropped. */
size_t kp_deliver(uint8_t *bytes, size_t valid_bytes);

/* Brackets what may deliver, and waits until no thread is inside: at most so long. */
void kp_deliver_enter(void);
void kp_deliver_leave(void);
void kp_deliver_wait(unsigned limit_s);

/* In a forked child; see kp_share_forget. */
void kp_deliver_after_fork(void);

#endif
