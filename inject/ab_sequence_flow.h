/*
 * What flows between the launches of a sequence, by address and extent: which buffers it takes in,
 * and which bytes of memory it leaves changed. No state, no allocation, no driver.
 */
#ifndef KP_INJECT_AB_SEQUENCE_FLOW_H
#define KP_INJECT_AB_SEQUENCE_FLOW_H

#include "trace/ab_plan.h"
#include "trace/ab_results.h"

struct kp_ab_flow_buffer {
	uint64_t address, bytes;
	bool bound;
	bool taken_in; /* read before any member had written it */
	bool written;
	bool covered; /* then another buffer was written over all of it */
};

/* Zero-initialised: no launch yet. */
struct kp_ab_flow {
	struct kp_ab_flow_buffer buffers[KP_AB_BUFFERS_MOST];
};

/*
 * What one launch does: all that it reads, then all that it writes. Nothing at address 0.
 * KP_AB_REASON_COUNT: it fits; else why not, and the flow is of no use any more.
 */
enum kp_ab_reason kp_ab_flow_add(struct kp_ab_flow *flow, const struct kp_ab_plan *plan,
				 const struct kp_ab_member *member, const struct kp_ab_view *view);

/*
 * The same for one access of a launch whose accesses are known, reads first: a buffer is what lies
 * there, whatever values it has held. What else must hold of values is to be proved elsewhere.
 */
enum kp_ab_reason kp_ab_flow_put(struct kp_ab_flow *flow, uint64_t address, uint64_t bytes,
				 bool writes);

/* What the replacement reads and writes. */
struct kp_ab_flow_data {
	enum kp_ab_role role;
	uint64_t address, bytes;
};
/*
 * Whether one launch in the place of all does the same to memory, but for buffers of `elided` that
 * it leaves as they were: *owed, as bits. Then the launches can still be made behind it, and leave
 * everything as without it. KP_AB_REASON_COUNT: yes.
 */
enum kp_ab_reason kp_ab_flow_check(const struct kp_ab_flow *flow,
				   const struct kp_ab_flow_data *data, size_t count,
				   uint32_t elided, uint32_t *owed);

#endif
