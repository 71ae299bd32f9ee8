/*
 * Texts in calls of libraries («detail», «names»), each once: a call has a number until the worker
 * asks for the text.
 *
 * Any thread adds, under a lock; none is ever removed; who has a number reads without a lock. Not
 * on the path of a launch: calls are described when a plan is made, or a kernel is seen first.
 */
#ifndef KP_INJECT_LIBRARY_TEXTS_H
#define KP_INJECT_LIBRARY_TEXTS_H

#include <stdint.h>

#define KP_LIBRARY_TEXTS_MOST 4096U
/* With the NUL; what is longer is cut. */
#define KP_LIBRARY_TEXT_BYTES 192U

/* The number of a text + 1; 0: it is empty, or there are too many. */
uint64_t kp_library_texts_put(const char *text);
/* NULL: there is none with this number + 1. */
const char *kp_library_texts_get(uint64_t number);
/* In a forked child: the lock is free. */
void kp_library_texts_forget(void);

#endif
