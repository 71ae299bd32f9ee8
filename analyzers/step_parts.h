/*
 * What iterations are made of: the time of each kernel in them, and idle time by cause, so that
 * the parts of all that count add up to their length, nanosecond by nanosecond.
 *
 * An iteration is one of timeline_steps.h, of one process on one GPU. Its parts:
 *   kernels   of the process; each instant is divided equally among the kernels that run on the
 *             GPU then, and cut where the iteration begins and ends
 *   others    the rest of the time in which anything ran: kernels of other processes
 *   causes    gaps before kernels of the process, by cause; see gap_causes.h
 *   rest      idle time that has none: before kernels of other processes, and where a range that
 *             is an iteration begins or ends in a gap
 * Only iterations that count are in it: neither warm-up nor irregular ones.
 */
#ifndef KP_ANALYZERS_STEP_PARTS_H
#define KP_ANALYZERS_STEP_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "analyzers/gap_causes.h"

/* The lengths of more iterations than that are not kept, one by one. */
#define KP_STEP_WALLS_MAX ((size_t)1 << 20)
#define KP_STEP_NONE SIZE_MAX

/* One kernel of one process on one GPU. */
struct kp_step_row {
	size_t kernel;    /* in the report's kernels[] */
	uint64_t calls;   /* that began in iterations */
	uint64_t part_ns; /* its part of the time in which anything ran */
	/* What most often ran before and behind it, anywhere in the trace: in kernels[];
	 * KP_STEP_NONE: nothing. */
	size_t before, behind;
};

/* The iterations of one process on one GPU. */
struct kp_step_parts {
	size_t iteration; /* the row of the timeline's iterations; KP_STEP_NONE: it has none, */
	uint64_t count;   /* and then this is 0, and only neighbours are known */
	uint64_t wall_ns, busy_ns;
	const struct kp_step_row *rows; /* in order of kernel */
	size_t row_count;
	int64_t others_ns; /* below 0 in files whose order is broken, as is the next */
	uint64_t cause_ns[KP_GAP_CAUSE_COUNT];
	int64_t rest_ns;
	const uint64_t *walls_ns; /* lengths in order of time, the first KP_STEP_WALLS_MAX */
	size_t wall_count;
};

#endif
