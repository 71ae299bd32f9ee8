/*
 * Calls of NVIDIA's libraries at the program's door, and the launches that they cause: what shapes
 * a matrix product had. Off where KPROF_CALLS=0.
 *
 * The wrappers (library_cublas.c, library_lt.c) stand where the program resolves the libraries'
 * functions (library_doors.h). The outermost one of a thread describes its call, which gives the
 * call a number; until it returns, what the thread launches is of that call. The hooks on the
 * driver look at one word of the thread's, and do nothing more outside of calls. A launch in a call
 * is put into a ring from which the worker takes it: no lock, no clock, no allocation. A launch in
 * none whose parameters are known by rule (parameters.h) is a call of its own.
 *
 * A launch carries no correlation id: only CUPTI knows it. The reader ties it to its record by
 * counting; see analyzers/library_match.h. Captured launches: see library_graphs.h.
 */
#ifndef KP_INJECT_LIBRARY_H
#define KP_INJECT_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "inject/parameters.h"
#include "trace/library_call.h"
#include "trace/writer.h"

struct kp_cupti;

/* Launches that the ring holds. The worker is woken whenever a quarter of it has been filled. */
#define KP_LIBRARY_RING 32768U
/* Different calls of a process; launches in more are lost, and counted. */
#define KP_LIBRARY_CALLS_MOST 32768U

/* Whether the launcher asked for it. No call of the C library: dlsym asks. */
bool kp_library_asked(void);
/* The collector is on, and takes launches from now on. */
void kp_library_start(const struct kp_cupti *cupti);
/* Nobody takes launches any more. */
void kp_library_stop(void);
/* In a forked child: there are no calls. */
void kp_library_forget(void);
/* Writes all that is there, and sets the counts. Worker only. */
void kp_library_drain(struct kp_writer *writer);
void kp_library_put_counts(const struct kp_writer_loss *loss, struct kp_counts *counts);

/* ---- for the wrappers ---- */

/* One call under way, on the stack of its wrapper. */
struct kp_library_frame {
	bool entered, outermost;
};

/* True: it is the outermost, and has to be described. */
bool kp_library_enter(struct kp_library_frame *frame);
/* `call`: with the number of an entry (library_doors.h) instead of the strings' numbers. */
void kp_library_describe(const struct kp_library_call *call);
void kp_library_leave(const struct kp_library_frame *frame);

/* ---- for the hooks on the driver ---- */

/* One launch of a kernel, before the driver's function is called. */
struct kp_library_pending {
	CUstream stream;
	bool per_thread; /* the null stream is the thread's */
	uint32_t grid[3], block[3];
};

/* A thread that has launched before is KP_LIBRARY_IDLE outside of calls. */
#define KP_LIBRARY_IDLE 1U
#define KP_LIBRARY_DEPTH 2U /* one call */
extern _Thread_local unsigned kp_library_state __attribute__((tls_model("initial-exec")));

void kp_library_launch_begins(const struct kp_library_pending *pending);
/* The same, of a kernel whose parameters may be known. */
__attribute__((cold)) void kp_library_launch_begins_with(CUfunction function,
							 void *const *parameters,
							 void *const *extra,
							 const struct kp_library_pending *pending);
void kp_library_launched(uint64_t issued);
void kp_library_captured(void);
/* The driver did not take it. */
void kp_library_refused(void);
/* One launch of which the parameters are known, a call of its own until the hook says what came of
 * it; `call`: its place in the table. Only outside of calls. */
void kp_library_alone_begins(uint32_t call, const struct kp_library_pending *pending);

/* Whether there is anything to do about a launch of this thread. */
static inline bool kp_library_cares(void)
{
	return __builtin_expect(kp_library_state != KP_LIBRARY_IDLE, 0);
}

/* Whether it is in a call. */
static inline bool kp_library_in_call(void)
{
	return kp_library_state >= KP_LIBRARY_DEPTH;
}

/* The same of what lies there on its stack: what lies above a call is not in it, which was left. */
bool kp_library_is_within(const void *here);

/* Whether it has not launched anything yet. */
static inline bool kp_library_is_new(void)
{
	return __builtin_expect(!(kp_library_state & KP_LIBRARY_IDLE), 0);
}

/* At the beginning of a hook on a launch, with its stream, grid and block. */
#define KP_LIBRARY_BEGINS(of_stream, is_per_thread, gx, gy, gz, bx, by, bz)                        \
	do {                                                                                       \
		if (kp_library_cares())                                                            \
			kp_library_launch_begins(&(struct kp_library_pending){                     \
				of_stream, is_per_thread, {gx, gy, gz}, {bx, by, bz}});            \
	} while (0)
/* The same of a launch whose parameters are there. */
#define KP_LIBRARY_BEGINS_WITH(function, parameters, extra, of_stream, is_per_thread, gx, gy, gz,  \
			       bx, by, bz)                                                         \
	do {                                                                                       \
		if (__builtin_expect(kp_library_cares() || kp_parameters_care(function), 0))       \
			kp_library_launch_begins_with(                                             \
				function, parameters, extra,                                       \
				&(struct kp_library_pending){                                      \
					of_stream, is_per_thread, {gx, gy, gz}, {bx, by, bz}});    \
	} while (0)

/* ---- for library_graphs.c ---- */

/* What the launch under way of this thread is. `call` is kp_library_describe's number of it. */
struct kp_library_now {
	const struct kp_library_pending *pending;
	uint32_t call, part;
};
struct kp_library_now kp_library_now(void);
/* A launch of a graph with nodes from calls; `issued` kernels had been before. */
void kp_library_graph_begins(void);
void kp_library_graph_launched(uint32_t graph, uint64_t issued);
/* The trace's number of a call. Worker only. False: it has none. */
bool kp_library_number(struct kp_writer *writer, uint32_t call, uint32_t *number);

#endif
