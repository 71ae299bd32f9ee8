/* A launch as expressions of rules see it. */
#ifndef KP_INJECT_AB_SEEN_H
#define KP_INJECT_AB_SEEN_H

#include "inject/ab.h"
#include "inject/ab_match.h"
#include "trace/ab_plan.h"

struct kp_ab_seen {
	const void *parameters[KP_AB_PARAMETERS_MOST];
	int64_t symbols[KP_AB_SYMBOL_COUNT];
	struct kp_ab_view view; /* of these */
};

/* False: not all parameters are given. */
bool kp_ab_see(const struct kp_ab_launch *launch, const struct kp_ab_layout *layout,
	       struct kp_ab_seen *out);

#endif
