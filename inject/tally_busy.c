/* Unions of intervals; see tally_busy.h. */
#include "inject/tally_busy.h"

#include <stdlib.h>
#include <string.h>

#include "trace/board_history.h"

static int by_begin(const void *a, const void *b)
{
	const struct kp_busy_piece *left = a, *right = b;

	return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

/* Adds the time of a piece, or takes it back, second by second. */
static void count(struct kp_board_gpu *gpu, struct kp_busy_piece piece, bool back)
{
	uint64_t oldest = gpu->second >= KP_BOARD_SECONDS ? gpu->second - KP_BOARD_SECONDS + 1 : 0;
	uint64_t length_ns = piece.end_ns - piece.begin_ns;
	uint64_t at_ns = piece.begin_ns;

	gpu->busy_ns += back ? -length_ns : length_ns;
	if (at_ns < oldest * KP_BOARD_SECOND_NS)
		at_ns = oldest * KP_BOARD_SECOND_NS;
	while (at_ns < piece.end_ns) {
		uint64_t second = at_ns / KP_BOARD_SECOND_NS;
		uint64_t next_ns = (second + 1) * KP_BOARD_SECOND_NS;
		uint64_t part_ns = (next_ns < piece.end_ns ? next_ns : piece.end_ns) - at_ns;

		gpu->seconds[second % KP_BOARD_SECONDS] += back ? -part_ns : part_ns;
		at_ns += part_ns;
	}
}

/* The union of what is kept and the batch, both in order, in `merged`; returns its pieces. */
static size_t merge(struct kp_busy *busy)
{
	size_t kept = 0, batch = 0, merged = 0;

	while (kept < busy->kept_count || batch < busy->batch_count) {
		bool take_kept = batch == busy->batch_count ||
				 (kept < busy->kept_count &&
				  busy->kept[kept].begin_ns <= busy->batch[batch].begin_ns);
		struct kp_busy_piece next = take_kept ? busy->kept[kept++] : busy->batch[batch++];
		struct kp_busy_piece *last = merged ? &busy->merged[merged - 1] : NULL;

		if (!last || next.begin_ns > last->end_ns)
			busy->merged[merged++] = next;
		else if (next.end_ns > last->end_ns)
			last->end_ns = next.end_ns;
	}
	return merged;
}

void kp_busy_settle(struct kp_busy *busy, struct kp_board_gpu *gpu)
{
	uint64_t latest_ns = 0;
	size_t merged, dropped;

	if (!busy->batch_count)
		return;
	for (size_t i = 0; i < busy->batch_count; i++)
		if (busy->batch[i].end_ns > latest_ns)
			latest_ns = busy->batch[i].end_ns;
	/* First, so that what is taken back and what is added are of the same seconds. */
	kp_board_gpu_advance(gpu, (latest_ns - 1) / KP_BOARD_SECOND_NS);
	qsort(busy->batch, busy->batch_count, sizeof(busy->batch[0]), by_begin);
	merged = merge(busy);
	for (size_t i = 0; i < busy->kept_count; i++)
		count(gpu, busy->kept[i], true);
	for (size_t i = 0; i < merged; i++)
		count(gpu, busy->merged[i], false);
	dropped = merged > KP_BUSY_KEPT ? merged - KP_BUSY_KEPT : 0;
	if (dropped)
		busy->floor_ns = busy->merged[dropped - 1].end_ns;
	busy->kept_count = merged - dropped;
	memcpy(busy->kept, busy->merged + dropped, busy->kept_count * sizeof(busy->kept[0]));
	busy->batch_count = 0;
}

void kp_busy_add(struct kp_busy *busy, struct kp_board_gpu *gpu, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < busy->floor_ns)
		begin_ns = busy->floor_ns;
	if (begin_ns >= end_ns)
		return;
	if (busy->batch_count == KP_BUSY_BATCH)
		kp_busy_settle(busy, gpu);
	/* What was settled may have moved the floor. */
	if (begin_ns < busy->floor_ns)
		begin_ns = busy->floor_ns;
	if (begin_ns < end_ns)
		busy->batch[busy->batch_count++] = (struct kp_busy_piece){begin_ns, end_ns};
}
