/*
 * Exclusive time on one GPU: how long a kernel, or an operator, was all that ran there. Two
 * launches of one kernel side by side are that kernel alone; a memory copy or set beside it is not.
 * Making a kernel faster shortens the whole by no more than its exclusive time, as long as nothing
 * else moves.
 *
 * Activities are added in order of their start. Not thread-safe.
 */
#ifndef KP_ANALYZERS_ALONE_H
#define KP_ANALYZERS_ALONE_H

#include "analyzers/activities.h"

/* Exclusive nanoseconds by row and by operator. Zeroed: none. Several GPUs may add to one. */
struct kp_alone_times {
	uint64_t *row_ns, *operator_ns;
	size_t row_count, operator_count; /* beyond: none */
};

/*
 * Of what has begun so far: which ends last, and when the last of all others does. Between two
 * beginnings only ends happen: then it is alone from the one to the other.
 */
struct kp_alone_last {
	uint64_t end_ns, others_end_ns; /* end_ns >= others_end_ns */
	uint32_t number;                /* row or operator; UINT32_MAX: no kernel */
};

/* Zeroed: an idle GPU. */
struct kp_alone {
	struct kp_alone_last row, operator_index;
	uint64_t now_ns; /* all until here is divided */
};

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_alone_add_all(struct kp_alone *alone, const struct kp_activity *items,
				size_t count, struct kp_alone_times *times);
/* After the last: what still runs, to its end. */
void kp_alone_finish(struct kp_alone *alone, struct kp_alone_times *times);
void kp_alone_times_fini(struct kp_alone_times *times);

#endif
