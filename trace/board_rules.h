/*
 * What a board tells of the rules of A/B (inject/ab.h) that a process has: counts, whether each is
 * on, and a history by seconds, in which launches are placed as they are made. Part of board.h.
 */
#ifndef KP_TRACE_BOARD_RULES_H
#define KP_TRACE_BOARD_RULES_H

#include <stdint.h>

#define KP_BOARD_RULES 32
#define KP_BOARD_RULE_NAME_BYTES 64 /* the NUL included; longer names are cut */
#define KP_BOARD_SECONDS 64         /* of history, the one that is under way included */

/* Of one second: launches that the rule fits, and those of them that were replaced. */
struct kp_board_fitted {
	uint64_t fitted, replaced;
};

struct kp_board_rule {
	char name[KP_BOARD_RULE_NAME_BYTES];
	uint32_t off, wrong; /* 1: switched off; 1: a result was wrong, so it is taken back */
	uint32_t shadow;     /* 1: results are compared only, nothing is ever replaced */
	uint32_t reserved;
	uint64_t begun_ns;    /* sums by seconds are of what came from here on */
	uint64_t switched_ns; /* when it last went on or off; 0: never */
	uint64_t seen, fitted, replaced, compared; /* since the process began */
	uint64_t second;                           /* the latest with history */
	struct kp_board_fitted seconds[KP_BOARD_SECONDS];
};

_Static_assert(sizeof(struct kp_board_rule) % 8 == 0, "boards are copied by words");

#endif
