/* What the building of a report calls of its timeline: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_TIMELINE_H
#define KP_ANALYZERS_REPORT_TIMELINE_H

#include "analyzers/host_ties.h"
#include "analyzers/report_build.h"

/* Before reading; the timeline alone of the first batches, and what repeats in it; after the last
 * batch; a record and its call; all of it, when the totals stand; into the report, when the ranking
 * stands; what others ran between the kernels of a process; exclusive times. Errors: KP_NO_MEMORY,
 * the reader's. */
enum kp_status kp_build_timeline_begin(struct kp_builder *builder);
enum kp_status kp_build_timeline_guess(struct kp_builder *builder);
enum kp_status kp_build_timeline_flush(struct kp_builder *builder);
enum kp_status kp_build_timeline_tied(struct kp_builder *builder, const struct kp_process *process,
				      const struct kp_tie_record *record,
				      const struct kp_host_call *call);
enum kp_status kp_build_timeline_settle(struct kp_builder *builder);
enum kp_status kp_build_timeline_put(struct kp_builder *builder);
uint64_t kp_build_timeline_others(const struct kp_builder *builder, size_t process);
uint64_t kp_build_timeline_row(const struct kp_builder *builder, uint32_t row);
uint64_t kp_build_timeline_operator(const struct kp_builder *builder, size_t operator_index);
/* Of a GPU, once all is in the timeline: how long kernels ran, and how many of them were out of
 * order of time. */
uint64_t kp_build_timeline_busy(const struct kp_builder *builder, size_t gpu);
uint64_t kp_build_timeline_displaced(const struct kp_builder *builder, size_t gpu);
/* report_path.c: time on the critical path. */
uint64_t kp_build_path_row(const struct kp_builder *builder, uint32_t row);
uint64_t kp_build_path_operator(const struct kp_builder *builder, size_t operator_index);
/* report.c: such a time's share of the span, percent. */
double kp_build_alone_pct(const struct kp_builder *builder, uint64_t alone_ns);
void kp_build_timeline_end(struct kp_builder *builder);

#endif
