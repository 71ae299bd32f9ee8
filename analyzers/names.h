/*
 * Short names of kernels: the function and the template arguments that tell variants apart.
 *
 *   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>,
 *       std::array<char*, 3ul> >(int, …)
 * becomes
 *   vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>>
 *
 * Namespaces, parameters and return types go; so do template arguments that only carry pointers and
 * offsets (std::array, OffsetCalculator, …). A lambda is called by the function that holds it and
 * its own parameters: silu_kernel(BFloat16). What is still too long is elided from the inside out,
 * with «...». Names that are no C++ signatures stay whole. Thread-safe.
 */
#ifndef KP_ANALYZERS_NAMES_H
#define KP_ANALYZERS_NAMES_H

#include "trace/arena.h"
#include "trace/status.h"

/* How much of the name is kept, least first. */
enum kp_name_detail {
	KP_NAME_BRIEF,     /* at most about 96 characters, where the function's own name allows */
	KP_NAME_LONGER,    /* at most about 240 */
	KP_NAME_ARGUMENTS, /* all template arguments */
	KP_NAME_QUALIFIED, /* with namespaces, as demangled, but no parameters */
	KP_NAME_FULL,      /* as demangled */
	KP_NAME_DETAIL_COUNT
};

/*
 * The short form of a demangled, escaped name (kp_demangle). NUL-terminated, in the arena; NULL
 * without memory.
 */
const char *kp_name_shorten(struct kp_arena *arena, const char *full, enum kp_name_detail detail);

/*
 * Short forms of `count` names, each different from all others: names that would read alike get
 * more detail, and where that does not help (equal names in different modules), #2, #3, … in the
 * order of `full`. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_names_shorten_all(struct kp_arena *arena, const char *const *full, size_t count,
				    const char **out);

#endif
