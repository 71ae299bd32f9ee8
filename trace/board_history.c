/* Seconds that pass; see board_history.h. */
#include "trace/board_history.h"

/* Seconds from `latest` + 1 to `second`, of which at most all have a place. */
static uint64_t passed(uint64_t latest, uint64_t second)
{
	return second - latest < KP_BOARD_SECONDS ? second - latest : KP_BOARD_SECONDS;
}

void kp_board_row_advance(struct kp_board_row *row, uint64_t second)
{
	if (second <= row->second)
		return;
	for (uint64_t i = passed(row->second, second); i-- > 0;)
		row->seconds[(second - i) % KP_BOARD_SECONDS] = (struct kp_board_second){0, 0};
	row->second = second;
}

void kp_board_row_add(struct kp_board_row *row, uint64_t second, uint64_t calls, uint64_t total_ns)
{
	kp_board_row_advance(row, second);
	if (!kp_board_knows(row->second, second))
		return;
	row->seconds[second % KP_BOARD_SECONDS].calls += calls;
	row->seconds[second % KP_BOARD_SECONDS].total_ns += total_ns;
}

void kp_board_gpu_advance(struct kp_board_gpu *gpu, uint64_t second)
{
	if (second <= gpu->second)
		return;
	for (uint64_t i = passed(gpu->second, second); i-- > 0;)
		gpu->seconds[(second - i) % KP_BOARD_SECONDS] = 0;
	gpu->second = second;
}

void kp_board_rule_add(struct kp_board_rule *rule, uint64_t second, uint64_t fitted,
		       uint64_t replaced)
{
	for (uint64_t i = second > rule->second ? passed(rule->second, second) : 0; i-- > 0;)
		rule->seconds[(second - i) % KP_BOARD_SECONDS] = (struct kp_board_fitted){0, 0};
	if (second > rule->second)
		rule->second = second;
	if (!kp_board_knows(rule->second, second))
		return;
	rule->seconds[second % KP_BOARD_SECONDS].fitted += fitted;
	rule->seconds[second % KP_BOARD_SECONDS].replaced += replaced;
}
