/* Which launches fit sequences, one after the other. Private to inject/ab_sequence*.c; with the
 * lock. */
#ifndef KP_INJECT_AB_SEQUENCE_MATCH_H
#define KP_INJECT_AB_SEQUENCE_MATCH_H

#include "analyzers/torch_sequence.h"
#include "inject/ab_job.h"
#include "inject/ab_match.h"
#include "inject/ab_sequence_flow.h"

/* A launch as it was copied. */
struct kp_ab_held {
	CUfunction function;
	const struct kp_ab_layout *layout;
	uint32_t grid[3], block[3], shared_bytes;
	uint64_t members; /* that it may be, as bits */
	size_t used;      /* of the bytes */
	void *parameters[KP_AB_PARAMETERS_MOST];
	char bytes[4096] __attribute__((aligned(16)));
};

#define KP_AB_ABSENT 0xff
/* A sequence under way. */
struct kp_ab_under_way {
	uint32_t next;                        /* the member that is expected, or one behind it */
	uint8_t launches[KP_AB_MEMBERS_MOST]; /* which launch a member is, or ABSENT */
	uint32_t known;                       /* buffers whose memory was looked up, as bits */
	struct kp_ab_flow flow;
	struct kp_torch_sequence recognised; /* of such a rule, where it is complete; the last */
};

/*
 * The next launch, number `at` of those that are held, of a sequence that is under way. COUNT: it
 * fits, and *complete says whether it was the last; else why not.
 */
enum kp_ab_reason kp_ab_sequence_advance(const struct kp_ab_plan *plan, uint32_t rule,
					 struct kp_ab_under_way *state, CUcontext context,
					 const struct kp_ab_held *launch, uint32_t at,
					 bool *complete);
/*
 * What the replacement is, of a sequence that is complete; *owed: buffers that it leaves unwritten,
 * as bits. COUNT: it may run; else why not.
 */
enum kp_ab_reason kp_ab_sequence_job(uint32_t rule, const struct kp_ab_under_way *state,
				     const struct kp_ab_held *held, struct kp_ab_job *out,
				     uint32_t *owed);

#endif
