/* The few questions that kprof asks the CUDA driver, which the program has loaded. */
#ifndef KP_INJECT_DRIVER_H
#define KP_INJECT_DRIVER_H

#include <stdbool.h>

#include "trace/records.h"

/* cuDriverGetVersion; false where there is no driver. */
bool kp_driver_version(uint64_t *out);
/* Facts of a device of this process, by CUDA ordinal: what the driver cannot tell stays absent. */
void kp_driver_describe(uint32_t ordinal, struct kp_device_info *info);

#endif
