/*
 * What changed from one side to another, each of one or several runs: how much, whether that is
 * certain, and what moved it.
 *
 * A run is one trace. kp_run_create keeps of its report what a comparison needs, so that reports
 * can go one after the other and memory holds one at a time.
 *
 * The unit is an iteration where every run has iterations (timeline_steps.h), and else a whole run.
 * Its length is the sum of these parts, exactly, in picoseconds: of each kernel the time that it
 * ran, an instant being divided equally among all that run on that GPU then; idle time by cause.
 * So the differences of the parts add up to the difference of the lengths. Lengths are means over
 * all iterations of a side; with several GPUs or processes, over theirs too.
 *
 * The verdict is about the typical length: see diff_stats.h for the interval.
 */
#ifndef KP_ANALYZERS_DIFF_H
#define KP_ANALYZERS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/diff_run.h"
#include "analyzers/diff_stats.h"
#include "analyzers/diff_verdict.h"
#include "trace/arena.h"
#include "trace/status.h"

/* How a kernel of one side was found on the other: X(NAME, key) */
#define KP_DIFF_MATCHES(X)                                                                         \
	X(SAME, "same")         /* the same kernel */                                              \
	X(REPLACED, "replaced") /* another kernel in the same place */                             \
	X(GONE, "gone")         /* on the base side only */                                        \
	X(NEW, "new")           /* on the new side only */

enum kp_diff_match {
#define KP_DIFF_MATCH_ROW(NAME, key) KP_MATCH_##NAME,
	KP_DIFF_MATCHES(KP_DIFF_MATCH_ROW)
#undef KP_DIFF_MATCH_ROW
		KP_DIFF_MATCH_COUNT
};
const char *kp_diff_match_name(enum kp_diff_match match);

/* What a part is on one side. */
struct kp_diff_side {
	int64_t time_ps;  /* of a unit */
	double share_pct; /* of the unit's length */
	double calls;     /* a unit */
	/* Of all launches, anywhere in the traces: warm-up and all. */
	double launches, total_ns;
	double bytes, bytes_ns; /* to and from memory, where known, and the time of those */
	double mean_ns;         /* of a launch; NaN: none was timed */
	double median_ns;       /* likewise; of groups NaN */
	double gbps;            /* 1e9 bytes a second of kernel time; NaN: not known */
};

enum kp_diff_kind { KP_DIFF_KERNEL, KP_DIFF_OTHERS, KP_DIFF_IDLE };

/* A part of the unit's length. Sides: base, new. */
struct kp_diff_row {
	enum kp_diff_kind kind;
	enum kp_diff_match match;            /* of a kernel */
	const struct kp_run_row *kernels[2]; /* NULL: not on that side, or no kernel */
	unsigned cause;                      /* of idle time; KP_GAP_CAUSE_COUNT: it has none */
	size_t group;                        /* in groups[] */
	struct kp_diff_side sides[2];
	int64_t change_ps;
};

/* Rows that belong together: those of an operator, idle time, kernels of other processes. */
struct kp_diff_group {
	enum kp_diff_kind kind;
	const char *name; /* of the operator, by the base side where that has the kernel */
	size_t first_row, row_count;
	struct kp_diff_side sides[2];
	int64_t change_ps;
};

/* A whole side. */
struct kp_diff_total {
	const struct kp_run *const *runs; /* borrowed */
	size_t run_count;
	uint64_t units;    /* iterations, or runs */
	int64_t length_ps; /* of a unit, mean */
	int64_t busy_ps;   /* in which anything ran */
	double calls;      /* launches a unit */
	/* Of all runs, whatever the unit. */
	uint64_t kernel_ns, busy_ns, span_ns, launches;
};

struct kp_diff {
	enum kp_run_unit unit;
	struct kp_diff_total totals[2];
	int64_t change_ps; /* of the length: the sum of the rows' */
	struct kp_effect effect;
	double margin_pct;
	enum kp_verdict verdict;
	enum kp_verdict data_verdict; /* what it would be if they were comparable */
	bool same_recording;          /* they are the same traces */
	const struct kp_diff_obstacle *obstacles;
	size_t obstacle_count;
	const char *const *notes; /* sentences that say what else to know */
	size_t note_count;
	const struct kp_diff_group *groups; /* by how much they moved, most first */
	size_t group_count;
	const struct kp_diff_row *rows; /* by group, in its order; within by how much, likewise */
	size_t row_count;
	const struct kp_gate_outcome *gates; /* see gates.h; NULL: none was asked for */
	size_t gate_count;
	struct kp_arena *arena;
};

struct kp_diff_options {
	double margin_pct;         /* changes within are no difference */
	bool allow_not_comparable; /* obstacles do not keep the data's verdict from counting */
	const char *range;         /* iterations are the ranges of that name; NULL: by repetition */
};

/*
 * Compares the runs of two sides, each at least one; they must outlive *out. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_diff_build(const struct kp_run *const *base, size_t base_count,
			     const struct kp_run *const *fresh, size_t fresh_count,
			     const struct kp_diff_options *options, struct kp_diff **out);
void kp_diff_destroy(struct kp_diff *diff); /* NULL is allowed */

/* The bandwidth of a part; NaN where the bytes of a tenth of its time or more are not known. */
double kp_diff_gbps(const struct kp_diff_side *side);

/* Picoseconds of `sum_ns` when `count` units share it; adding up before gives the sum after. */
int64_t kp_diff_ps(int64_t sum_ns, uint64_t count);

#endif
