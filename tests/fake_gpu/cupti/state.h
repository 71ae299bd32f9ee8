/*
 * What the parts of the fake libcupti share: the way to the fake driver, and errors.
 *
 * Threading: any.
 */
#ifndef KP_FAKE_GPU_STATE_H
#define KP_FAKE_GPU_STATE_H

#include <stdbool.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include "tests/fake_gpu/common/link.h"

#define KP_FAKE_EXPORT __attribute__((visibility("default")))

/* The fake driver of this process. A process without it ends with a message. */
const struct kp_fake_gpu *kp_fake_gpu(void);
/* Starts listening to the driver (once); from now on a forked child is told apart. */
void kp_fake_attach(void);
/*
 * What every function of the API asks first: false in a process that was forked after CUPTI had
 * been used, where the call is counted as an offence.
 */
bool kp_fake_cupti_usable(void);
/* Remembers an error for cuptiGetLastError; returns it. */
CUptiResult kp_fake_cupti_result(CUptiResult result);

/* Counts a call of a client that has detached CUPTI. */
void kp_fake_note_detached(void);
/* The callback API's part of cuptiFinalize: nobody is subscribed any more. */
void kp_fake_unsubscribe_all(void);
/* Whether this thread is in a subscriber's callback at the exit of a driver call. */
bool kp_fake_callback_at_exit(void);
/* Tells the subscriber of a driver call or a resource, where it wants to know. */
void kp_fake_callback_call(struct kp_fake_call *call, bool exit);
void kp_fake_callback_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);
/* One call, for its record: times on the client's clock. */
struct kp_fake_api_call {
	uint32_t cbid, correlation, result;
	uint64_t start_ns, end_ns;
};
/* The client's clock; 0 where calls are not recorded. */
uint64_t kp_fake_activity_now(void);
/* The client's clock, CLOCK_REALTIME where it gave none. */
uint64_t kp_fake_client_now(void);
/* Records a call that has ended, and the external id of its thread, where that is enabled. */
void kp_fake_activity_call(const struct kp_fake_api_call *call);
/* This thread's innermost external id; false: none. */
bool kp_fake_external_top(uint32_t *kind, uint64_t *id);
/* Records an operation, where its kind is enabled. */
void kp_fake_activity_op(const struct kp_fake_op *op);
/* In a forked child that may begin anew: nothing is enabled. */
void kp_fake_activity_forget(void);

#endif
