/* Where kprof's own library for other programs is, and where CUPTI and the driver may be. */
#ifndef KP_PROFILER_LIBRARY_H
#define KP_PROFILER_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

/*
 * Finds libkprof_inject.so: KPROF_INJECT_LIB, else beside kprof, else in the lib directories of its
 * prefix. An absolute path in `out`; false: there is none.
 */
bool kp_library_find(char out[PATH_MAX]);

/* The same for any file that is installed with kprof: beside it, or in a lib directory. */
bool kp_library_find_named(const char *name, char out[PATH_MAX]);

/* Whether the driver's libcuda.so.1 can be loaded here. */
bool kp_library_has_driver(void);

#endif
