/* Processes that outlive CMD: those whose environment still leads to this recording. */
#ifndef KP_PROFILER_FOLLOWERS_H
#define KP_PROFILER_FOLLOWERS_H

#include <stddef.h>

/* How many processes run whose KPROF_LIVE is `live_path`, as far as this user may see them. */
size_t kp_followers_count(const char *live_path);

#endif
