/* Opens traces for a command, with words for the user when that fails. */
#ifndef KP_PROFILER_OPEN_H
#define KP_PROFILER_OPEN_H

#include "trace/reader.h"

/*
 * `count` files as one trace; NULL after saying which file is at fault, and why. Says so where a
 * process is in it twice, as in a trace and in what was merged of it: then it counts twice.
 */
struct kp_reader *kp_open_traces(const char *const *paths, size_t count);
/* The same, but a trace that has a process twice is refused. */
struct kp_reader *kp_open_different(const char *const *paths, size_t count);

#endif
