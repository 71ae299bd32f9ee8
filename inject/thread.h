/* Threads of kprof's own in the program's process. */
#ifndef KP_INJECT_THREAD_H
#define KP_INJECT_THREAD_H

#include <stdbool.h>

/*
 * Starts one that nobody waits for: it takes none of the program's signals, has room on its stack
 * whatever the program's limit is, and the usual floating-point environment. False: it cannot be
 * had. `name`: 15 bytes at most.
 */
bool kp_thread_start(const char *name, void *(*run)(void *), void *context);

#endif
