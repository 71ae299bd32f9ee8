/*
 * The activity buffers of the fake libcupti: asked from the client, filled, checked, given back.
 *
 * A buffer belongs to CUPTI from the client's request callback to the call of its completion
 * callback. Meanwhile a shadow copy is kept; bytes that changed behind CUPTI's back are counted in
 * the ledger as a violation, as is a buffer that is too small, misaligned or already held.
 *
 * Threading: any. Client callbacks run without the lock, on the thread that needs a buffer,
 * flushes, or is CUPTI's worker.
 */
#ifndef KP_FAKE_GPU_BUFFERS_H
#define KP_FAKE_GPU_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti_activity.h>

#include "tests/fake_gpu/common/link.h"

/* When a record becomes complete, and with which times. */
struct kp_fake_stamp {
	uint64_t start_ns, end_ns;  /* what the record will say */
	uint64_t begun_ns, done_ns; /* on the GPU's clock: begun, complete */
};

enum kp_fake_which {
	KP_FAKE_FULL,     /* full buffers whose records are all complete */
	KP_FAKE_COMPLETE, /* buffers whose records are all complete */
	KP_FAKE_ALL       /* every buffer; incomplete records stay so for good */
};

void kp_fake_buffers_register(CUpti_BuffersCallbackRequestFunc request,
			      CUpti_BuffersCallbackCompleteFunc complete);
bool kp_fake_buffers_registered(void);
/* Whether the client promises zeroed buffers: then that is checked. */
void kp_fake_buffers_expect_zero(bool zeroed);
/* Appends a record; one that finds no buffer is dropped and counted. stamp NULL: it has no times,
 * or has them already. */
void kp_fake_buffers_append(CUpti_ActivityKind kind, const struct kp_fake_op *op,
			    const struct kp_fake_stamp *stamp);
/* Returns buffers to the client. When it returns, deliveries by other threads have ended, too. */
void kp_fake_buffers_deliver(enum kp_fake_which which);
/* Sleeps for `period_ms` or until a buffer has become full. */
void kp_fake_buffers_wait(uint32_t period_ms);
/* Counts a dropped record. */
void kp_fake_buffers_drop(void);
/* How many records have been dropped since the last call. */
size_t kp_fake_buffers_take_dropped(void);
/* In a forked child that may begin anew: there are none. */
void kp_fake_buffers_forget(void);

#endif
