/* The end of the program, as the rest of the library sees it. */
#ifndef KP_INJECT_ENTRY_H
#define KP_INJECT_ENTRY_H

/*
 * Watches for the end of the program from here on, too: handlers of exit run in the reverse order
 * of their coming, and what CUPTI has loaded meanwhile must outlive the last use of it. Any thread.
 */
void kp_entry_watch_end(void);

#endif
