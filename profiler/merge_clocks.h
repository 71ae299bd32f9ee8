/*
 * How the clocks of the hosts in a trace are brought together, for kprof merge.
 *
 * Processes of one start of one host share CLOCK_MONOTONIC: nothing moves between them. The others
 * are moved by the difference of their wall clocks, and then, where they ran collective operations
 * of NCCL together, by these: no rank's kernel of an all-reduce, all-gather or reduce-scatter ends
 * before every rank's has begun, since each result depends on every rank's data. So of the k-th
 * operation of a name, with times a on one host and b on the other, the shift d of b keeps
 *     a.start - b.end <= d <= a.end - b.start.
 * The middle of what all operations leave is taken, and half its width is the uncertainty. That
 * holds as long as the k-th of both is the same operation: names whose counts differ are left out,
 * and nothing is taken where no shift satisfies all.
 */
#ifndef KP_PROFILER_MERGE_CLOCKS_H
#define KP_PROFILER_MERGE_CLOCKS_H

#include "trace/reader.h"

enum kp_merge_clock_source {
	KP_CLOCK_REFERENCE,   /* the others are moved to it */
	KP_CLOCK_WALL,        /* by the wall clocks of both */
	KP_CLOCK_COLLECTIVES, /* by operations of NCCL */
	KP_CLOCK_UNKNOWN      /* there is nothing to go by: it stays */
};

/* One start of one host. */
struct kp_merge_clock {
	const struct kp_process *process; /* the first of it; borrowed */
	int64_t by_ns;                    /* its times are moved by that much, */
	int64_t against_ns;               /* against the reference by that */
	enum kp_merge_clock_source source;
	uint64_t operations;           /* that bound it */
	uint64_t within_ns;            /* KP_CLOCK_COLLECTIVES: the error is at most that */
	int64_t wall_off_ns;           /* likewise: how far the wall clocks were off */
	bool wall_known, contradicted; /* operations leave no shift that satisfies all */
};

struct kp_merge_clocks {
	struct kp_merge_clock *clocks;
	size_t count;
	uint32_t *of_process; /* by index: number of its clock */
};

/* Reads the whole trace where there are several hosts. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_merge_clocks_find(struct kp_reader *reader, struct kp_merge_clocks *out);
void kp_merge_clocks_fini(struct kp_merge_clocks *clocks);

#endif
