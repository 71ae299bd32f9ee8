/*
 * The host's side of launches (--host): how long each call that launches kernels takes, in which
 * thread, and on which stream, taken at the driver's door.
 *
 * Each thread that launches has a ring of calls of its own, written without a lock; the worker
 * takes them out. A ring is mapped at a thread's first launch and is another thread's once that one
 * has ended. What cannot be kept (a ring that is full, more threads than rings, a launch within a
 * launch, as in a signal handler) is counted. A call costs two readings of CLOCK_MONOTONIC and one
 * cache line; CUPTI's records of calls, and its callbacks, cost several times as much.
 *
 * Calls carry no correlation id: only CUPTI knows it. The reader ties calls to kernel records by
 * their order on a stream; see analyzers/host_match.h.
 */
#ifndef KP_INJECT_HOST_H
#define KP_INJECT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/host_streams.h"
#include "trace/live.h"
#include "trace/writer.h"

/* Calls that a ring holds, 2 MiB: 0.1 s of one launch after another. The worker is woken whenever a
 * quarter of it has been filled. */
#define KP_HOST_RING 32768U
/* Where there are more rings than this, their memory goes back to the system once it is read. */
#define KP_HOST_KEEP 16U
/* Threads that launch at the same time; the calls of more are lost, and counted. */
#define KP_HOST_RINGS 1024U

/* The collector is on, and takes calls from now on. The key of threads' ends is made once. */
void kp_host_start(const struct kp_cupti *cupti);
/* Nobody takes calls any more. */
void kp_host_stop(void);
/* In a forked child: there are no rings. */
void kp_host_forget(void);

/* Tells the launcher how many there are. Worker only. */
void kp_host_publish(struct kp_live_slot *slot);
/* Writes all calls that are there. Worker only. */
void kp_host_drain(struct kp_writer *writer);
/* Sets the counts, where host calls were asked for. Worker only. */
void kp_host_put_counts(const struct kp_writer_loss *loss, struct kp_counts *counts);

/* ---- for the hooks (hooks_host.c) ---- */

/* Whether the launcher asked for it. No call of the C library: dlsym asks. */
bool kp_host_asked(void);
/* The wrapper of a driver function (enum kp_hook) where it was asked for; NULL: there is none. */
void *kp_host_wrapper(size_t hook);

struct kp_host_ring;

/* A call under way, on the stack of its hook. */
struct kp_host_open {
	struct kp_host_ring *ring; /* NULL: it is not kept */
	uint64_t start_ns, end_ns;
};

/* Before the driver's function, and at once after it. */
void kp_host_enter(struct kp_host_open *open);
void kp_host_leave(struct kp_host_open *open);
/*
 * Then one of these: the call launched kernels and is kept (the kind, kernels, grid and block of
 * `call` are set), or it did not.
 */
void kp_host_keep(const struct kp_host_open *open, struct kp_host_stream stream,
		  struct kp_host_call *call);
void kp_host_discard(const struct kp_host_open *open);

#endif
