/*
 * The time in which a GPU ran any kernel, from intervals that come late and out of order.
 *
 * Intervals are collected and merged now and then. The latest disjoint pieces are kept, so that
 * what comes late and overlaps them is not counted twice; what comes later than the oldest of them
 * is cut off where that begins. Memory is bounded. Pure; not thread-safe.
 */
#ifndef KP_INJECT_TALLY_BUSY_H
#define KP_INJECT_TALLY_BUSY_H

#include "trace/board.h"

#define KP_BUSY_KEPT 4096
#define KP_BUSY_BATCH 4096

struct kp_busy_piece {
	uint64_t begin_ns, end_ns;
};

struct kp_busy {
	struct kp_busy_piece kept[KP_BUSY_KEPT]; /* disjoint, in order */
	struct kp_busy_piece batch[KP_BUSY_BATCH], merged[KP_BUSY_KEPT + KP_BUSY_BATCH];
	size_t kept_count, batch_count;
	uint64_t floor_ns; /* what is before is settled */
};

/* Adds an interval, which is not empty. */
void kp_busy_add(struct kp_busy *busy, struct kp_board_gpu *gpu, uint64_t begin_ns,
		 uint64_t end_ns);
/* Brings the sums of the GPU up to date. */
void kp_busy_settle(struct kp_busy *busy, struct kp_board_gpu *gpu);

#endif
