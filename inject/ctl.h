/*
 * The socket on which «kprof ctl» reaches the collector; see trace/control.h.
 *
 * The worker looks at it between its other work and answers at once: a request is accepted, read,
 * answered and closed within one call, so that no descriptor of ours is in use for long in a
 * program that may close or reuse any. The listening one is compared with what was opened before
 * each use, and opened anew where the program has closed it. A forked child lets go of it. Worker
 * thread only.
 */
#ifndef KP_INJECT_CTL_H
#define KP_INJECT_CTL_H

#include "trace/control.h"

/* How often the worker should look, milliseconds. */
#define KP_CTL_LOOK_MS 100

/* Opens the socket. Without it the program cannot be controlled, and all else works. */
void kp_ctl_start(void);
void kp_ctl_end(void);
/* Answers the requests that have come: `handle` fills in an answer that is all zero; `fd` came with
 * the request, or is -1, and is closed afterwards. */
typedef void (*kp_ctl_handler)(const struct kp_control_request *request, int fd,
			       struct kp_control_answer *answer);
void kp_ctl_serve(kp_ctl_handler handle);

#endif
