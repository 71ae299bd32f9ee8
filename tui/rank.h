/*
 * The rows that the view of operators shows: operators and the kernels beneath, with their times.
 *
 * It knows nothing of where they come from: a report fills them, and so may any other source of
 * sums, such as a running program's.
 */
#ifndef KP_TUI_RANK_H
#define KP_TUI_RANK_H

#include "analyzers/report.h"

struct kp_arena;

#define KP_RANK_NONE SIZE_MAX

struct kp_ranked_row {
	const char *name;    /* printable or not; short */
	const char *shown;   /* the name, with a word behind it where the report has one */
	const char *full;    /* of a kernel; NULL: its name is all */
	size_t operator_row; /* beneath which it is; KP_RANK_NONE: it is an operator */
	size_t kernel;       /* in the report; KP_RANK_NONE: it is no kernel of a report */
	uint64_t calls;
	struct kp_durations durations;
	struct kp_estimate estimate; /* with rank.estimated */
	struct kp_shares shares;
	const struct kp_row_traffic *traffic; /* NULL: none */
	uint32_t children;
	bool marked; /* above the threshold */
};

/* Each operator before its kernels. Names are borrowed from the source. */
struct kp_rank {
	struct kp_arena *arena; /* of what is shown instead of a name */
	struct kp_ranked_row *rows;
	size_t count;
	bool traffic;   /* some have traffic */
	bool shares;    /* of busy time and span are known */
	bool estimated; /* totals are the whole run's, estimated */
	double calls;   /* of all operators */
};

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_rank_of_report(struct kp_rank *rank, const struct kp_report *report);
void kp_rank_fini(struct kp_rank *rank);

#endif
