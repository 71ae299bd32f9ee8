/*
 * Iterations of one process on one GPU: their lengths, and which took long.
 *
 * The caller marks where iterations begin and end. The first ones are kept until the end, where
 * those before the run has settled are trimmed as warm-up: the leading ones that took more than
 * KP_WARMUP_RATIO times the median of all. Memory does not grow with their number. What kernels
 * usually take is known when all is read: until then those of the iterations that may be shown are
 * kept. Not thread-safe.
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
	struct kp_iteration_kernel *taken; /* what each kernel took; NULL: it is the open one */
	size_t taken_count;
};

struct kp_iteration_kernel {
	uint64_t total_ns;
	uint32_t symbol;
};

/* What each kernel took in the open iteration. */
struct kp_iteration_kernels {
	struct kp_iteration_slot {
		uint64_t total_ns;
		uint32_t of; /* the iteration of that number */
	} * slots;           /* by symbol */
	uint32_t *symbols;   /* of the open one; there is room for all and one more */
	size_t slot_count, symbol_capacity, count;
	uint32_t open; /* its number, from 1 on */
};

struct kp_iterations {
	struct kp_arena *arena; /* borrowed */
	size_t *room;           /* entries of `taken` that may yet be kept; borrowed */
	uint32_t period;        /* launches that each should have; 0: any number */
	bool open;
	struct kp_iteration_mark begin;
	uint64_t longest_gap_ns;
	enum kp_gap_cause longest_gap_cause;
	struct kp_iteration_kernels kernels_taken;
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
void kp_iterations_fini(struct kp_iterations *iterations);
/* Makes room for a symbol. Errors: KP_NO_MEMORY. */
enum kp_status kp_iterations_reserve(struct kp_iterations *iterations, uint32_t symbol);

/* A kernel in the open one. Errors: KP_NO_MEMORY. */
static inline enum kp_status kp_iterations_kernel(struct kp_iterations *iterations, uint32_t symbol,
						  uint64_t duration_ns)
{
	struct kp_iteration_kernels *kernels = &iterations->kernels_taken;
	struct kp_iteration_slot *slot;
	bool is_new;

	if (!iterations->open)
		return KP_OK;
	if (symbol >= kernels->slot_count && kp_iterations_reserve(iterations, symbol) != KP_OK)
		return KP_NO_MEMORY;
	/* No branch: whether it has run in this iteration is as good as chance. */
	slot = &kernels->slots[symbol];
	is_new = slot->of != kernels->open;
	kernels->symbols[kernels->count] = symbol;
	kernels->count += is_new;
	slot->total_ns = (slot->total_ns & ((uint64_t)is_new - 1)) + duration_ns;
	slot->of = kernels->open;
	return KP_OK;
}

/* A gap in the open one. */
void kp_iterations_gap(struct kp_iterations *iterations, const struct kp_gap *gap);

/*
 * Fills all of the row that follows from the iterations. `usual_ns`: what each kernel takes in one
 * on average, by symbol. The caller has set what a graph leaves between two kernels: node_low_ns
 * and node_high_ns of the gain. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_iterations_finish(struct kp_iterations *iterations, const double *usual_ns,
				    struct kp_iteration_row *row);

#endif
