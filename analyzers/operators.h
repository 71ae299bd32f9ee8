/*
 * From kernel names to operators, by rules kept as data (operators.yaml says what they mean).
 *
 * Rules see the parts of a signature (signature.h), never its text: a word within somebody's
 * template arguments does not make a kernel an all-reduce. Immutable once created; thread-safe.
 */
#ifndef KP_ANALYZERS_OPERATORS_H
#define KP_ANALYZERS_OPERATORS_H

#include <stddef.h>

#include "trace/status.h"

struct kp_operators;

/*
 * Rules from YAML text. Errors: KP_INVALID (*line, counted from 1, is where), KP_NO_MEMORY.
 */
enum kp_status kp_operators_create(const char *yaml, size_t length, struct kp_operators **out,
				   size_t *line);
/* The built-in rules. Errors: KP_NO_MEMORY. */
enum kp_status kp_operators_builtin(struct kp_operators **out);
/* NULL is allowed. */
void kp_operators_destroy(struct kp_operators *operators);

size_t kp_operators_count(const struct kp_operators *operators);
/* Name and one line about it; borrowed from `operators`. */
const char *kp_operators_name(const struct kp_operators *operators, size_t index);
const char *kp_operators_about(const struct kp_operators *operators, size_t index);

/*
 * The operator of a kernel by its demangled, escaped name (kp_demangle); the last one, «other»,
 * where no rule knows it. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_operators_match(const struct kp_operators *operators, const char *full,
				  size_t *index);

#endif
