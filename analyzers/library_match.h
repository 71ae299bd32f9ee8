/*
 * Which kernel records are of which launches in library calls, by counting.
 *
 * The hooks count the kernels that a process launches, and a launch in a call knows how many came
 * before it (its ordinal). CUPTI numbers all launches in their order (correlation ids), so how many
 * records have a lower one, a record's position, is the same number. It may differ:
 * - while a launch was under way, others may have come between: the `before` that were counted
 *   meanwhile may stand behind it, and of each of the `others`, threads that had launched before,
 *   one that was not counted yet may stand before it. So the position is from ordinal - before to
 *   ordinal + others;
 * - records may be missing: each makes the positions behind it one less, `missing` in all;
 * - kernels may have been recorded that were not counted: `excess` in all.
 * A record can be a launch's only if its position is in that span and grid and block agree.
 *
 * On one stream the records of launches stand in the order of the launches. Where none is missing,
 * of all assignments that keep the order the earliest and the latest one are looked at: a record is
 * tied where both give it launches of the same call.
 *
 * Missing records only add up. A launch that can have one record alone, which no other launch can
 * have, says how many are missing before it; where it is as many as before the one that says so
 * next, it is as many for all between, and their positions are known by that, if all of them agree.
 * What lies between two that differ is not tied, nor is anything that other threads' launches may
 * have moved. Where it is not known how many are missing, nothing is. Time never ties anything.
 * Pure.
 */
#ifndef KP_ANALYZERS_LIBRARY_MATCH_H
#define KP_ANALYZERS_LIBRARY_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A launch, in order of its ordinal. */
struct kp_library_ask {
	uint64_t ordinal, before, others;
	uint32_t grid[3], block[3]; /* all 0: unknown, which agrees with any */
	uint32_t kernels;           /* of a graph: that a launch has */
	uint64_t what;              /* equal: launches of the same part of equal calls */
	bool graph;
};

/* A record, or those of one launch of a graph, in order of position. */
struct kp_library_offer {
	uint64_t position;
	uint32_t grid[3], block[3];
	uint32_t kernels; /* of a graph: that were recorded */
	bool graph;
};

#define KP_LIBRARY_UNKNOWN UINT64_MAX

struct kp_library_slack {
	uint64_t missing; /* records, in all; KP_LIBRARY_UNKNOWN: any number */
	uint64_t excess;
};

#define KP_LIBRARY_NONE SIZE_MAX
/* How many offers are looked at for each launch, at most. */
#define KP_LIBRARY_REACH 1024U

/*
 * For each offer, in `ask_of`, the number of a launch that says what it is; KP_LIBRARY_NONE: none.
 * The scratch has room for 2 * ask_count numbers.
 */
void kp_library_match(const struct kp_library_ask *asks, size_t ask_count,
		      const struct kp_library_offer *offers, size_t offer_count,
		      struct kp_library_slack slack, size_t *scratch, size_t *ask_of);

/* Whether sizes agree: the same, or one of them is unknown. */
bool kp_library_agree(const uint32_t grid[3], const uint32_t block[3], const uint32_t other_grid[3],
		      const uint32_t other_block[3]);

#endif
