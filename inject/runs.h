/*
 * Launches in a row: which thread launched how many kernels on which stream, in what order, between
 * which of its NVTX ranges; so that a range owns what was launched in it.
 *
 * Off until the program opens its first range, and where --host keeps each call: a launch then
 * costs one comparison. From then on a launch that follows another of its thread on its stream
 * adds to two numbers; a clock is read where a run begins. Who launches on a stream on which
 * another thread launched last takes a turn on it, before the driver is called; a turn that has
 * been taken by another when the driver comes back makes the order of both unknown, and their runs
 * say so. Runs are kept by thread, without a lock, until the worker takes them. What cannot be kept
 * (no room, a launch within a launch, an edge of a window, a stream that CUPTI has no number for)
 * is counted.
 */
#ifndef KP_INJECT_RUNS_H
#define KP_INJECT_RUNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/host_streams.h"
#include "trace/launch_run.h"
#include "trace/writer.h"

/*
 * Runs of one thread that wait for the worker, fewer where there are more threads than so many;
 * launches of one run; threads at once; streams that never share a lane.
 */
#define KP_RUNS_RING 8192U
#define KP_RUNS_ROOMY 64U
#define KP_RUNS_LONGEST 4096U
#define KP_RUNS_THREADS 1024U
#define KP_RUNS_LANES 4096U /* a power of two */

extern _Atomic bool kp_runs_on;

/* The collector is on. */
void kp_runs_start(const struct kp_cupti *cupti);
/* Nobody takes runs any more. */
void kp_runs_stop(void);
/* In a forked child. */
void kp_runs_forget(void);
/* Writes runs that have ended; `open`: and what there is of those that have not. Worker only. */
void kp_runs_drain(struct kp_writer *writer, bool open);
/* Sets the counts, once there are runs. Worker only. */
void kp_runs_put_counts(const struct kp_writer_loss *loss, struct kp_counts *counts);

/* ---- for nvtx.c ---- */

/* A range is about to begin: runs are kept from now on. */
void kp_runs_arm(void);
/* A range has begun or ended: of this thread, or of the process. */
void kp_runs_edge(bool of_process);

/* ---- for the hooks ---- */

struct kp_runs_thread;

/* A launch under way, on the stack of its hook. */
struct kp_run_open {
	struct kp_runs_thread *thread; /* NULL: it is not looked at */
	struct kp_run_slot *slot;      /* NULL: not yet, for a stream is being captured */
	uint64_t begin_ns;             /* then: when it began */
	unsigned recording;            /* kp_windows_recording at the begin */
	struct kp_host_stream stream;
};

void kp_runs_enter_on(struct kp_run_open *open, CUstream stream, bool per_thread);
void kp_runs_leave_on(struct kp_run_open *open, uint32_t kind, uint32_t kernels, uint64_t shape);
void kp_runs_discard_on(const struct kp_run_open *open);

/* Before the driver's function. */
static inline void kp_runs_enter(struct kp_run_open *open, CUstream stream, bool per_thread)
{
	open->thread = NULL;
	if (__builtin_expect(atomic_load_explicit(&kp_runs_on, memory_order_relaxed), 0))
		kp_runs_enter_on(open, stream, per_thread);
}

/* Whether one of the two functions below must follow. */
static inline bool kp_runs_entered(const struct kp_run_open *open)
{
	return __builtin_expect(open->thread != NULL, 0);
}

/* After it: it launched (kind: enum kp_host_kind), or it did not. */
static inline void kp_runs_leave(struct kp_run_open *open, uint32_t kind, uint32_t kernels,
				 uint64_t shape)
{
	if (kp_runs_entered(open))
		kp_runs_leave_on(open, kind, kernels, shape);
}

static inline void kp_runs_discard(const struct kp_run_open *open)
{
	if (kp_runs_entered(open))
		kp_runs_discard_on(open);
}

#endif
