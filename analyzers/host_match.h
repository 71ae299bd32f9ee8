/*
 * Which call of the program launched which kernel, by the order of both on one stream.
 *
 * The driver hands a stream's launches to the GPU in the order of the calls, and CUPTI numbers them
 * in that order (correlation ids). So the groups of records on a stream (all of one correlation id:
 * one kernel, or those of one graph launch) are the calls on it, less those whose record was lost.
 * A group can be a call's only if both are a graph's or both are not, grid and block agree, and the
 * kernel did not start before the call began. An assignment keeps the order and pairs only what
 * agrees; a group is tied to a call where every such assignment of all groups says the same, which
 * is so where the earliest and the latest one do. Time alone never ties anything.
 *
 * Where two threads were in calls on one stream at the same time, their order is not known, and
 * neither is tied. Where it is known that no record is missing, the n-th group is the n-th call,
 * whatever the clocks say; a pair that does not agree in grid and block is not tied. Pure.
 */
#ifndef KP_ANALYZERS_HOST_MATCH_H
#define KP_ANALYZERS_HOST_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call, or a group of records, has to agree in. */
struct kp_match_shape {
	uint64_t at_ns; /* when the call began, or the first kernel started; 0: unknown */
	uint32_t grid[3], block[3]; /* not of graphs; all 0: unknown, which agrees with any */
	uint32_t kernels;           /* of a graph: that it has, or that were recorded */
	bool graph;
	bool contended; /* of a call: another thread was in a call on the same stream meanwhile */
};

#define KP_MATCH_NONE SIZE_MAX
/* How much earlier than its call a kernel may seem to start: the error of two clocks. */
#define KP_MATCH_SLACK_NS 20000U
/* How many calls in a row may lack a record before a group is given up; */
#define KP_MATCH_REACH 4096U
/* and how many are looked at for each call and group, on average, before all the rest are. */
#define KP_MATCH_EFFORT 128U

/*
 * For each group, in order, the number of its call, in `call_of`; KP_MATCH_NONE: not tied. The
 * scratch has room for `group_count` numbers. `whole`: every call so far has its group, or will
 * have.
 */
void kp_match_in_order(const struct kp_match_shape *calls, size_t call_count,
		       const struct kp_match_shape *groups, size_t group_count, bool whole,
		       size_t *scratch, size_t *call_of);

#endif
