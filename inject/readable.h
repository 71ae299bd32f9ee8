/*
 * Whether texts of the program's can be read at all: what it hands to the system may be no address,
 * and then the system says so, while a look at it would end the program.
 *
 * The system is asked once for every page on the way. Async-signal-safe, also after vfork; errno is
 * kept.
 */
#ifndef KP_INJECT_READABLE_H
#define KP_INJECT_READABLE_H

#include <stdbool.h>

/* All of a text, with the NUL at its end. */
bool kp_readable_text(const char *text);
/* A list that a NULL ends, and its texts. NULL: none, which is readable. */
bool kp_readable_texts(char *const *texts);

#endif
