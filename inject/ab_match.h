/*
 * Which rules a kernel may fit, by its name and its parameters: found out once for each function,
 * then one look into a table without locks. Functions whose modules were unloaded are found out
 * anew.
 */
#ifndef KP_INJECT_AB_MATCH_H
#define KP_INJECT_AB_MATCH_H

#include "analyzers/torch_launch.h"
#include "inject/ab_driver.h"
#include "trace/ab_plan.h"

/* Where a kernel's parameters lie. Immutable once it can be found. */
struct kp_ab_layout {
	uint32_t count;
	uint32_t offsets[KP_AB_PARAMETERS_MOST], bytes[KP_AB_PARAMETERS_MOST];
	uint32_t threads_most, shared_most; /* of a block; of shared memory, dynamic bytes */
	struct kp_torch_kind torch; /* of PyTorch's kernels, where a rule recognises any; or zero */
};

/* Compiles the patterns. False without memory. */
bool kp_ab_match_start(const struct kp_ab_plan *plan, const struct kp_ab_driver *driver);
/* Rules as bits, 0: none; then *layout is set. */
uint32_t kp_ab_match(CUfunction function, const struct kp_ab_layout **layout);
/* Members of sequences that it may be, likewise; by their places in the plan. */
uint64_t kp_ab_match_members(CUfunction function, const struct kp_ab_layout **layout);
/* Rules about products whose pattern fits a function's name, as bits; by enum kp_library_entry. */
uint32_t kp_ab_match_entry(uint64_t entry);
/*
 * Before a call by which functions go, and others may come at their addresses at once: what was
 * found out holds no longer, and while a thread is in KP_PASSAGE_LEAVING nothing is.
 */
void kp_ab_match_leave(void);

#endif
