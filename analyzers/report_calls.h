/* Library calls of a report's launches while it is built: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_CALLS_H
#define KP_ANALYZERS_REPORT_CALLS_H

#include "analyzers/report_build.h"

struct kp_build_calls;

/* Launches of one configuration in one call of a process. */
struct kp_build_called {
	uint32_t process, config, call; /* numbers */
	uint64_t launches, graph_launches;
	uint64_t calls;    /* that they began */
	uint64_t total_ns; /* of those that were timed; saturates */
};

/* Before reading; a launch of a row; launches within calls; after each event; after all. Nothing is
 * done for processes without such calls. Errors: KP_NO_MEMORY. */
enum kp_status kp_build_calls_begin(struct kp_builder *builder);
enum kp_status kp_build_calls_launch(struct kp_builder *builder, const struct kp_process *process,
				     uint32_t row, const struct kp_launch *launch);
enum kp_status kp_build_calls_library(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_calls_settle(struct kp_builder *builder, const struct kp_event *event);
enum kp_status kp_build_calls_finish(struct kp_builder *builder);
void kp_build_calls_end(struct kp_builder *builder);
/* Whether anything is done for a process. */
bool kp_build_calls_wanted(const struct kp_builder *builder, const struct kp_process *process);

/* All that were tied; *count: how many. */
const struct kp_build_called *kp_build_calls_all(const struct kp_builder *builder, size_t *count);

#endif
