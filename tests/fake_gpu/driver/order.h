/*
 * The memory model of the fake driver: which operation is ordered behind which, as CUDA orders
 * them, whatever order they happen to run in here.
 *
 * Every stream and the host has a clock; an operation knows of all that was before it in its
 * stream, of what its stream has waited for, of what the host had synchronised with when it was
 * enqueued, and, on the default stream and on those that are ordered with it, of the others. A read
 * of memory that is not ordered behind its last write, a write that is not behind all reads and
 * writes, and any use of memory that was given back are counted. The host is one, whichever of its
 * threads it is. Only memory that the program names is looked at. Threading: any.
 */
#ifndef KP_FAKE_GPU_ORDER_H
#define KP_FAKE_GPU_ORDER_H

#include "tests/fake_gpu/driver/gpu.h"

/* From now on; what was before is forgotten. */
KP_FAKE_EXPORT void kp_fake_order_start(void);
/* An allocation is looked at. */
KP_FAKE_EXPORT void kp_fake_order_watch(const void *at, size_t bytes);
/* How many accesses were not ordered. */
KP_FAKE_EXPORT unsigned kp_fake_order_violations(void);
/* The host itself reads or writes memory. */
KP_FAKE_EXPORT void kp_fake_order_host(const void *at, bool writes);

/* An operation begins on a stream; what it does to memory. */
void kp_fake_order_op(struct CUstream_st *stream);
void kp_fake_order_access(const struct CUstream_st *stream, const void *at, bool writes);
/* All that a kernel does, as its row says. */
void kp_fake_order_kernel(struct CUstream_st *stream, const struct kp_fake_kernel *kernel,
			  void **arguments);
void kp_fake_order_record(struct CUevent_st *event, struct CUstream_st *stream);
void kp_fake_order_wait(struct CUstream_st *stream, const struct CUevent_st *event);
/* The host knows that all of it has ended. */
void kp_fake_order_event_reached(const struct CUevent_st *event);
void kp_fake_order_stream_reached(struct CUstream_st *stream);
void kp_fake_order_context_reached(const struct CUctx_st *context);

/* At the end of what a stream does, or, with NULL, of all. True: the memory must stay. */
bool kp_fake_order_freed(const void *at, struct CUstream_st *stream);

#endif
