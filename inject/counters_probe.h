/* The one question that kprof itself asks of this library, by dlopen and dlsym. */
#ifndef KP_INJECT_COUNTERS_PROBE_H
#define KP_INJECT_COUNTERS_PROBE_H

#include <stdbool.h>

/*
 * What is told of a device (-1: of all). It works: the chip and what is sampled; it does not: one
 * sentence with the remedy.
 */
typedef void (*kp_counters_tell)(void *context, int device, bool works, const char *text);

/*
 * int KprofProbeCounters(kp_counters_tell tell, void *context): returns the number of devices, 0
 * where the driver does not work. Some 400 ms a device. Settings as in counters_settings.h.
 */
#define KP_COUNTERS_PROBE_NAME "KprofProbeCounters"

#endif
