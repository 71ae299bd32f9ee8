/* Programs that ran without kprof, as the shared mapping lists them. */
#ifndef KP_PROFILER_UNTRACED_H
#define KP_PROFILER_UNTRACED_H

#include "trace/live.h"
#include "trace/status.h"

/* Appends each to the trace `fd` (O_APPEND): a process record, and a note that says why. */
enum kp_status kp_untraced_append(const struct kp_live *live, int fd);
/* Says one line of the first, and how many more there are; nothing where there is none. */
void kp_untraced_say(const struct kp_live *live);

#endif
