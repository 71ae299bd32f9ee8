/*
 * What the program has told cuDNN's backend: its descriptors, from their creation to their end.
 *
 * Frameworks describe a graph once, build a plan and execute that for hours, perhaps on another
 * thread, long after its tensors and operations have gone. So each descriptor is kept here while it
 * lives, with a copy of what it refers to; engines, their configurations and plans inherit the call
 * of their graph. What is not known is passed over: a plan that was read from a file, or one whose
 * shapes are given at execution, has no call.
 *
 * One lock, held for a look-up; it is never held while cuDNN is called.
 */
#ifndef KP_INJECT_DNN_DESCRIPTORS_H
#define KP_INJECT_DNN_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/library_call.h"

/* So many descriptors, and bytes of what they say, are kept; and so many different calls. */
#define KP_DNN_DESCRIPTORS_MOST (1U << 17)
#define KP_DNN_BYTES_MOST (64U << 20)
#define KP_DNN_CALLS_MOST 8192U

void kp_dnn_created(void *descriptor, int type);
void kp_dnn_destroyed(void *descriptor);
/* An attribute was set, or asked for: `count` elements of a cudnnBackendAttributeType_t. */
void kp_dnn_set(void *descriptor, int name, int type, int64_t count, const void *elements);
void kp_dnn_got(void *descriptor, int name, int type, int64_t count, const void *elements);
/* The call of a plan, but for its entry. False: it is not known. */
bool kp_dnn_call(void *plan, void *variant, struct kp_library_call *call);
/* In a forked child: nothing is known. */
void kp_dnn_forget(void);

#endif
