/*
 * Hooks on CUPTI: how kprof sees the calls of another client in the program.
 *
 * They are put where addresses are resolved, as those on the driver (hooks.h): dlsym answers with a
 * hook where the address that was found is CUPTI's, and the address slots of modules that link
 * libcupti are rewritten, at the start and when modules are added. No cupti* symbol is exported.
 * What a hook does stands in share.h; a function of CUPTI that is not in the table here is not
 * touched, so neither are the per-subscriber (_v2) ones of CUPTI 13.2 and later: a client that
 * brings those has buffers of its own.
 */
#ifndef KP_INJECT_CUPTI_HOOKS_H
#define KP_INJECT_CUPTI_HOOKS_H

#include <stdbool.h>

/* X(name without the prefix) */
#define KP_CUPTI_HOOKS(X)                                                                          \
	X(Subscribe)                                                                               \
	X(Subscribe_v2)                                                                            \
	X(Unsubscribe)                                                                             \
	X(Finalize)                                                                                \
	X(GetTimestamp)                                                                            \
	X(ActivityRegisterCallbacks)                                                               \
	X(ActivityRegisterTimestampCallback)                                                       \
	X(ActivityEnable)                                                                          \
	X(ActivityEnableAndDump)                                                                   \
	X(ActivityEnableContext)                                                                   \
	X(ActivityDisable)                                                                         \
	X(ActivityDisableContext)                                                                  \
	X(ActivityFlush)                                                                           \
	X(ActivityFlushAll)                                                                        \
	X(ActivityGetAttribute)                                                                    \
	X(ActivitySetAttribute)                                                                    \
	X(ActivityGetNumDroppedRecords)

/* Looks at modules that were loaded since the last call: cheap where there are none. */
void kp_cupti_hooks_watch(void);
/* Whether a name is one of the table's. */
bool kp_cupti_hooks_name(const char *name);
/* The hook in the place of one of CUPTI's addresses; the address itself if there is none. */
void *kp_cupti_hooks_wrapped(void *address);

#endif
