/* Trial launches of compilers while a report is built: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_TRIALS_H
#define KP_ANALYZERS_REPORT_TRIALS_H

#include "analyzers/report_build.h"

/* Launches of one configuration that were trials. */
struct kp_build_trial {
	uint64_t launches, graph_launches;
	uint64_t total_ns; /* of those that were timed; saturates */
};

/* Once labels are known; each batch of launches, in order. Nothing is done for processes that run
 * no kernel of the operator `autotuning`. Errors: KP_NO_MEMORY. */
enum kp_status kp_build_trials_begin(struct kp_builder *builder);
void kp_build_trials_see(struct kp_builder *builder, const struct kp_event *event);
void kp_build_trials_end(struct kp_builder *builder);

/* What of a configuration's launches were trials; zeroed: none. */
struct kp_build_trial kp_build_trials_of(const struct kp_builder *builder, uint32_t process,
					 size_t config);

#endif
