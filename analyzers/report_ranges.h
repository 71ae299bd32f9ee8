/* What the building of a report calls of its ranges: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_RANGES_H
#define KP_ANALYZERS_REPORT_RANGES_H

#include "analyzers/host_ties.h"
#include "analyzers/phases.h"
#include "analyzers/report_build.h"

/* The kernels that the ranges of one phase own, of one process on one GPU. */
struct kp_owned_phase {
	uint64_t kernels, kernel_ns;
	uint64_t busy_ns;    /* one of them ran */
	uint64_t covered_ns; /* until then */
};

/* report_ranges.c. Before reading; a batch of ranges or runs; a batch of launches; a record and
 * its call, where calls are tied (NULL: it is not); what lies before the watermark of a batch;
 * after reading; into the report, when its totals stand. Errors: KP_NO_MEMORY. */
enum kp_status kp_build_ranges_begin(struct kp_builder *builder);
enum kp_status kp_build_ranges_event(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_ranges_launches(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_ranges_tied(struct kp_builder *builder, const struct kp_process *process,
				    const struct kp_tie_record *record,
				    const struct kp_host_call *call);
enum kp_status kp_build_ranges_settle(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_ranges_finish(struct kp_builder *builder);
enum kp_status kp_build_ranges_put(struct kp_builder *builder);
void kp_build_ranges_end(struct kp_builder *builder);
/* Of a use and phase, after reading; NULL: it is not known by launch. */
const struct kp_owned_phase *kp_build_ranges_phase(const struct kp_builder *builder, size_t use,
						   enum kp_phase phase);

#endif
