/* The contents of a trace as text. */
#ifndef KP_PROFILER_PRINT_INFO_H
#define KP_PROFILER_PRINT_INFO_H

#include <stdio.h>

#include "profiler/contents.h"

void kp_print_info(FILE *file, const struct kp_contents *contents);

#endif
