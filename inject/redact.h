/* Hides what looks like a secret in a command line before it enters a trace. */
#ifndef KP_INJECT_REDACT_H
#define KP_INJECT_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Hides, in place, the secret parts of one argument with «***»: the value of --token=…, KEY=… or
 * the like, passwords in URLs, and well-known forms of tokens (sk-…, hf_…, ghp_…, AKIA…). `follows`
 * says that the argument before was an option such as --api-key; then all of it is hidden.
 * `argument` has room for `size` bytes; what does not fit is cut. Returns whether the argument is
 * itself an option whose value follows.
 */
bool kp_redact_argument(char *argument, size_t size, bool follows);

#endif
