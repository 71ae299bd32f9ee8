/* Which NVTX ranges an option means: NAME, NAME:N or NAME:N-M. */
#ifndef KP_PROFILER_RANGE_CHOICE_H
#define KP_PROFILER_RANGE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/control.h"

/* The ranges of a name from the first-th to the last-th, counted from 1. A name that ends like that
 * itself is given with «:1-» behind it. */
struct kp_range_choice {
	char name[KP_RANGE_MAX_BYTES];
	uint64_t first, last;
};

/* False: it is none. */
bool kp_range_choice_parse(const char *text, struct kp_range_choice *choice);

#endif
