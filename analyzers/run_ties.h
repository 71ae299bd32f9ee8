/*
 * Ties the kernel records of one process to its runs of launches (trace/launch_run.h), stream by
 * stream: the n-th launch of a stream is the n-th of its runs. That holds only where nothing is
 * missing on either side, which the counts must say (kp_run_ties_doubt). Of a run whose records do
 * not have its grids and blocks, none is tied.
 *
 * What was launched before there were runs is told apart by CUPTI's numbers, which grow from call
 * to call: the counts say how many kernels that are. Streaming, as host_ties.h, on which it stands.
 * Not thread-safe.
 */
#ifndef KP_ANALYZERS_RUN_TIES_H
#define KP_ANALYZERS_RUN_TIES_H

#include "analyzers/host_ties.h"
#include "trace/reader.h"

struct kp_run_ties;

struct kp_run_visitor {
	void *context;
	/* Called once for each record. `run`: NULL where it is not tied; kp_run_before where it was
	 * launched before the first run. */
	enum kp_status (*tied)(void *context, const struct kp_tie_record *record,
			       const struct kp_launch_run *run);
};
extern const struct kp_launch_run kp_run_before;

/* Why a process's runs cannot be used: one sentence; NULL: they can. */
const char *kp_run_ties_doubt(const struct kp_process *process);

/* For a process whose runs can be used; it is borrowed. NULL without memory. */
struct kp_run_ties *kp_run_ties_create(const struct kp_process *process);
void kp_run_ties_destroy(struct kp_run_ties *ties);
/* From here on nothing is tied: a part of the trace is unreadable. */
void kp_run_ties_distrust(struct kp_run_ties *ties);

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_run_ties_add_run(struct kp_run_ties *ties, const struct kp_launch_run *run);
enum kp_status kp_run_ties_add_launch(struct kp_run_ties *ties, const struct kp_launch *launch,
				      uint32_t row);
/* As kp_ties_settle. Errors: KP_NO_MEMORY, those of the visitor. */
enum kp_status kp_run_ties_settle(struct kp_run_ties *ties, uint64_t watermark_ns,
				  const struct kp_run_visitor *visitor);

#endif
