/* Threads that work behind the one that has the terminal. */
#ifndef KP_TUI_BACKGROUND_H
#define KP_TUI_BACKGROUND_H

#include <pthread.h>

#include "trace/status.h"

/*
 * Starts a thread that no signal reaches but its own faults: the others are for the thread that has
 * the terminal. Errors: KP_IO (there is none to be had).
 */
enum kp_status kp_background_start(pthread_t *thread, void *(*run)(void *context), void *context);

#endif
