/*
 * Is the shape fixed enough to specialise? Shapes of kernels and operators, and how stable they
 * are.
 *
 * A shape is what a launch was asked to work on, as far as that is known: of a library call m, n,
 * k, batch, types, transpositions and epilogue (matrix product), or sizes by name (convolution,
 * attention); of a kernel whose parameters are known by rule, sizes by name; else grid, block and
 * shared memory. A grid says how the work was cut, not what it was: m, n, k are not known from it.
 *
 * Growth. In generation a length grows with every step, and with it the grid: many shapes, but one
 * kernel that takes the length at run time serves them all. A dimension `grows with position` where
 * its values, in the order in which each first appears in a process, rise for longer than chance
 * could make them; see shape_growth.h. A second request that begins at the first length again
 * changes nothing, for only first appearances count.
 *
 * Versions are the fewest shapes that together hold KP_SHAPES_HELD_PCT of the time, where shapes
 * that differ only in dimensions that grow count as one. The verdict follows from them:
 *   1                          single version
 *   2 … KP_SHAPES_FEW_MOST        a few versions with dispatch
 *   more                       not worth it
 *   fewer than KP_SHAPES_LEAST launches, or none timed: unknown
 * Of an operator those of one kernel count, the most that any of the kernels needs which together
 * hold KP_SHAPES_HELD_PCT of its time: each is a place in the program of its own, and a step of an
 * operator that is written out is no shape of it. Library calls of an operator count as one kernel.
 *
 * Trials. What a compiler launches to choose a kernel (report_trials.c) has shapes that the program
 * never asks for; they are left out and told.
 *
 * Graph nodes keep the grid with which they were captured. Where most launches are graph nodes and
 * their grid is all there is, a length that varies as a parameter is not seen: `hidden`. So it is
 * where a single grid takes times that spread by more than KP_SHAPES_SPREAD.
 */
#ifndef KP_ANALYZERS_SHAPES_H
#define KP_ANALYZERS_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/attribution.h"
#include "analyzers/call_work.h"
#include "analyzers/shape_dims.h"
#include "trace/library_call.h"
#include "trace/records.h"

#define KP_SHAPES_HELD_PCT 90.0
#define KP_SHAPES_FEW_MOST 8
#define KP_SHAPES_LEAST 8
/* A dimension varies if launches that differ in it from the top shape have more of the time. */
#define KP_SHAPES_VARIES_PCT 1.0
/* One fixed grid, and durations that spread more (standard deviation ÷ mean): something varies. */
#define KP_SHAPES_SPREAD 0.25
/* So many, those with most time, are listed. */
#define KP_SHAPES_LISTED 16

/* X(NAME, name) */
#define KP_SHAPES_VERDICTS(X)                                                                      \
	X(UNKNOWN, "unknown")                                                                      \
	X(SINGLE, "single version")                                                                \
	X(FEW_VERSIONS, "a few versions with dispatch")                                            \
	X(NOT_WORTH, "not worth it")

enum kp_shapes_verdict {
#define KP_SHAPES_VERDICT_ROW(NAME, name) KP_SHAPES_##NAME,
	KP_SHAPES_VERDICTS(KP_SHAPES_VERDICT_ROW)
#undef KP_SHAPES_VERDICT_ROW
};

/* Launches of one kernel in one shape in one process; or, merged, of one shape. */
struct kp_shape_use {
	uint32_t row;                          /* which kernel */
	uint32_t process;                      /* in which firsts are in order */
	const struct kp_launch_config *config; /* its grid, block and shared memory */
	const struct kp_library_call *call;    /* NULL: the shape is the launch's */
	uint32_t detail;         /* number of the text of call->detail, over all processes */
	uint32_t names;          /* likewise of call->names */
	struct kp_text sizes;    /* that text: «b,h,…»; empty: there is none */
	uint64_t launches;       /* timed or not */
	uint64_t graph_launches; /* of them */
	uint64_t calls;          /* library calls that they began; else launches */
	uint64_t total_ns;       /* of timed launches; saturates */
	uint64_t first;          /* order of its first launch in the process */
	uint64_t trials,
		trial_ns; /* launches of a compiler that tries kernels: not in the others */
	double bytes;     /* moved by all launches; NaN: not known */
	enum kp_traffic_source bytes_source; /* KP_TRAFFIC_UNKNOWN: not known */
};

/* One shape of a kernel or an operator. */
struct kp_shape {
	struct kp_shape_use use; /* added up; row: that with most time where several have it */
	size_t kernel;           /* its place in report.kernels[] */
	struct kp_text detail;   /* what the call does, in the library's words; empty: not said */
	double share_pct;        /* of the time of the kernel or operator */
	struct kp_work work;     /* modelled, of a library call; NaN where the source is a launch */
	double bytes_per_call;   /* moved: by a library call, else a launch; NaN: not known */
	double waste;            /* bytes_per_call ÷ work.least_bytes; NaN: not known */
};

/* What a kernel's or an operator's shapes are like. */
struct kp_stability {
	enum kp_shapes_verdict verdict;
	const char *reason;           /* one sentence */
	uint64_t count;               /* shapes, exact */
	uint64_t versions;            /* 0: nothing was timed */
	uint64_t versions_each;       /* of one kernel, see above; of a kernel: all of them */
	uint64_t kernels;             /* that the versions belong to; a library call's: one each */
	double top_pct, top_five_pct; /* of its time in the top shape, and in the top five */
	double called_pct;            /* of its time in shapes of library calls */
	double parameters_pct;        /* likewise of kernels' parameters */
	/* Of sizes by name: that of the shapes that vary most in it; NULL: none has such a size. */
	const char *sizes[KP_LIBRARY_SIZES];
	uint32_t varies, grows;        /* bits 1 << enum kp_shape_dim */
	uint64_t trials, trial_ns;     /* launches of autotuning, which nothing else here counts */
	double steady_ns;              /* the time that all shares here are of */
	bool hidden;                   /* what varies as a parameter may not be seen */
	const struct kp_shape *shapes; /* by time, KP_SHAPES_LISTED at most */
	size_t shape_count;
};

/* With the name of a size by name, as far as it is known. */
const char *kp_stability_dim_name(const struct kp_stability *stability, enum kp_shape_dim dim);
/* The name of a size in «b,h,…»; empty: it has none. `size`: 0, 1, … */
struct kp_text kp_shape_size_name(struct kp_text names, unsigned size);
enum kp_shape_source kp_shape_source(const struct kp_shape_use *use);
const char *kp_shapes_verdict_name(enum kp_shapes_verdict verdict);

#endif
