/* Opening a saved report of kprof ab. */
#ifndef KP_PROFILER_OPEN_AB_H
#define KP_PROFILER_OPEN_AB_H

#include <stdbool.h>

#include "analyzers/ab_saved.h"

/* Reads the file that --ab names; false after saying why. kp_ab_saved_fini frees in either case. */
bool kp_open_ab(const char *path, struct kp_ab_saved *out);

#endif
