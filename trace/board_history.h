/* The last minute of rows and GPUs, second by second; see board.h. Pure. */
#ifndef KP_TRACE_BOARD_HISTORY_H
#define KP_TRACE_BOARD_HISTORY_H

#include "trace/board.h"

/* Adds to the history of a row: its second, or none where that has passed. */
void kp_board_row_add(struct kp_board_row *row, uint64_t second, uint64_t calls, uint64_t total_ns);
/* Makes `second` the latest that a history has, and forgets those it takes the place of. */
void kp_board_row_advance(struct kp_board_row *row, uint64_t second);
void kp_board_gpu_advance(struct kp_board_gpu *gpu, uint64_t second);
/* Adds launches to the history of a rule. */
void kp_board_rule_add(struct kp_board_rule *rule, uint64_t second, uint64_t fitted,
		       uint64_t replaced);
/* Whether a history whose latest is `latest` knows of a second. */
static inline bool kp_board_knows(uint64_t latest, uint64_t second)
{
	return second <= latest && latest - second < KP_BOARD_SECONDS;
}

#endif
