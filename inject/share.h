/*
 * CUPTI's activity API for two: kprof, and a profiler that the program itself uses (PyTorch's
 * Kineto, Proton, XLA's).
 *
 * One CUPTI knows one pair of buffer callbacks and one set of enabled kinds for a process. From
 * kp_share_begin on they are kprof's, and the other client's calls, which arrive by the hooks of
 * cupti_hooks.c, are answered from here: its callbacks, kinds, clock and attributes are remembered,
 * and it gets copies of the records that it enabled in buffers that it gives. As with CUPTI itself,
 * a second client beside kprof that registers takes the first one's place. Before kp_share_begin
 * the client's calls go to CUPTI and are noted, so that one that came first is taken over.
 *
 * Threading: any. No lock is held while CUPTI, or a callback or clock of the client's, is called. A
 * forked child's calls go to CUPTI: nothing here is touched there.
 */
#ifndef KP_INJECT_SHARE_H
#define KP_INJECT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti.h"
#include "inject/state.h"

/* ---- for the collector ---- */

/* Whether the subscriber that CUPTI has is one whose calls are seen here. */
bool kp_share_knows_subscriber(void);
/*
 * From now on the client's calls are answered here; a client that had registered gives its buffers
 * back first. `kinds`: those that kprof needs; all stay borrowed. `own_clock`: CUPTI goes by
 * kprof's clock. kp_share_abandon if kprof cannot start after all.
 */
void kp_share_begin(struct kp_inject *inject, const struct kp_cupti *cupti,
		    const CUpti_ActivityKind *kinds, size_t kind_count, bool own_clock);
/* kprof could not start: the client gets back at CUPTI what it had there. */
void kp_share_abandon(void);
/* CUPTI's callback for a filled buffer: copies what is the client's and goes on to the pool. */
void CUPTIAPI kp_share_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid_bytes);
/* cuptiActivityFlushAll for kprof; a flush of the client's waits for the deliveries of this one. */
CUptiResult kp_share_flush(const struct kp_cupti *cupti, uint32_t flag);
/* `dropped` was read from CUPTI, whose count starts anew: all that is new to kprof. */
size_t kp_share_dropped(size_t dropped);
/* Whether records of a kind that kprof does not read are expected: the client enabled them. */
bool kp_share_claims(CUpti_ActivityKind kind);
/* On the worker, now and then: reads the clocks, and asks for a buffer that is due. */
void kp_share_serve(void);
/* Whether there is a worker that serves, or is about to. */
void kp_share_worker(bool there);
/* Whether the client has records of some kind on: then kprof's must stay on, for they are its too.
 */
bool kp_share_client_active(void);
/* Whether the client has, and CUPTI is its alone: to take over in the middle could cost it records.
 */
bool kp_share_client_alone(void);
/* Whether there is another client, with or without records on: CUPTI must stay for it. */
bool kp_share_has_client(void);
/* `changed` is called when the client has switched records on or off, in its thread. */
void kp_share_watch(void (*changed)(void));
/* Waits a moment until the worker has asked the client for its first buffer, if one is due. */
void kp_share_prepare(void);

/* ---- for the hooks: CUPTI's functions, the client calling ---- */

/* Whether calls are answered here: kprof collects, and this is not a forked child. */
bool kp_share_on(void);

/* Calls that went to CUPTI and succeeded. */
void kp_share_saw_subscriber(CUpti_SubscriberHandle subscriber); /* NULL: unsubscribed */
void kp_share_saw_callbacks(CUpti_BuffersCallbackRequestFunc request,
			    CUpti_BuffersCallbackCompleteFunc complete);
void kp_share_saw_clock(CUpti_TimestampCallbackFunc clock);
void kp_share_saw_kind(CUpti_ActivityKind kind, bool enabled);
void kp_share_saw_finalize(void);

/* Calls that are answered here. `enable`, `disable`: how CUPTI is asked for a kind that only the
 * client wants; `context` NULL: in all contexts. */
CUptiResult kp_share_register(CUpti_BuffersCallbackRequestFunc request,
			      CUpti_BuffersCallbackCompleteFunc complete);
CUptiResult kp_share_register_clock(CUpti_TimestampCallbackFunc clock);
CUptiResult kp_share_enable(CUpti_ActivityKind kind,
			    CUptiResult (*enable)(void *, CUpti_ActivityKind), void *context);
CUptiResult kp_share_disable(CUpti_ActivityKind kind,
			     CUptiResult (*disable)(void *, CUpti_ActivityKind), void *context);
CUptiResult kp_share_client_flush(uint32_t flag);
CUptiResult kp_share_client_dropped(CUcontext context, uint32_t stream, size_t *dropped);
CUptiResult kp_share_finalize(void);

/* In a forked child: no other client is known, and no lock is held. */
void kp_share_forget(void);

#endif
