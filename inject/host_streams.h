/*
 * CUPTI's numbers of contexts and streams, by the handles that a program launches with.
 *
 * Asked of CUPTI once a handle and thread, then remembered in a small table of the thread's. The
 * handle of a stream that was destroyed can be another's later: whenever a stream or a context
 * goes, all tables are out of date. The null stream and the per-thread one mean another stream in
 * each context, so for these the thread's current context is part of the question.
 *
 * CUPTI is asked behind a gate that is closed while it is detached (detach.h), and only while
 * records are on: asked later, it would come back into the process.
 */
#ifndef KP_INJECT_HOST_STREAMS_H
#define KP_INJECT_HOST_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "inject/gate.h"

struct kp_cupti;

extern struct kp_gate kp_host_streams_gate;

#define KP_HOST_STREAMS 16 /* a power of two */

struct kp_host_stream {
	CUstream handle;
	bool per_thread; /* by a function for which the null stream is the thread's own */
};

/* One thread's table; zeroed: empty. */
struct kp_host_streams {
	struct kp_host_known {
		struct kp_host_stream stream;
		CUcontext context;   /* of special streams: the one that was current */
		uint32_t generation; /* 0: free */
		uint32_t context_id, stream_id;
	} known[KP_HOST_STREAMS];
};

/* Finds the driver's functions; `cupti` is borrowed. */
void kp_host_streams_start(const struct kp_cupti *cupti);
/* In a forked child: nobody asks. */
void kp_host_streams_forget(void);
/* A stream or a context is about to go. */
void kp_host_streams_expire(void);
/* The numbers, KP_HOST_UNKNOWN where they cannot be had. */
void kp_host_streams_find(struct kp_host_streams *streams, struct kp_host_stream stream,
			  uint32_t *context_id, uint32_t *stream_id);

#endif
