/*
 * When a report's GPUs ran and waited: idle time by cause, iterations, phases.
 *
 * gap_causes.h says what gaps and their causes are, timeline_steps.h what iterations are.
 */
#ifndef KP_ANALYZERS_TIMELINE_H
#define KP_ANALYZERS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/gap_causes.h"
#include "analyzers/path.h"
#include "analyzers/step_parts.h"
#include "analyzers/stream_order.h"
#include "analyzers/timeline_steps.h"

/* Gaps by length: bin i holds those below kp_gap_bins_ns[i], the last all longer ones. */
#define KP_GAP_BIN_COUNT 11
extern const uint64_t kp_gap_bins_ns[KP_GAP_BIN_COUNT - 1];
#define KP_GAP_LONGEST 8

struct kp_gap_part {
	uint64_t gaps, total_ns;
	uint64_t inferred_ns; /* of total_ns */
};

/* One long gap. */
struct kp_gap_long {
	uint64_t at_ns, length_ns;
	enum kp_gap_cause cause; /* of what is not memory operations */
	bool inferred;
	const char *before, *behind; /* the kernels' short names; NULL: none */
};

/* The idle time of one GPU, in the order of the report's GPUs. */
struct kp_idle_row {
	uint64_t idle_ns; /* sum of the parts */
	struct kp_gap_part parts[KP_GAP_CAUSE_COUNT];
	uint64_t synchronous_ns; /* of the part of memory operations: those that calls waited for */
	uint64_t gaps;           /* all */
	struct {
		uint64_t gaps, total_ns;
	} bins[KP_GAP_BIN_COUNT];
	uint64_t node_gaps; /* between kernels of one graph launch, without memory operations */
	double node_gap_median_ns;
	struct kp_gap_long longest[KP_GAP_LONGEST]; /* longest first */
	size_t longest_count;
	struct kp_path_parts path; /* path.h */
	uint64_t path_idle_ns; /* the rest of the span, in which nothing ran: it is on the path */
	/* What cannot be; kernel time less faults.overlap_ns is the clipped one. */
	struct kp_stream_faults faults;
};

struct kp_timeline {
	const struct kp_idle_row *idle; /* one a GPU of the report */
	const struct kp_iteration_row *iterations;
	size_t iteration_count;
	const struct kp_step_parts *parts; /* one a process on a GPU; NULL: not asked for */
	size_t part_count;
	const char *range;        /* that was asked for; NULL: iterations by repetition */
	uint64_t ranges_found;    /* of that name */
	uint64_t ranges_left_out; /* they overlap with others of that name */
	const struct kp_phase_row *phases;
	size_t phase_count;
};

#endif
