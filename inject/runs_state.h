/* What the two sides of the runs of launches share: private to runs.c and runs_worker.c. */
#ifndef KP_INJECT_RUNS_STATE_H
#define KP_INJECT_RUNS_STATE_H

#include <pthread.h>

#include "inject/runs.h"

enum kp_runs_owner {
	KP_RUNS_FREE,  /* nobody's */
	KP_RUNS_OWNED, /* a thread's */
	KP_RUNS_LEFT   /* its thread has ended; the worker frees it once it is empty */
};

/* A stream, for good; in a program with very many some share one, and their runs are shorter. */
struct kp_run_lane {
	_Atomic uint64_t key;  /* context and stream; 0: free */
	_Atomic uint64_t turn; /* how often a run has begun on it */
};

/* The open run of a thread on a stream. What the worker reads is atomic. */
struct kp_run_slot {
	struct kp_run_lane *lane; /* NULL: none yet */
	uint32_t context, stream;
	uint64_t turn, edges;    /* owner only: when the run began */
	_Atomic uint32_t serial; /* of its runs */
	_Atomic uint32_t launches;
	_Atomic uint64_t shapes;
	uint64_t begin_ns, end_ns; /* end_ns 0: the same */
	uint32_t kind, kernels;
};

struct kp_run_ended {
	struct kp_launch_run run;
	uint32_t slot, serial;
};

struct kp_runs_thread {
	struct kp_runs_thread *next; /* set before it is listed */
	_Atomic int owner;           /* enum kp_runs_owner */
	uint32_t id;                 /* the owner's */
	unsigned depth;              /* owner only: how many launches it is in */
	_Atomic uint64_t lost;       /* launches */
	struct kp_host_streams streams;
	struct kp_run_slot slots[KP_HOST_STREAMS];
	/* Worker only: of runs that were open, what is written. */
	struct kp_run_part {
		uint32_t serial, launches;
		uint64_t shapes;
	} parts[KP_HOST_STREAMS];
	uint64_t lost_counted;
	uint32_t room; /* in the ring, a power of two */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(4096) struct kp_run_ended ring[KP_RUNS_RING];
};

struct kp_runs {
	struct kp_run_lane lanes[KP_RUNS_LANES];
	pthread_mutex_t lock; /* over what follows */
	bool collecting;
	uint64_t begin_ns; /* 0: from the start */
	_Atomic bool armed;
	_Atomic(struct kp_runs_thread *) threads; /* listed once, for good */
	_Atomic unsigned thread_count;
	_Atomic uint64_t edges;     /* of ranges of the process */
	_Atomic uint64_t placeless; /* launches of threads without a place */
	/* worker only */
	uint64_t records, kernels, lost;
	bool kernels_unknown;
};
extern struct kp_runs kp_runs;

/* What there is of a slot's run. */
static inline struct kp_launch_run kp_run_slot_now(const struct kp_runs_thread *thread,
						   const struct kp_run_slot *slot)
{
	return (struct kp_launch_run){
		.start_ns = slot->begin_ns,
		.end_ns = slot->end_ns ? slot->end_ns : slot->begin_ns,
		.shapes = atomic_load_explicit(&slot->shapes, memory_order_relaxed),
		.thread = thread->id,
		.kind = slot->kind,
		.context = slot->context,
		.stream = slot->stream,
		.launches = atomic_load_explicit(&slot->launches, memory_order_relaxed),
		.kernels = slot->kernels,
	};
}

#endif
