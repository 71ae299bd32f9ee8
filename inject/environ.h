/* The variables by which kprof gets into programs, in an environment that one of them gets. */
#ifndef KP_INJECT_ENVIRON_H
#define KP_INJECT_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a variable; NULL: it is not there. The environment may be NULL: empty. */
const char *kp_environ_find(char *const *environment, const char *name);

/* Bytes that kp_environ_without needs for a copy of this environment. */
size_t kp_environ_room(char *const *environment);
/*
 * A copy in `room` (aligned as a pointer) without kprof's library in LD_PRELOAD; what else is there
 * stays. `all`: also without the injection variables of CUDA and NVTX that name it.
 */
char **kp_environ_without(char *const *environment, bool all, void *room);

/*
 * The path of kprof's library in LD_PRELOAD, with what follows it there; *bytes: how long it is.
 * NULL: it is not there, or not by its path.
 */
const char *kp_environ_library(char *const *environment, size_t *bytes);

#endif
