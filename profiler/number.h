/* Numbers as people write them, in the values of options. */
#ifndef KP_PROFILER_NUMBER_H
#define KP_PROFILER_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A decimal number that is not negative: «3», «0.5», «1e4», «2.5E-3»; `suffix` (0: none) may
 * follow. False for all else that strtod takes: signs, blanks, hexadecimal, names; and for what no
 * double holds.
 */
bool kp_number_parse(const char *text, size_t length, char suffix, double *out);

#endif
