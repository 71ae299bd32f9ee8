/* What a rule makes of one launch or call: the replacement's arguments, and the declared data. */
#ifndef KP_INJECT_AB_JOB_H
#define KP_INJECT_AB_JOB_H

#include "inject/cuda_api.h"

#include "kernels/candidates.h"
#include "trace/ab_results.h"

/* Declared data: where it is, and what. */
struct kp_ab_data {
	enum kp_ab_role role;
	uint32_t number;         /* among the data that the rule declares */
	uint64_t address, bytes; /* of all, gaps between rows included */
	struct kp_matrix matrix;
};

struct kp_ab_job {
	const struct kp_ab_rule *rule;
	uint32_t number; /* of the rule */
	CUstream stream; /* never the null stream of a thread: that has a handle of its own */
	/* Memory for a replacement in a graph; 0: it runs, and its stream has memory. */
	uint64_t workspace;
	size_t workspace_bytes;
	/* By row of a built-in, or in order for the user's own; pointers are the program's. */
	int64_t values[KP_AB_ARGUMENT_ROW_COUNT];
	uint32_t grid[3], block[3], shared_bytes;
	struct kp_ab_data data[KP_AB_TENSORS_MOST];
	uint32_t data_count;
	/* A hash of all but the addresses: what was verified for one holds for it. */
	uint64_t shape;
};

/* A piece that is computed in float64 as well; ab_truth.c. */
#define KP_AB_PIECES 2
struct kp_ab_piece {
	bool used;
	uint32_t data;    /* of the job: the output that it is of */
	uint64_t scratch; /* where the candidate has written it */
	struct kp_piece piece;
};

/* Whether a rule's conditions hold. KP_AB_REASON_COUNT: yes; else why not. */
enum kp_ab_reason kp_ab_job_fits(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule,
				 const struct kp_ab_view *view);
/* Fills all but stream and workspace. KP_AB_REASON_COUNT: done; else why not. */
enum kp_ab_reason kp_ab_job_make(const struct kp_ab_plan *plan,
				 const struct kp_candidates *candidates, uint32_t number,
				 const struct kp_ab_view *view, struct kp_ab_job *out);
/* Whether argument `i` of a job is an address. */
bool kp_ab_job_is_pointer(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule, uint32_t i,
			  uint32_t *at);

#endif
