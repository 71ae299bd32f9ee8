/* From chains to the report's candidates: private to fusion.c and report_fusion.c. */
#ifndef KP_ANALYZERS_FUSION_BUILD_H
#define KP_ANALYZERS_FUSION_BUILD_H

#include "analyzers/fusion_find.h"
#include "analyzers/report.h"

/*
 * Ranks what was found and puts it into the report, whose tables of kernels must stand; kernel_of[]
 * is the place in them of each row that a launch named. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_fusion_put(const struct kp_fusion_finder *finder,
			     const struct kp_operators *operators, const size_t *kernel_of,
			     struct kp_report *report);

#endif
