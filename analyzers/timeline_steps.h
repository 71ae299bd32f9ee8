/*
 * Iterations and phases, as a timeline has them. What repeats, and so is an iteration, is found as
 * repetition.h says; its length, warm-up and outliers follow from iterations.h.
 */
#ifndef KP_ANALYZERS_TIMELINE_STEPS_H
#define KP_ANALYZERS_TIMELINE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/gap_causes.h"
#include "trace/reader.h"

/* Of one number over many iterations. With count = 0 the rest is 0. */
struct kp_spread {
	uint64_t count, min, max;
	double mean, median, p5, p90, p95, p99;
	double cv; /* coefficient of variation: standard deviation ÷ mean */
};

struct kp_iteration_outlier {
	uint64_t number;   /* from 0, warm-up included */
	uint64_t begin_ns; /* on the trace's clock */
	uint64_t wall_ns, busy_ns, kernels;
	uint64_t longest_gap_ns; /* in it */
	enum kp_gap_cause longest_gap_cause;
	/* The kernel that took most more than it does in an iteration on average, all its launches
	 * in it together; short name. NULL: none did, or it is not known. */
	const char *kernel;
	uint64_t kernel_more_ns;
	uint32_t kernel_symbol; /* the builder's */
};
#define KP_OUTLIER_MAX 8

/* What launching an iteration as a CUDA graph would save; modelled. */
struct kp_graph_gain {
	uint64_t gaps;                    /* between launches without a graph, an iteration */
	double low_ns, high_ns;           /* saved, an iteration */
	double node_low_ns, node_high_ns; /* what a graph leaves between kernels */
	bool node_measured;               /* in this trace; else elsewhere */
};

/* The iterations of one process on one GPU. */
struct kp_iteration_row {
	size_t gpu; /* of the report's */
	const struct kp_process *process;
	bool by_range; /* else by repetition */
	const char
		*anchor; /* the range; or the kernel that begins each, short name; NULL: a graph */
	uint64_t count;  /* counted, warm-up not included */
	uint64_t warmup; /* trimmed from the start */
	uint64_t irregular;     /* stretches between anchors of another length, not counted */
	uint64_t wall_total_ns; /* of those counted */
	struct kp_spread wall, busy, kernels; /* wall and busy: ns */
	double launch_ns;                     /* launch-bound gaps, mean of an iteration */
	bool launch_inferred;                 /* most of it; else measured */
	bool launch_bound;                    /* at least KP_LAUNCH_BOUND_PCT of the wall time */
	struct kp_graph_gain gain;
	uint64_t outlier_count; /* that took KP_OUTLIER_RATIO times the median or longer */
	struct kp_iteration_outlier outliers[KP_OUTLIER_MAX]; /* longest first */
	size_t outliers_shown;
};

#define KP_LAUNCH_BOUND_PCT 20
#define KP_OUTLIER_RATIO 1.5

/* Prefill or decode on one GPU. */
struct kp_phase_row {
	const char *name; /* "prefill", "decode" */
	size_t gpu;
	const struct kp_process *process;
	uint64_t ranges;  /* NVTX ranges of that name */
	uint64_t wall_ns; /* their union */
	bool by_pattern;  /* by its attention kernels (phase_pattern.h); else by ranges */
	bool by_launch;   /* the ranges own kernels by launch (ranges.h), else by time */
	uint64_t kernels; /* that they own; else that started in wall_ns */
	uint64_t busy_ns; /* in which one of these ran; else of the GPU in wall_ns */
};

#endif
