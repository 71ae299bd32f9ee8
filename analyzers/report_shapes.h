/* Shapes of a report's kernels and operators while it is built: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_SHAPES_H
#define KP_ANALYZERS_REPORT_SHAPES_H

#include "analyzers/report_build.h"

struct kp_build_shapes;

/*
 * Once the drafts' traffic stands: collects all shapes and sets `stability` of each draft. Then an
 * operator's, by its number in the rules (NULL: no memory). Then, with the drafts in the order of
 * report.kernels, places the shapes of both. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_build_shapes_kernels(struct kp_builder *builder, struct kp_build_draft *drafts,
				       size_t count);
const struct kp_stability *kp_build_shapes_operator(struct kp_builder *builder,
						    size_t operator_index);
enum kp_status kp_build_shapes_place(struct kp_builder *builder,
				     const struct kp_build_draft *drafts, size_t count);
void kp_build_shapes_end(struct kp_builder *builder);

#endif
