/*
 * Is one side slower than the other, and by how much at least and at most?
 *
 * Lengths of iterations are not independent: neighbours are alike, and runs drift. One run a side:
 * its iterations are cut into blocks of equal length in order of time, the medians of the blocks
 * are compared (Welch, on logarithms, so that the interval is of the ratio), and what likeness is
 * left between neighbouring blocks widens the interval. A beginning in which the run clearly had
 * not settled is left out. Long runs of equal numbers of iterations are compared block by block, so
 * that what both do as they go on (a step takes longer the longer the text is) is no difference.
 * What differs from run to run is not in the interval.
 * Several runs on a side: what differs between runs outweighs everything, so runs are compared
 * with runs, each by the median of its blocks, and the interval follows from how much they differ;
 * it is never narrower than what the blocks say. A side of a single run then borrows the spread of
 * the other. Deterministic; nothing is drawn at random.
 */
#ifndef KP_ANALYZERS_DIFF_STATS_H
#define KP_ANALYZERS_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/batches.h"
#include "trace/status.h"

/* Fewer iterations of a run have no interval. */
#define KP_STATS_LEAST 32
/* Runs of as many iterations and equal numbers of them are compared block by block. */
#define KP_STATS_PAIRS 384

/* Lengths in order of time, nanoseconds. */
struct kp_series {
	const double *values;
	size_t count;
};

struct kp_effect {
	bool known;               /* false: too little to tell, and the interval is nothing */
	bool between_runs;        /* the interval is of what differs between runs */
	double change_pct;        /* of the new side against the base; known or not */
	double low_pct, high_pct; /* 95 % interval */
	double typical_ns[2];     /* base, new; 0: nothing was long */
	double freedom;           /* degrees of freedom */
};

/*
 * Compares the runs of two sides. A series of a single value is a run whose length alone is known.
 * Errors: KP_NO_MEMORY.
 */
enum kp_status kp_stats_compare(const struct kp_series *base, size_t base_count,
				const struct kp_series *fresh, size_t fresh_count,
				struct kp_effect *out);

#endif
