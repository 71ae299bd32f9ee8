/* The ways of a trace through the analyses of a report: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_PASSES_H
#define KP_ANALYZERS_REPORT_PASSES_H

#include "analyzers/relay.h"
#include "analyzers/report_build.h"

/* report.c: reads the whole trace once. Errors: KP_NO_MEMORY, those of the reader, the takers and
 * options->progress. */
enum kp_status kp_build_read(struct kp_builder *builder, struct kp_relay *relay);

/*
 * A batch of the trace goes through three analyses, each of which keeps to its own part of the
 * builder and may run beside the others; `context` is the builder. What all of them read (GPUs,
 * their uses, rows of kernels, slots of configurations) is made ready before, in report_prepare.c.
 */
bool kp_build_is_prepared(void *context, const struct kp_event *event);
enum kp_status kp_build_prepare(void *context, const struct kp_event *event);
/* report_read.c: durations, busy time, samples, clocks; the sums, after the last batch. */
enum kp_status kp_build_count(void *context, const struct kp_event *event);
void kp_build_count_finish(struct kp_builder *builder);
/* report_tally.c: the durations of a batch of launches; the end. */
enum kp_status kp_build_tally(struct kp_builder *builder, const struct kp_event *event);
void kp_build_tally_end(struct kp_builder *builder);
/* report_timeline.c: the timeline, and what is found along it. Where there are calls, also
 * what is tied to these: they say what gaps are. */
enum kp_status kp_build_follow(void *context, const struct kp_event *event);
/* report_ties.c: what is tied to ranges, or to calls. */
enum kp_status kp_build_tie(void *context, const struct kp_event *event);
/* Where a device of a process stands that is prepared; of one with samples alone only the GPU. */
struct kp_build_place {
	uint32_t gpu, use;
};
struct kp_build_place kp_build_place_of(const struct kp_builder *builder,
					const struct kp_process *process, uint32_t device);

#endif
