/*
 * Status codes that every fallible function of kprof returns, with their messages.
 * One table (status.def) feeds both.
 */
#ifndef KP_TRACE_STATUS_H
#define KP_TRACE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum kp_status {
#define X(name, message) KP_##name,
#include "trace/status.def"
#undef X
	KP_STATUS_COUNT
};

/* The message of a status, in English, without a final full stop. Never NULL. */
const char *kp_status_message(enum kp_status status);

#ifdef __cplusplus
}
#endif

#endif
