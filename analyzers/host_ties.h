/*
 * Ties the kernel records of one process to the calls that launched them: the one place that knows
 * how. What an analysis wants to know of a launch's call (its thread, its times; later the NVTX
 * range around it) it learns from the visits of kp_ties_settle.
 *
 * A call that carries CUPTI's correlation id is tied by it. One that does not gets that of the
 * records which are its own by order (host_match.h), stream by stream; from then on it is tied by
 * it as well, so that all kernels of a graph launch find their call, on whatever stream they ran.
 *
 * Streaming: calls and records are added as the trace has them and settled up to a watermark, below
 * which none comes later. Memory holds what is not settled: KP_TIES_LIMIT of each at most, beyond
 * which the oldest are given up as not tied. Not thread-safe.
 */
#ifndef KP_ANALYZERS_HOST_TIES_H
#define KP_ANALYZERS_HOST_TIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

#define KP_TIES_LIMIT (1U << 20)
/* Streams of one process; where there are more, nothing more is tied by order. */
#define KP_TIES_LANES_MOST (1U << 20)

struct kp_ties;

/* One kernel record. */
struct kp_tie_record {
	uint64_t start_ns, end_ns;             /* 0: unknown */
	const struct kp_launch_config *config; /* borrowed */
	uint32_t correlation;
	uint32_t row; /* the caller's */
	bool graph;   /* launched by a graph */
};

struct kp_tie_visitor {
	void *context;
	/*
	 * Called once for each record. `call` is NULL where it is not tied. `first`: no other
	 * record of this call comes before it.
	 */
	enum kp_status (*tied)(void *context, const struct kp_tie_record *record,
			       const struct kp_host_call *call, bool first);
};

/*
 * For the records and calls of `process`, which is borrowed. NULL without memory. Whether anything
 * is missing follows from its counts.
 */
struct kp_ties *kp_ties_create(const struct kp_process *process);
/* The same for calls that are known to be all there are, in order, with all their records but
 * perhaps the last. */
struct kp_ties *kp_ties_create_whole(const struct kp_process *process);
void kp_ties_destroy(struct kp_ties *ties);
/* From here on calls may be missing, whatever the counts say: a part of the trace is unreadable. */
void kp_ties_distrust(struct kp_ties *ties);

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_ties_add_call(struct kp_ties *ties, const struct kp_host_call *call);
enum kp_status kp_ties_add_launch(struct kp_ties *ties, const struct kp_launch *launch,
				  uint32_t row);
/*
 * Ties what can be tied now; everything, where the watermark is UINT64_MAX. Does nothing while
 * little is pending. Errors: KP_NO_MEMORY, those of the visitor.
 */
enum kp_status kp_ties_settle(struct kp_ties *ties, uint64_t watermark_ns,
			      const struct kp_tie_visitor *visitor);

#endif
