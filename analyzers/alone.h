/*
 * Exclusive time on one GPU: how long a kernel, or an operator, was all that ran there. Two
 * launches of one kernel side by side are that kernel alone; a memory copy or set beside it is not.
 * Making a kernel faster shortens the whole by no more than its exclusive time, as long as nothing
 * else moves. While more than KP_ALONE_OPEN_MAX activities run at once nothing counts as alone.
 *
 * Activities are added in order of their start. Not thread-safe.
 */
#ifndef KP_ANALYZERS_ALONE_H
#define KP_ANALYZERS_ALONE_H

#include "analyzers/activities.h"

#define KP_ALONE_OPEN_MAX 64

/* Exclusive nanoseconds by row and by operator. Zeroed: none. Several GPUs may add to one. */
struct kp_alone_times {
	uint64_t *row_ns, *operator_ns;
	size_t row_count, operator_count; /* beyond: none */
};

struct kp_alone_open {
	uint64_t end_ns;
	uint32_t row, operator_index; /* UINT32_MAX: no kernel */
};

/* Zeroed: an idle GPU. */
struct kp_alone {
	/* What runs, in order of its end; it moves through twice the room, so that what ends first
	 * is taken away without moving the others. */
	struct kp_alone_open open[2 * KP_ALONE_OPEN_MAX];
	size_t first, open_count;
	uint64_t now_ns;   /* all until here is divided */
	uint64_t crowd_ns; /* nothing is alone before */
};

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_alone_add(struct kp_alone *alone, const struct kp_activity *item,
			    struct kp_alone_times *times);
/* After the last: what still runs, to its end. */
void kp_alone_finish(struct kp_alone *alone, struct kp_alone_times *times);
void kp_alone_times_fini(struct kp_alone_times *times);

#endif
