/*
 * The ranks of a distributed job, side by side: a part of the report, see report.h.
 *
 * A rank is a process that says which one it is and launched kernels. Compute is its kernel time
 * outside of the operator «communication». Waiting is inferred from the collective operations of
 * NCCL that ranks did together (collectives.h): of the k-th of a name, the rank whose kernel took
 * the shortest came last, and what the others took longer they waited. Operations that do not
 * overlap in time are not the same one (or the clocks are not aligned: kprof merge), and count as
 * unmatched.
 */
#ifndef KP_ANALYZERS_REPORT_RANKS_H
#define KP_ANALYZERS_REPORT_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

struct kp_builder;

struct kp_rank_row {
	const struct kp_process *process; /* borrowed from the reader */
	uint64_t kernels, kernel_ns;
	uint64_t busy_ns; /* in which any of its kernels ran, added over GPUs */
	uint64_t communication_ns, compute_ns; /* kernel_ns is their sum */
	uint64_t wait_ns;       /* in collectives, for ranks that came later; of matched ones */
	uint64_t last_arrivals; /* operations to which it came last */
};

struct kp_report_ranks {
	const struct kp_rank_row *rows; /* by rank */
	size_t count;                   /* 0: fewer than two ranks */
	/* Greatest ÷ mean over the ranks; 1: even. NaN where the mean is 0. */
	double compute_imbalance, kernel_imbalance;
	size_t slowest;                 /* of rows: the most compute; count: it is even */
	uint64_t operations, unmatched; /* collectives of several ranks, and those not told */
};

/* Before reading; a launch; when the processes' rows stand. Errors: KP_NO_MEMORY. */
enum kp_status kp_build_ranks_begin(struct kp_builder *builder);
enum kp_status kp_build_ranks_launch(struct kp_builder *builder, const struct kp_process *process,
				     const struct kp_launch *launch);
enum kp_status kp_build_ranks_put(struct kp_builder *builder);
void kp_build_ranks_end(struct kp_builder *builder);
/* report_findings.c: whether a row is of the operator «communication». */
bool kp_build_is_communication(const struct kp_builder *builder, uint32_t row);

#endif
