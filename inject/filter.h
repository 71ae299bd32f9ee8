/*
 * Which kernels are recorded: --kernels and --skip-kernels, patterns on the name.
 *
 * A pattern is a glob: «*» any bytes, «?» one byte, «[a-z]» one of a set, «[!…]» one that is not.
 * Several stand separated by commas. It must fit the whole of one of: the mangled name; the
 * function's name with its namespaces, as far as its first template argument
 * («at::native::vectorized_elementwise_kernel»); the function's name alone. The collector has no
 * C++, so template arguments and parameters are matched in their mangled form only.
 * Pure functions.
 */
#ifndef KP_INJECT_FILTER_H
#define KP_INJECT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the name is recorded. Either list may be empty: then it asks for nothing. */
bool kp_filter_takes(const char *kernels, const char *skip_kernels, const char *mangled);

/*
 * The function's name with its namespaces, from a mangled or plain name; cut where it does not fit.
 * *last is where the function's own name begins in `out`.
 */
void kp_filter_function(const char *mangled, char *out, size_t size, size_t *last);

#endif
