/*
 * Building what step_parts.h says, along the timeline of one GPU: private to report_timeline*.c.
 *
 * The caller goes through kernels in order of their start, and marks where iterations of a use (a
 * process on this GPU) begin and end. Memory does not grow with the trace but by the lengths of
 * iterations, up to KP_STEP_WALLS_MAX of each use. Not thread-safe.
 */
#ifndef KP_ANALYZERS_STEP_PARTS_BUILD_H
#define KP_ANALYZERS_STEP_PARTS_BUILD_H

#include "analyzers/gaps.h"
#include "analyzers/iterations.h"
#include "analyzers/step_parts.h"
#include "trace/arena.h"

/* Kernels that run at once on a GPU; what is beyond counts as others' for the rest of its time. */
#define KP_STEP_RUNNING_MAX 256
/* Kernels of iterations that may yet turn out to be warm-up; beyond, there are no parts. */
#define KP_STEP_EARLY_MAX ((size_t)1 << 20)

/* A neighbour that is seen more often than all others together, if there is one; else a likely
 * one (Boyer and Moore). */
struct kp_step_neighbour {
	uint32_t symbol_plus_one;
	uint32_t votes;
};

/* Of a symbol, see repetition.h. */
struct kp_step_symbol {
	double open_ns, total_ns;   /* in the open iteration; in those that count */
	uint64_t open_calls, calls; /* likewise */
	bool touched;               /* in the open iteration */
	struct kp_step_neighbour before, behind;
};

/* One that may be warm-up. */
struct kp_step_early {
	size_t first, count; /* in early_items */
	uint64_t wall_ns, busy_ns;
	uint64_t cause_ns[KP_GAP_CAUSE_COUNT];
};

struct kp_step_item {
	uint32_t symbol;
	double ns;
	uint64_t calls;
};

/* Of a use. */
struct kp_step_use {
	bool open;
	uint64_t begin_ns, begin_busy_ns;
	uint32_t last_symbol_plus_one;
	uint32_t *touched; /* symbols in the open iteration */
	size_t touched_count, touched_capacity;
	uint64_t open_cause_ns[KP_GAP_CAUSE_COUNT];
	struct kp_step_early *early; /* KP_WARMUP_MAX */
	size_t early_count;
	struct kp_step_item *items;
	size_t item_count, item_capacity;
	bool too_much; /* of early ones */
	uint64_t *walls_ns;
	size_t wall_count, wall_capacity;
	uint64_t found; /* regular ones */
	/* Those that count. */
	uint64_t count, wall_ns, busy_ns;
	uint64_t cause_ns[KP_GAP_CAUSE_COUNT];
};

/* A kernel that runs. */
struct kp_step_running {
	uint64_t end_ns;
	double since; /* on the clock */
	uint32_t symbol, use;
};

/* Of a GPU: the clock advances by dt / n while n kernels run. */
struct kp_step_gpu {
	uint64_t now_ns;
	double clock;
	size_t count;
	struct kp_step_running running[KP_STEP_RUNNING_MAX];
};

struct kp_steps {
	struct kp_step_symbol *symbols;
	struct kp_step_use *uses;
	struct kp_step_gpu *gpus;
	size_t symbol_count, use_count, gpu_count;
};

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_steps_create(size_t symbols, size_t uses, size_t gpus, struct kp_steps **out);
void kp_steps_destroy(struct kp_steps *steps); /* NULL is allowed */

/* All of these: KP_NO_MEMORY where they fail.
 * A kernel that starts, in order of time; after the borders up to there. */
enum kp_status kp_steps_kernel(struct kp_steps *steps, size_t gpu,
			       const struct kp_activity *kernel);
/* A gap before a kernel of the use of that number, as a whole in its open iteration or not at all.
 */
void kp_steps_gap(struct kp_steps *steps, size_t number, const struct kp_gap *gap);
enum kp_status kp_steps_begin(struct kp_steps *steps, size_t gpu, size_t number,
			      const struct kp_iteration_mark *mark);
/* `regular`: it counts. */
enum kp_status kp_steps_end(struct kp_steps *steps, size_t gpu, size_t number,
			    const struct kp_iteration_mark *mark, bool regular);

/*
 * The parts of a use's iterations but for the rows, `warmup` of which do not count; *out lives in
 * the arena. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_steps_finish(struct kp_steps *steps, size_t number, uint64_t warmup,
			       struct kp_arena *arena, struct kp_step_parts *out);

#endif
