/*
 * The simulated GPU behind the fake libcuda: contexts, streams and their timelines.
 *
 * Time. Every stream has a timeline in virtual nanoseconds that starts at CLOCK_MONOTONIC's value
 * when the context is created and moves only by work: an operation starts when its stream is free
 * and the host has not synchronised past that, and ends its duration later. The same calls give
 * the same durations, gaps and overlaps on every machine. The host sees an operation as finished
 * once CLOCK_MONOTONIC has passed its end.
 *
 * Threading: one lock (kp_fake_lock) guards everything here but what is said to be immutable.
 * Functions that need it say so. Objects live until the process ends, so that a stale handle is an
 * error code and never a crash.
 */
#ifndef KP_FAKE_GPU_GPU_H
#define KP_FAKE_GPU_GPU_H

#include "tests/fake_gpu/driver/objects.h"

#define KP_FAKE_EXPORT __attribute__((visibility("default")))
#define KP_FAKE_DEVICES 2
#define KP_FAKE_DRIVER_VERSION 13000
#define KP_FAKE_DEVICE_BYTES (16ULL << 30)

void kp_fake_lock(void);
void kp_fake_unlock(void);

/* CLOCK_MONOTONIC, ns: the clock that timelines are anchored to. */
uint64_t kp_fake_now_ns(void);
/* Sleeps until the clock has passed `end_ns`. Without the lock. */
void kp_fake_wait_until(uint64_t end_ns);
/* Sleeps while an operation that starts then has too much before it: the fault «queue». */
void kp_fake_wait_for_room(uint64_t start_ns);
/* In the midst of a launch, without the lock: raises a signal where a fault asks for that. */
void kp_fake_interrupt(void);

/* CUDA_SUCCESS, or why no call is possible now: not initialised, forked after that, or failed. */
CUresult kp_fake_ready(void);
/* From now on kp_fake_ready says so. */
void kp_fake_fail(CUresult result);
/* The same, and a context is current in this thread: *out. */
CUresult kp_fake_ready_context(struct CUctx_st **out);

/* Zeroed memory that is never given back; a test double ends the process when there is none. */
void *kp_fake_alloc(size_t bytes);
/* A new number: 1, 2, … With the lock. */
uint32_t kp_fake_next_id(void);

struct CUctx_st *kp_fake_current(void);
void kp_fake_set_current(struct CUctx_st *context);
struct CUctx_st *kp_fake_context_create(CUdevice device);
/* All that there ever were, the newest first; with the lock. */
struct CUctx_st *kp_fake_contexts(void);
/* What was loaded into a context goes with it. */
void kp_fake_modules_end(const struct CUctx_st *context);
/*
 * Before a call that is potentially unsafe in the midst of a capture: the result is its, where a
 * capture forbids it, which is broken by that; capture.c.
 */
CUresult kp_fake_unsafe(void);
struct CUstream_st *kp_fake_stream_create(struct CUctx_st *context, bool blocking);
/*
 * The stream that a handle means in this context: NULL and CU_STREAM_LEGACY the default one, and
 * NULL with `per_thread`, or CU_STREAM_PER_THREAD, this thread's own. NULL for an invalid handle.
 */
struct CUstream_st *kp_fake_stream_resolve(struct CUctx_st *context, CUstream handle,
					   bool per_thread);
/* When the next operation of a stream may start. With the lock. */
uint64_t kp_fake_stream_start(const struct CUstream_st *stream);
/*
 * Puts an operation on a stream at this start: fills its times, device, context and stream, and
 * moves the stream's tail. With the lock.
 */
void kp_fake_place(struct CUstream_st *stream, uint64_t start_ns, uint64_t duration_ns,
		   struct kp_fake_op *op);

/* Runs an operation on a stream and announces it, or captures it where the stream is capturing. */
void kp_fake_submit(struct CUstream_st *stream, uint64_t duration_ns, struct kp_fake_op *op);

#endif
