/*
 * The options about windows and filters: checked before the program starts, and handed to its
 * collector (inject/window_settings.h) as plain numbers and texts.
 */
#ifndef KP_PROFILER_WINDOW_OPTIONS_H
#define KP_PROFILER_WINDOW_OPTIONS_H

#include <stdbool.h>

#include "profiler/settings.h"

/* Says what is wrong with them and returns false. */
bool kp_window_options_check(const struct kp_settings *settings);
/* Puts them into this process's environment, which the program inherits; what was not asked for is
 * taken out. False without memory. */
bool kp_window_options_export(const struct kp_settings *settings);

#endif
