/*
 * The gates that calls about graphs pass on their way to the driver, so that none of them runs
 * while CUPTI is being detached; see detach.h. Launches of kernels are never held up; they only let
 * it be seen that they are under way.
 *
 * What it costs a launch: two stores to memory that is the thread's own, one of them a barrier.
 */
#ifndef KP_INJECT_HOOKS_GATES_H
#define KP_INJECT_HOOKS_GATES_H

#include <stdatomic.h>

#include <cuda.h>

#include "inject/gate.h"
#include "inject/library.h"
#include "inject/library_graphs.h"
#include "inject/passages.h"
#include "inject/windows.h"

/*
 * Calls that launch, make or change executable graphs pass the one gate, those that begin a capture
 * the other: both are closed while CUPTI is detached.
 */
extern struct kp_gate kp_hooks_graph_gate, kp_hooks_capture_gate;
/*
 * How many kernels of graphs may be on the GPU already, and recorded, that are not counted as
 * issued: a launch is counted before it leaves the gate, but when the driver has come back. Asked
 * before the count is read.
 */
uint64_t kp_hooks_graph_uncounted(void);

/* Far longer than the launch of a graph takes, also where the driver's queue is full. */
#define KP_GRAPH_HOLD_NS 10000000ULL

/*
 * Holds launches of graphs back while kprof asks CUPTI for something that takes the driver's locks:
 * beside a thread that launches graphs without a pause such a call got them after seconds only
 * (H200, driver 580.159.04: cuptiActivityEnable 2.7 s). False: someone stays inside, or the gate is
 * closed already; the call is made all the same.
 */
static inline bool kp_hooks_graph_hold(void)
{
	return kp_gate_close(&kp_hooks_graph_gate, true, KP_GRAPH_HOLD_NS);
}

static inline void kp_hooks_graph_let(bool held)
{
	if (held)
		kp_gate_open(&kp_hooks_graph_gate);
}

static inline __attribute__((always_inline)) void kp_hooks_graph_enter(void)
{
	kp_gate_enter(&kp_hooks_graph_gate);
}

/* Hands the result on. */
static inline CUresult kp_hooks_graph_leave(CUresult result)
{
	kp_gate_leave(&kp_hooks_graph_gate);
	return result;
}
/* The same around a launch; the first one after CUPTI was attached is dear, and is timed. */
static inline uint64_t kp_hooks_graph_launch_begins(void)
{
	uint64_t begin_ns = kp_windows_first_launch_begins();

	if (kp_library_graphs_care() || kp_library_is_new())
		kp_library_graph_begins();
	kp_hooks_graph_enter();
	return begin_ns;
}

static inline CUresult kp_hooks_graph_launch_ends(CUresult result, uint64_t begin_ns)
{
	kp_hooks_graph_leave(result);
	kp_windows_first_launch_ends(begin_ns);
	return result;
}

/*
 * Around a launch of a kernel, its count included, so that detaching can wait until those that may
 * still be recorded have got as far as that.
 */
static inline __attribute__((always_inline)) void kp_hooks_launch_begins(void)
{
	kp_passages_begin(KP_PASSAGE_LAUNCH);
}

static inline __attribute__((always_inline)) void kp_hooks_launch_ends(void)
{
	kp_passages_end(KP_PASSAGE_LAUNCH);
}

/* How many stream captures are open, in all threads; launches into one run nothing. */
extern __attribute__((visibility("hidden"))) _Atomic int kp_hooks_captures;
/*
 * A stream is about to be destroyed: whether a capture of it is open, which then ends with it.
 * Afterwards, if so; `ended`: the stream is gone.
 */
bool kp_hooks_capture_leaves(CUstream stream);
void kp_hooks_capture_left(CUstream stream, bool ended);
/*
 * A context is about to go; NULL: none. Afterwards, whether it has: then the captures that were
 * open in it have ended with it.
 */
void kp_hooks_captures_leave(CUcontext context);
void kp_hooks_captures_left(CUcontext context, bool ended);
/* In a forked child: none is open. */
void kp_hooks_capture_forget(void);

#endif
