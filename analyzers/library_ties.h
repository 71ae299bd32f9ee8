/*
 * Ties the kernel records of one process to the library calls that launched them (cuBLAS and its
 * kin): what shapes a GEMM had. The one place that knows how; see library_match.h for kernels that
 * were launched one by one.
 *
 * Kernels of graphs: a node that was captured in a call is known by its place among the graph's
 * nodes, which is the lower half of CUPTI's node id; which graph the upper half means is learnt
 * from the graph's first launches, tied as those of kernels are. A graph in which one node has
 * another grid or block than was captured is not believed.
 *
 * Streaming: launches and records are added as the trace has them. Memory holds at most
 * KP_LIBRARY_TIES_LIMIT records; half of them, the first launched, are settled when there are more.
 * Not thread-safe.
 */
#ifndef KP_ANALYZERS_LIBRARY_TIES_H
#define KP_ANALYZERS_LIBRARY_TIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

#define KP_LIBRARY_TIES_LIMIT (1U << 20)
/* Of a tie: the record is of no call, or it is not known of which. */
#define KP_LIBRARY_NO_CALL UINT32_MAX

struct kp_library_ties;

/* One kernel record and its call. */
struct kp_library_tie {
	uint64_t start_ns, duration_ns; /* 0, 0: its times are not known */
	uint32_t row;                   /* the caller's */
	uint32_t config;                /* number of the launch configuration */
	uint32_t call;                  /* number of the kp_library_call, or KP_LIBRARY_NO_CALL */
	uint32_t part;                  /* 0: the first launch of that one call */
	bool graph;                     /* launched by a graph */
};

struct kp_library_visitor {
	void *context;
	/* Called once for each record, in no order. */
	enum kp_status (*launch)(void *context, const struct kp_library_tie *tie);
};

/* For a report: of one process, or added up. */
struct kp_library_account {
	uint64_t calls;          /* of libraries, that the hooks saw */
	uint64_t launches;       /* in such calls, graphs left out, in the trace */
	uint64_t launches_tied;  /* of these: whose record is known */
	uint64_t launches_lost;  /* in such calls, but not in the trace */
	uint64_t graph_nodes;    /* that were captured in such calls */
	uint64_t graph_launches; /* kernels of graphs that were tied to such nodes */
	uint64_t kernels_untied; /* records without a call: of no call, or not known */
};

/* Whether a process has anything to tie. */
bool kp_library_ties_any(const struct kp_process *process);
/* For the records of `process`, which is borrowed. NULL without memory. */
struct kp_library_ties *kp_library_ties_create(const struct kp_process *process);
void kp_library_ties_destroy(struct kp_library_ties *ties);
/* From here on records may be missing, whatever the counts say: a part of the trace is unreadable.
 */
void kp_library_ties_distrust(struct kp_library_ties *ties);

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_library_ties_add_library(struct kp_library_ties *ties,
					   const struct kp_library_launch *launch);
enum kp_status kp_library_ties_add_launch(struct kp_library_ties *ties,
					  const struct kp_launch *launch, uint32_t row);
/* Ties what can be tied: where there is much of it, or `all`. Errors: KP_NO_MEMORY, the visitor's.
 */
enum kp_status kp_library_ties_settle(struct kp_library_ties *ties, bool all,
				      const struct kp_library_visitor *visitor);
/* What came of it; complete once all is settled. */
struct kp_library_account kp_library_ties_account(const struct kp_library_ties *ties);

#endif
