/* The help of the commands, as text for a terminal of 80 columns; made from their tables. */
#ifndef KP_PROFILER_HELP_H
#define KP_PROFILER_HELP_H

#include <stdio.h>

#include "profiler/options.h"

void kp_help_print(FILE *file, const struct kp_command *command);
/* Prints it to the standard output; returns the exit status. */
int kp_help_command(const struct kp_command *command);

/* "FILE", "PCT", or "on|off" for choices; empty for flags. */
void kp_help_argument(const struct kp_option *option, char *out, size_t size);

/* The manual page of a command, in mdoc(7). */
void kp_man_print(FILE *file, const struct kp_command *command);
/* The completion script for bash. */
void kp_completion_print(FILE *file);

#endif
