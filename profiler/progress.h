/*
 * How far a long analysis is: a line on the terminal that stderr is, from the second on that it
 * takes, and nothing of it left behind. Where stderr is no terminal there is none.
 */
#ifndef KP_PROFILER_PROGRESS_H
#define KP_PROFILER_PROGRESS_H

#include <stdbool.h>

#include "trace/reader.h"

/* The caller's; for kp_report_options.progress. */
struct kp_progress {
	bool wanted;
	bool shown;
	double begin_s, next_s; /* monotonic */
};

struct kp_progress kp_progress_begin(void);
/* Its context is the kp_progress. Always KP_OK. */
enum kp_status kp_progress_at(void *context, struct kp_reader_place place);
void kp_progress_end(struct kp_progress *progress);

#endif
