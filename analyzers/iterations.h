/*
 * Iterations of one process on one GPU: their lengths, and which took long.
 *
 * The caller marks where iterations begin and end. The first ones are kept until the end, where
 * those before the run has settled are trimmed as warm-up: the leading ones that took more than
 * KP_WARMUP_RATIO times the median of all. Memory does not grow with their number. Not thread-safe.
 */
#ifndef KP_ANALYZERS_ITERATIONS_H
#define KP_ANALYZERS_ITERATIONS_H

#include "analyzers/gaps.h"

#define KP_WARMUP_RATIO 1.25
#define KP_WARMUP_MAX 64 /* fewer than that, and than half of all; else none is */

/* An instant, and what had happened until then. */
struct kp_iteration_mark {
	uint64_t at_ns, busy_ns, kernels;
	/* Of kp_gap_totals. The gap at the border between two iterations is in neither. */
	uint64_t eager_gaps, eager_ns, launch_gaps, launch_ns;
};

struct kp_iteration {
	uint64_t number, begin_ns;
	uint64_t wall_ns, busy_ns, kernels;
	uint64_t eager_gaps, eager_ns, launch_gaps, launch_ns;
	uint64_t longest_gap_ns;
	enum kp_gap_cause longest_gap_cause;
	uint32_t kernel;         /* symbol of the one that took most more than usual */
	uint64_t kernel_more_ns; /* 0: none did */
};

/* What each kernel took in the open iteration. */
struct kp_iteration_kernels {
	const double *usual_ns; /* by symbol: in an iteration, on average; borrowed */
	uint32_t *place;        /* by symbol: in `taken`, plus one; 0: not in it */
	struct kp_iteration_kernel {
		uint64_t total_ns;
		uint32_t symbol;
	} * taken;
	size_t count, capacity;
};

struct kp_iterations {
	struct kp_arena *arena; /* borrowed */
	uint32_t period;        /* launches that each should have; 0: any number */
	bool open;
	struct kp_iteration_mark begin;
	uint64_t longest_gap_ns;
	enum kp_gap_cause longest_gap_cause;
	struct kp_iteration_kernels kernels_taken; /* usual_ns NULL: not looked at */
	uint64_t found, irregular;
	struct kp_duration_tally all_walls; /* warm-up included */
	struct kp_iteration early[KP_WARMUP_MAX];
	/* of those that count */
	struct kp_duration_tally walls, busy, kernels;
	struct kp_iteration top[KP_OUTLIER_MAX];
	size_t top_count;
	double eager_gaps, eager_ns, launch_gaps, launch_ns;
};

/* Begins an iteration. */
void kp_iterations_begin(struct kp_iterations *iterations, const struct kp_iteration_mark *mark);
/* Ends it, if one is open. Errors: KP_NO_MEMORY. */
enum kp_status kp_iterations_end(struct kp_iterations *iterations,
				 const struct kp_iteration_mark *mark);
/*
 * Looks at what each kernel takes, too. The usual times, one a symbol, are borrowed; fini ends it.
 * Errors: KP_NO_MEMORY.
 */
enum kp_status kp_iterations_watch(struct kp_iterations *iterations, const double *usual_ns,
				   size_t symbols);
void kp_iterations_fini(struct kp_iterations *iterations);
/* A kernel in the open one, of a symbol that there was then. Errors: KP_NO_MEMORY. */
enum kp_status kp_iterations_kernel(struct kp_iterations *iterations, uint32_t symbol,
				    uint64_t duration_ns);
/* A gap in the open one. */
void kp_iterations_gap(struct kp_iterations *iterations, const struct kp_gap *gap);

/*
 * Fills all of the row that follows from the iterations. The caller has set what a graph leaves
 * between two kernels: node_low_ns and node_high_ns of the gain. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_iterations_finish(struct kp_iterations *iterations, struct kp_iteration_row *row);

#endif
