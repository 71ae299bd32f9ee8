/*
 * What follows the timeline in order without changing it: exclusive time, chains of launches, the
 * critical path. Private to report_timeline*.c, report_along.c and report_path.c.
 *
 * The timeline shows what it visits, batch by batch of the trace; whoever takes the batches behind
 * it, perhaps on another thread, takes them in the same order. Memory holds what was shown and not
 * taken: a few batches. What is taken here, nothing else may touch meanwhile.
 */
#ifndef KP_ANALYZERS_ALONG_H
#define KP_ANALYZERS_ALONG_H

#include "analyzers/alone.h"
#include "analyzers/path.h"
#include "analyzers/relay.h"

/* Of one batch. */
struct kp_shown {
	struct kp_activity *items;
	uint8_t *causes; /* enum kp_gap_cause of the gap before; KP_SHOWN_NO_GAP */
	size_t count, item_capacity, cause_capacity;
	struct kp_shown_piece {
		size_t gpu, end; /* items up to there, from the end of the piece before */
	} * pieces;
	size_t piece_count, piece_capacity;
};

#define KP_SHOWN_NO_GAP UINT8_MAX

struct kp_along_gpu {
	struct kp_alone alone;
	struct kp_path *path; /* NULL: nothing ran yet */
};

struct kp_along {
	struct kp_shown batches[KP_RELAY_PLACES];
	uint64_t shown, taken; /* batches */
	bool no_path;          /* it is found when the trace is read again */
	struct kp_along_gpu *gpus;
	size_t gpu_count; /* that there is room for */
	struct kp_alone_times alone_times;
	struct kp_path_times path_times;
};

struct kp_builder;

void kp_along_fini(struct kp_along *along);
/* Of a GPU; NULL without memory. What was returned before is no more. */
struct kp_along_gpu *kp_along_gpu(struct kp_along *along, size_t gpu);

/* While a batch goes through the timeline: activities of a GPU, in order. Returns where the cause
 * of the gap before each is to be written, NULL without memory. And the end of the batch. */
uint8_t *kp_along_show(struct kp_along *along, size_t gpu, const struct kp_activity *items,
		       size_t count);
void kp_along_end_batch(struct kp_along *along);
/* A taker of the relay, behind the timeline, of a struct kp_builder; and what was shown beyond the
 * last batch. Errors of this and what follows: KP_NO_MEMORY. */
enum kp_status kp_along_take(void *context, const struct kp_event *event);
/* After the last: what still runs, to its end. */
enum kp_status kp_along_finish_path(struct kp_along *along);
void kp_along_finish_alone(struct kp_along *along);

#endif
