/*
 * Gives the terminal back as it was, whatever ends the program.
 *
 * The bytes that do so are made up beforehand, so that a signal handler need only write them: no
 * function that is not async-signal-safe runs there. One terminal at a time; handlers are the
 * process's.
 */
#ifndef KP_TUI_RESTORE_H
#define KP_TUI_RESTORE_H

#include <stdbool.h>

/* Remembers the terminal's modes; call before they are changed. False: it is none. */
bool kp_restore_remember(int fd);
/* Adds a sequence (NULL: none) to what is written. */
void kp_restore_add(const char *sequence);
/* Adds a sequence that takes the terminal again, after a stop. */
void kp_restore_add_return(const char *sequence);
/* From now on, a stop by SIGTSTP gives it back meanwhile; SIGWINCH follows, so that the screen is
 * drawn anew. And signals that end the program give the terminal back first. */
void kp_restore_arm(void);
/* The terminal was given back in an orderly way: signals do what they did before. */
void kp_restore_disarm(void);

#endif
