/*
 * Finds the fake driver, listens to it, and keeps errors; see state.h.
 */
#include "tests/fake_gpu/cupti/state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cupti_version.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/buffers.h"
#include "tests/fake_gpu/cupti/names.h"
#include "tests/fake_gpu/cupti/records.h"

static const struct kp_fake_gpu *gpu;
static pthread_once_t gpu_once = PTHREAD_ONCE_INIT, attach_once = PTHREAD_ONCE_INIT;
static _Atomic bool forked;
static _Thread_local CUptiResult last_error;

static const struct kp_fake_listener listener = {
	.op = kp_fake_activity_op,
	.call = kp_fake_callback_call,
	.resource = kp_fake_callback_resource,
};

static const struct {
	CUptiResult code;
	const char *name;
} names[] = {
#define NAME(code)                                                                                 \
	{                                                                                          \
		code, #code                                                                        \
	}
	NAME(CUPTI_SUCCESS),
	NAME(CUPTI_ERROR_INVALID_PARAMETER),
	NAME(CUPTI_ERROR_INVALID_DEVICE),
	NAME(CUPTI_ERROR_INVALID_CONTEXT),
	NAME(CUPTI_ERROR_INVALID_OPERATION),
	NAME(CUPTI_ERROR_OUT_OF_MEMORY),
	NAME(CUPTI_ERROR_HARDWARE),
	NAME(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
	NAME(CUPTI_ERROR_API_NOT_IMPLEMENTED),
	NAME(CUPTI_ERROR_MAX_LIMIT_REACHED),
	NAME(CUPTI_ERROR_NOT_READY),
	NAME(CUPTI_ERROR_NOT_COMPATIBLE),
	NAME(CUPTI_ERROR_NOT_INITIALIZED),
	NAME(CUPTI_ERROR_INVALID_STREAM),
	NAME(CUPTI_ERROR_INVALID_KIND),
	NAME(CUPTI_ERROR_DISABLED),
	NAME(CUPTI_ERROR_HARDWARE_BUSY),
	NAME(CUPTI_ERROR_NOT_SUPPORTED),
	NAME(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED),
	NAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
	NAME(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED),
	NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
	NAME(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES),
	NAME(CUPTI_ERROR_UNKNOWN),
#undef NAME
};

static void find_gpu(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	gpu = driver ? dlsym(driver, "kp_fake_gpu_v1") : NULL;
	if (gpu)
		return;
	fputs("fake GPU: the fake libcupti needs the fake libcuda.so.1 in LD_LIBRARY_PATH\n",
	      stderr);
	abort();
}

const struct kp_fake_gpu *kp_fake_gpu(void)
{
	pthread_once(&gpu_once, find_gpu);
	return gpu;
}

static void after_fork(void)
{
	atomic_store(&forked, !kp_fake_faults()->refork);
	if (!kp_fake_faults()->refork)
		return;
	kp_fake_buffers_forget();
	kp_fake_activity_forget();
	kp_fake_names_forget();
	kp_fake_unsubscribe_all();
}

static void attach(void)
{
	pthread_atfork(NULL, NULL, after_fork);
	kp_fake_gpu()->listen(&listener);
}

void kp_fake_attach(void)
{
	pthread_once(&attach_once, attach);
}

bool kp_fake_cupti_usable(void)
{
	if (!atomic_load(&forked))
		return true;
	kp_fake_count(KP_FAKE_calls_after_fork, 1);
	return false;
}

CUptiResult kp_fake_cupti_result(CUptiResult result)
{
	if (result != CUPTI_SUCCESS)
		last_error = result;
	return result;
}

KP_FAKE_EXPORT CUptiResult cuptiGetLastError(void)
{
	CUptiResult error = last_error;

	last_error = CUPTI_SUCCESS;
	return error;
}

KP_FAKE_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	if (!text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == result) {
			*text = names[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

KP_FAKE_EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return cuptiGetResultString(result, text);
}

KP_FAKE_EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = kp_fake_cupti_version();
	return CUPTI_SUCCESS;
}
