/*
 * What the timeline keeps while a report is built: private to report_timeline*.c.
 *
 * The trace is read once for gaps, exclusive time and what repeats; and once more where there are
 * iterations or phases to look at, but for iterations that were guessed. Nothing is hashed for each
 * launch.
 */
#ifndef KP_ANALYZERS_TIMELINE_BUILD_H
#define KP_ANALYZERS_TIMELINE_BUILD_H

#include "analyzers/along.h"
#include "analyzers/gap_calls.h"
#include "analyzers/iterations.h"
#include "analyzers/phase_pattern.h"
#include "analyzers/phases.h"
#include "analyzers/repetition.h"
#include "analyzers/report_timeline.h"
#include "analyzers/step_parts_build.h"
#include "analyzers/stream_order.h"

/* One launch configuration of one process. */
struct kp_line_config {
	uint32_t symbol_plus_one; /* 0: no launch yet */
	uint32_t lane, operator_index;
};

struct kp_line_process {
	struct kp_line_config *configs; /* NULL: no launch yet */
	uint8_t *names;                 /* of ranges: what they are, by string; NULL: none yet */
	struct kp_stretches phases[KP_PHASE_COUNT];
	struct kp_stretches steps; /* the ranges that are iterations */
	uint64_t phase_ranges[KP_PHASE_COUNT], step_ranges;
	struct kp_call_threads *threads; /* NULL: none of its calls is tied yet */
};

/* A way along stretches. */
struct kp_line_walk {
	const struct kp_stretches *stretches; /* NULL: none */
	size_t next;
	bool inside;
};

/* Prefill or decode in one use. */
struct kp_line_phase {
	struct kp_line_walk walk;
	uint64_t kernels, busy_ns, wall_ns;
	uint64_t begin_ns, busy_begin_ns; /* of the stretch that is open */
};

/* A GPU as one process uses it; numbered as the report's. */
struct kp_line_use {
	uint64_t position; /* launches so far */
	uint32_t newest_graph, graph_symbol_plus_one;
	struct kp_gap_calls calls;
	struct kp_phase_pattern pattern;
	size_t window; /* of the process, that is being read */
	/* Where its own kernels end so far, how long the GPU had been busy until then, and how long
	 * it was busy between its own kernels. */
	uint64_t own_end_ns, own_busy_ns, others_ns;
	/* The second time, or the first with a guess. */
	uint64_t eager_gaps, eager_ns, launch_gaps, launch_ns; /* see kp_iteration_mark */
	uint64_t launch_inferred_ns;                           /* of launch_ns, all in all */
	bool at_border;  /* an iteration that is a range began or ended in the gap before */
	bool found;      /* something repeats */
	uint32_t anchor; /* a symbol */
	struct kp_repetition repetition;
	struct kp_line_walk steps;
	struct kp_iterations *iterations; /* NULL: none to look at */
	struct kp_line_phase phases[KP_PHASE_COUNT];
};

/* Numbered as the report's. */
struct kp_line_gpu {
	struct kp_activities *activities;
	struct kp_gaps gaps, first; /* first: what the first reading found */
	struct kp_gap_verdicts verdicts;
	struct kp_stream_faults faults;
	uint64_t now_ns;    /* when the newest kernel began */
	uint64_t displaced; /* kernels that began before one that came earlier */
	uint64_t border_ns; /* the second time: nothing begins or ends on a walk before */
};

struct kp_build_timeline {
	struct kp_line_process *processes;
	struct kp_line_gpu *gpus;
	struct kp_line_use *uses;
	size_t gpu_count, gpu_capacity, use_count, use_capacity;
	struct kp_intern symbol_keys; /* (use, row) */
	struct kp_symbol *symbols;
	size_t symbol_capacity;
	uint8_t *tells; /* by symbol: enum kp_pattern_kernel */
	size_t tells_capacity;
	double *usual_ns;           /* of each symbol, in an iteration, when all was read once */
	size_t taken_room;          /* see kp_iterations */
	struct kp_intern lane_keys; /* (process, context, stream) */
	struct kp_stream_order *lanes;
	size_t lane_capacity;
	size_t waiting_most; /* of a GPU, see kp_limits_waiting */
	bool is_shown;       /* to what follows in order */
	struct kp_along along;
	struct kp_arena *arena; /* histograms */
	struct kp_steps *steps; /* NULL: not asked for */
};

/* report_timeline.c: room for the GPUs and uses that the report has; a batch of launches or memory
 * operations into the activities; one of ranges; the symbol of a kernel of a use. */
enum kp_status kp_line_reserve(struct kp_builder *builder);
enum kp_status kp_line_add(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_line_add_ranges(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_line_find_symbol(struct kp_build_timeline *line, uint32_t use, uint32_t row,
				   uint32_t *symbol);
/* Begins a GPU's timeline anew. */
enum kp_status kp_line_restart(struct kp_build_timeline *line, struct kp_line_gpu *gpu);
/* report_follow.c: when the window began in which a kernel of the use started; 0: no windows. */
uint64_t kp_line_window(struct kp_builder *builder, const struct kp_activity *kernel);
/* The symbol of a kernel that is the first of a graph launch; NULL: it is not. */
struct kp_symbol *kp_line_graph_begin(struct kp_build_timeline *line, struct kp_line_use *use,
				      const struct kp_activity *kernel);

/* report_timeline_again.c: finds what repeats; and reads the trace again for it, if need be. */
enum kp_status kp_line_find(struct kp_builder *builder);
enum kp_status kp_line_again(struct kp_builder *builder);

/* report_iterate.c: makes a use ready for its iterations, or not; a kernel of it, once the gap
 * before it is settled (NULL: none) and before it is run; where iterations of a use that are ranges
 * begin and end, up to an instant. */
enum kp_status kp_line_watch(struct kp_build_timeline *line, struct kp_line_use *use,
			     uint32_t period);
void kp_line_unwatch(struct kp_line_use *use);
enum kp_status kp_line_iterate(struct kp_build_timeline *line, size_t gpu,
			       const struct kp_activity *kernel, const struct kp_gap *gap,
			       const struct kp_symbol *graph);
enum kp_status kp_line_cross_steps(struct kp_build_timeline *line, size_t gpu, size_t number,
				   uint64_t until_ns);
/* The next border of a walk, UINT64_MAX: none is left; crosses it. */
uint64_t kp_line_next_border(const struct kp_line_walk *walk);
void kp_line_cross(struct kp_line_walk *walk);

/* report_path.c: an activity and the gap before it (NULL: none), when the trace is read again; into
 * the report. Errors: KP_NO_MEMORY. */
enum kp_status kp_line_path(struct kp_build_timeline *line, size_t gpu,
			    const struct kp_activity *item, const struct kp_gap *gap);
void kp_line_path_put(const struct kp_build_timeline *line, size_t gpu, uint64_t span_ns,
		      struct kp_idle_row *row);

/* report_steps.c: what iterations are made of, once these are in the timeline. */
enum kp_status kp_line_put_steps(const struct kp_builder *builder, struct kp_timeline *out);

#endif
