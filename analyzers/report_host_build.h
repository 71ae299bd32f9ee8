/* What the building of a report calls of its host's side: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_HOST_BUILD_H
#define KP_ANALYZERS_REPORT_HOST_BUILD_H

#include "analyzers/report_build.h"

/* report_host.c. Before reading; each launch of a row; a batch of calls; what lies before the
 * watermark of a batch; after reading; a row; operators, by their index in the rules. Errors:
 * KP_NO_MEMORY. */
enum kp_status kp_build_host_begin(struct kp_builder *builder);
enum kp_status kp_build_host_launch(struct kp_builder *builder, const struct kp_process *process,
				    uint32_t row, const struct kp_launch *launch);
enum kp_status kp_build_host_calls(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_host_settle(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_host_finish(struct kp_builder *builder);
struct kp_host_times kp_build_host_row(const struct kp_builder *builder, uint32_t row);
enum kp_status kp_build_host_operators(struct kp_builder *builder,
				       const struct kp_build_draft *drafts,
				       struct kp_host_times *out);
/* Of rows joined to `groups` of them; group_of: by number of the row. */
enum kp_status kp_build_host_groups(struct kp_builder *builder, const size_t *group_of,
				    size_t groups, struct kp_host_times *out);
void kp_build_host_end(struct kp_builder *builder);

#endif
