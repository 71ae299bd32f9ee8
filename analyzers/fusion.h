/*
 * Fusion candidates: kernels that follow each other on one stream, again and again, and that one
 * kernel could do.
 *
 * Recorded launches do not say which buffers they read and write, so what is one chain rests on the
 * order of kernels alone (KP_FUSION_BY_PATTERN): a known chain of a rule in fusions.yaml, or
 * neighbours that work element by element. No launch counts in two candidates.
 *
 * Gains are ranges, in ns of all runs of a chain together:
 *   kernel time   the chain's less what remains of it. At best (high) the one kernel takes as long
 *                 as the chain's shortest step that handles whole tensors (KP_FUSION_WHOLE_STEP),
 *                 or where products before or behind can absorb the chain, no time. The last step
 *                 would be no bound: it may read more than the chain's inputs, and poorly. At
 *                 worst (low) it takes as long as the longest step, and as
 *                 long as the tensors take that one step alone reads or writes: if each step reads
 *                 one tensor that the one before it wrote, a sum of two tensors has two of its
 *                 three left at an end of the chain and one in the middle. Kernels that are
 *                 launched several times in a row are one step: they may be parts of it. Of chains
 *                 that no rule knows the data flow is not known, and low is 0.
 *                 Where counters tell the bytes of all kernels, and the chain keeps memory busy,
 *                 bytes count instead: low is what remains of them as above, at the chain's own
 *                 bandwidth; high is the first step's reads and the last one's writes at the
 *                 ceiling of memory.
 *   gaps          between the chain's kernels. Of each, low takes as much as a GPU needs between
 *                 two kernels that wait for nothing (KP_FUSION_GAP_NS); high takes all of it, which
 *                 holds where the program itself calls one kernel instead of many.
 *   low, high     kernel time and gaps together; low counts only the part in which nothing else
 *                 ran on the GPU.
 */
#ifndef KP_ANALYZERS_FUSION_H
#define KP_ANALYZERS_FUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/attribution.h"

/* A chain that occurs less often is none. */
#define KP_FUSION_RUNS_LEAST 5
/* What a GPU needs between two kernels of one stream. */
#define KP_FUSION_GAP_NS 1000
/* Longer gaps end a chain: something else happened between. */
#define KP_FUSION_GAP_MAX_NS 100000
/* Kernels of a chain. */
#define KP_FUSION_STEPS_MAX 32
/* Candidates that a report keeps, those with most to win. */
#define KP_FUSION_ROWS_MAX 64
/* A step handles whole tensors if it takes at least the longest one's time divided by this. */
#define KP_FUSION_WHOLE_STEP 4
/* The default report mentions fusion from this share of the span on (of the high end). */
#define KP_FUSION_TELL_PCT 3

/* X(NAME, name): what the data flow of a chain is known from. */
#define KP_FUSION_FLOWS(X)                                                                         \
	X(BY_PATTERN, "pattern")       /* the order of kernels, which recurs */                    \
	X(BY_PARAMETERS, "parameters") /* the launches' own: no trace has them yet */

enum kp_fusion_flow {
#define KP_FUSION_FLOW_ROW(NAME, name) KP_FUSION_##NAME,
	KP_FUSION_FLOWS(KP_FUSION_FLOW_ROW)
#undef KP_FUSION_FLOW_ROW
};

/* X(NAME, name): how sure it is that the chain is what its name says. */
#define KP_FUSION_CONFIDENCES(X)                                                                   \
	X(LOW, "low") /* neighbours only */                                                        \
	X(MEDIUM,                                                                                  \
	  "medium")     /* the order that a rule knows, of kernels that occur elsewhere, too */    \
	X(HIGH, "high") /* such an order that means nothing else */

enum kp_fusion_confidence {
#define KP_FUSION_CONFIDENCE_ROW(NAME, name) KP_FUSION_##NAME,
	KP_FUSION_CONFIDENCES(KP_FUSION_CONFIDENCE_ROW)
#undef KP_FUSION_CONFIDENCE_ROW
};

struct kp_range_ns {
	double low, high;
};

/* One step of a chain. Where several kernels do it, the one of the runs with most time is named. */
struct kp_fusion_member {
	size_t kernel;              /* in the report's kernels[] */
	const char *step;           /* "mul", "cast", …: of fusions.yaml */
	uint64_t total_ns;          /* in all runs of the chain */
	uint32_t grid[3], block[3]; /* the usual ones */
};

struct kp_fusion_row {
	const char *id; /* the same in every report of the same kernels: fusion:rmsnorm:1f2e3d4c */
	const char *name;    /* "RMSNorm", "elementwise chain", … */
	const char *about;   /* what takes its place, a sentence; NULL: nothing is known */
	const char *builtin; /* kprof's own kernel for it, perhaps to come; NULL: none */
	enum kp_fusion_flow flow;
	enum kp_fusion_confidence confidence;
	bool known;                             /* a rule knows the chain */
	bool absorbed;                          /* it belongs into the product before it */
	const struct kp_fusion_member *members; /* in order */
	size_t member_count;
	uint64_t runs, graph_runs;     /* graph_runs: of runs, within CUDA graphs */
	uint64_t kernel_ns;            /* of all members in all runs */
	uint64_t gap_ns, graph_gap_ns; /* between the members; graph_gap_ns: of gap_ns */
	double alone_pct;              /* of its kernels' time, in which nothing else ran */
	/* Bytes to and from device memory of all runs: of the members, and what one kernel saves.
	 * NaN without counters. */
	double bytes, bytes_saved_low, bytes_saved_high;
	enum kp_traffic_source bytes_source;
	bool by_bytes; /* the kernel time to win rests on bytes */
	struct kp_range_ns kernel_gain, gap_gain, gain;
	double gain_low_pct, gain_high_pct; /* of the span */
};

/* All of a report's; sums are of chains that a rule knows. Zeroed where no timeline was asked for.
 */
struct kp_report_fusion {
	const struct kp_fusion_row *rows; /* by the middle of gain, most first */
	size_t count;
	size_t more;       /* candidates beyond KP_FUSION_ROWS_MAX */
	uint64_t launches; /* in candidates */
	uint64_t launches_saved;
	uint64_t left_out; /* runs beyond what is kept of different chains */
	struct kp_range_ns gain;
	double gain_low_pct, gain_high_pct;
};

const char *kp_fusion_flow_name(enum kp_fusion_flow flow);
const char *kp_fusion_confidence_name(enum kp_fusion_confidence confidence);

#endif
