/*
 * The host's side of a report: what the program's calls that launch kernels took; see report.h.
 * There is one where the trace was recorded with --host.
 *
 *   launch time   how long the call took in its thread. That of a graph launch is divided equally
 *                 among the graph's kernels.
 *   queue time    from the end of the call to the start of the kernel, 0 where the kernel started
 *                 before. Of a graph launch: of the first kernel only; the others wait for that.
 */
#ifndef KP_ANALYZERS_REPORT_HOST_H
#define KP_ANALYZERS_REPORT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/report_times.h"
#include "trace/reader.h"

/* Of one kernel or operator: of its launches whose call is known. */
struct kp_host_times {
	uint64_t tied;             /* launches whose call is known */
	struct kp_durations call;  /* launch times */
	struct kp_durations queue; /* queue times */
	double call_p99_ns, queue_p99_ns;
	uint32_t threads; /* that launched it */
};

/* Threads beyond this are not told apart: those of a process are one, with the id 0. */
#define KP_HOST_THREADS_MOST (1U << 18)

struct kp_host_thread {
	const struct kp_process *process; /* borrowed from the reader */
	uint32_t thread;                  /* system thread id */
	uint64_t calls, total_ns;
};

struct kp_report_host {
	bool any;                 /* else all is 0 */
	uint64_t calls;           /* that launched kernels */
	uint64_t graph_calls;     /* of these: of graphs */
	struct kp_durations call; /* what each took; total_ns: CPU time in launch calls */
	double call_p99_ns;
	uint64_t kernels_tied, kernels_untied; /* of processes that have calls */
	uint64_t calls_tied;                   /* with a kernel at least */
	uint64_t calls_lost, calls_unwritten;  /* made, but not in the trace */
	const struct kp_host_thread *threads;  /* by total_ns, largest first */
	size_t thread_count;
};

#endif
