/*
 * Asking the collector in a running program; see trace/control.h. All that can be wrong with the
 * process is told apart: it does not exist, belongs to another user, was not started under kprof,
 * or has not used the GPU so far.
 */
#ifndef KP_PROFILER_CONTROL_CLIENT_H
#define KP_PROFILER_CONTROL_CLIENT_H

#include <stdbool.h>

#include "trace/control.h"

#define KP_CONTROL_COMPLAINT_BYTES 512

/* The number of a process; false: the word is none. */
bool kp_control_pid(const char *word, long *out);
/*
 * One question, with a descriptor where `fd` is not -1, and its answer, for which it waits
 * `patience_s` seconds at most. False with one line in `complaint`.
 */
bool kp_control_ask(long pid, enum kp_control_verb verb, int fd, unsigned patience_s,
		    struct kp_control_answer *answer, char complaint[KP_CONTROL_COMPLAINT_BYTES]);
/* The same of a switch: a rule of A/B, or all («»), on or off. */
bool kp_control_switch(long pid, bool on, const char *rule, unsigned patience_s,
		       struct kp_control_answer *answer,
		       char complaint[KP_CONTROL_COMPLAINT_BYTES]);

#endif
