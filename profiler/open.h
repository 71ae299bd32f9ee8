/* Opens traces for a command, with words for the user when that fails. */
#ifndef KP_PROFILER_OPEN_H
#define KP_PROFILER_OPEN_H

#include "trace/reader.h"

/* `count` files as one trace; NULL after saying which file is at fault, and why. */
struct kp_reader *kp_open_traces(const char *const *paths, size_t count);

#endif
