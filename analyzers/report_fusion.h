/* What the building of a report calls of fusion: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_FUSION_H
#define KP_ANALYZERS_REPORT_FUSION_H

#include "analyzers/activities.h"
#include "analyzers/report_build.h"

/*
 * Once labels are known; activities of the timeline, in order; all of it, when the ranking
 * stands. Without a timeline there is nothing. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_build_fusion_begin(struct kp_builder *builder);
enum kp_status kp_build_fusion_see(struct kp_builder *builder, const struct kp_activity *items,
				   size_t count);
enum kp_status kp_build_fusion_put(struct kp_builder *builder);
void kp_build_fusion_end(struct kp_builder *builder);

#endif
