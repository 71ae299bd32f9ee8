/*
 * Which code kernels come from, for rules that ask for a module by its hash («module», see
 * docs/rules.md): hooks on what loads code note the hash of each image by its handle. Where no rule
 * asks, nothing is hashed.
 */
#ifndef KP_INJECT_AB_MODULES_H
#define KP_INJECT_AB_MODULES_H

#include "inject/cuda_api.h"

#include "trace/ab_plan.h"

/* Whether any rule of the plan asks. Once, at the start. */
void kp_ab_modules_start(const struct kp_ab_plan *plan);
/* After something was loaded by these bytes, or from a file; handles are CUmodule or CUlibrary. */
void kp_ab_modules_loaded(const void *handle, const void *image);
void kp_ab_modules_loaded_file(const void *handle, const char *path);
/* What was found out of functions holds no longer. */
void kp_ab_modules_anew(void);
void kp_ab_modules_forget(void);

/*
 * The hash of the code of a function; 0: not known. `handle` is what the program launches,
 * `function` the CUfunction that it is.
 */
uint64_t kp_ab_modules_of(CUfunction handle, CUfunction function);
/* Notes, for the report, that a function of that name came from there. */
void kp_ab_modules_seen(uint32_t rule, uint64_t hash, bool fits);
/* Writes what was noted since. Worker only, with the mutex. */
void kp_ab_modules_write(void);

#endif
