/* The user's rules; says what is wrong with them, with file and line. */
#ifndef KP_PROFILER_RULES_H
#define KP_PROFILER_RULES_H

#include <stdbool.h>

#include "analyzers/operators.h"
#include "profiler/settings.h"

/* The bytes of a file that an option named: free them. NULL after saying why. */
char *kp_rules_read(const char *option, const char *path, size_t *length);
/*
 * The built-in rules with those of --operators on top; *out is NULL without that option. False
 * where they cannot be had. kp_operators_destroy frees them.
 */
bool kp_rules_open(const struct kp_settings *settings, struct kp_operators **out);
/* Whether they can be had: before a program is started that may run for hours. */
bool kp_rules_check(const struct kp_settings *settings);

#endif
