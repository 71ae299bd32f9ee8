/* What a comparison is made of while it is made: private to diff*.c. */
#ifndef KP_ANALYZERS_DIFF_BUILD_H
#define KP_ANALYZERS_DIFF_BUILD_H

#include "analyzers/diff.h"
#include "trace/intern.h"

#define KP_LEAF_NONE UINT32_MAX

/* A kernel on one side, all its runs together. */
struct kp_diff_leaf {
	const struct kp_run_row *row; /* of the run with most of its time; NULL: not on this side */
	uint64_t part_ns, calls;      /* in units */
	uint64_t calls_all, total_ns, known_ns; /* of all launches; known: with bytes */
	double bytes;
	uint32_t before, behind; /* leaves; KP_LEAF_NONE: none */
	uint32_t other;          /* the leaf that it is on the other side; likewise */
	bool replaced;           /* that is another kernel */
};

/* Whether it has a part in units. */
static inline bool kp_leaf_has_part(const struct kp_diff_leaf *leaf)
{
	return leaf->row && (leaf->part_ns || leaf->calls);
}

struct kp_differ {
	struct kp_diff *diff;
	struct kp_intern keys;         /* (mangled, operator, variant): numbers of leaves */
	struct kp_diff_leaf *sides[2]; /* each keys.count */
};

/* diff_match.c: fills `other` of all leaves that have a part in units. Errors: KP_NO_MEMORY. */
enum kp_status kp_diff_match(struct kp_differ *differ);

/* diff_verdict.c: effect, obstacles, notes, verdict; all but the rows must stand. Errors:
 * KP_NO_MEMORY. */
enum kp_status kp_diff_judge(struct kp_differ *differ, const struct kp_diff_options *options);

#endif
