/*
 * The options about hardware counters: checked before the program starts, and handed to its
 * collector (inject/counters_settings.h).
 */
#ifndef KP_PROFILER_COUNTER_OPTIONS_H
#define KP_PROFILER_COUNTER_OPTIONS_H

#include <stdbool.h>

#include "profiler/settings.h"

/* The names of --counter-set, ended by NULL. */
extern const char *const kp_counter_set_names[];

/*
 * Says what is wrong with them and returns false: with «on», also where no GPU of this machine lets
 * its counters be sampled. `library` is the collector's.
 */
bool kp_counter_options_check(const struct kp_settings *settings, const char *library);
/* Puts them into this process's environment, which the program inherits. False without memory. */
bool kp_counter_options_export(const struct kp_settings *settings);

#endif
