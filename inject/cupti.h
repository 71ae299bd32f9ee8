/*
 * CUPTI, bound at run time: the library that the program has loaded already, or the newest that can
 * be found. The functions that kprof uses stand in one list.
 */
#ifndef KP_INJECT_CUPTI_H
#define KP_INJECT_CUPTI_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

/* X(name without the prefix, parameters): every CUPTI function that is called. */
#define KP_CUPTI_FUNCTIONS(X)                                                                      \
	X(GetVersion, (uint32_t *))                                                                \
	X(GetResultString, (CUptiResult, const char **))                                           \
	X(Subscribe, (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *))                       \
	X(Unsubscribe, (CUpti_SubscriberHandle))                                                   \
	X(EnableCallback,                                                                          \
	  (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId))              \
	X(Finalize, (void))                                                                        \
	X(GetContextId, (CUcontext, uint32_t *))                                                   \
	X(GetStreamIdEx, (CUcontext, CUstream, uint8_t, uint32_t *))                               \
	X(DeviceSupported, (CUdevice, int *))                                                      \
	X(ActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc))                        \
	X(ActivityRegisterCallbacks,                                                               \
	  (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc))                   \
	X(ActivitySetAttribute, (CUpti_ActivityAttribute, size_t *, void *))                       \
	X(ActivityEnable, (CUpti_ActivityKind))                                                    \
	X(ActivityDisable, (CUpti_ActivityKind))                                                   \
	X(ActivityFlushAll, (uint32_t))                                                            \
	X(ActivityGetNextRecord, (uint8_t *, size_t, CUpti_Activity **))                           \
	X(ActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *))

struct kp_cupti {
#define KP_CUPTI_MEMBER(name, parameters) CUptiResult(CUPTIAPI *name) parameters;
	KP_CUPTI_FUNCTIONS(KP_CUPTI_MEMBER)
#undef KP_CUPTI_MEMBER
	uint32_t version;    /* CUPTI_API_VERSION of the library */
	char path[PATH_MAX]; /* of the library */
};

/*
 * Releases whose records kprof reads: 11.8 (API version 18) and later. Older ones carry no cluster
 * sizes and other record layouts.
 */
#define KP_CUPTI_OLDEST 18

/*
 * The number-th candidate for a library, best first; false beyond the last. Candidate 0 is the one
 * that is loaded already, if any. With `only` (not empty) there is one candidate.
 */
bool kp_cupti_candidate(unsigned number, const char *only, char out[PATH_MAX]);
/* Loads and binds one library. False where it cannot be loaded or lacks a function. */
bool kp_cupti_bind(struct kp_cupti *cupti, const char *path);
/* CUPTI's own word for a result. Never NULL. */
const char *kp_cupti_word(const struct kp_cupti *cupti, CUptiResult result);

#endif
