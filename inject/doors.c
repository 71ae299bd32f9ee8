/* The calls at whose exit kprof acts; see doors.h. */
#include "inject/doors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

enum kind { SYNCHRONISING, GRAPH, COMMON };

static const struct {
	CUpti_CallbackId id;
	enum kind kind;
} doors[] = {
#define DOOR(name, kind)                                                                           \
	{                                                                                          \
		CUPTI_DRIVER_TRACE_CBID_##name, kind                                               \
	}
	DOOR(cuStreamSynchronize, SYNCHRONISING),
	DOOR(cuStreamSynchronize_ptsz, SYNCHRONISING),
	DOOR(cuCtxSynchronize, SYNCHRONISING),
#if CUPTI_API_VERSION >= 130000
	DOOR(cuCtxSynchronize_v2, SYNCHRONISING),
#endif
	DOOR(cuEventSynchronize, SYNCHRONISING),
	DOOR(cuMemcpyDtoH_v2, SYNCHRONISING),
	DOOR(cuMemcpyDtoH_v2_ptds, SYNCHRONISING),
	DOOR(cuMemcpy, SYNCHRONISING),
	DOOR(cuMemcpy_ptds, SYNCHRONISING),
	DOOR(cuLaunchKernel, COMMON),
	DOOR(cuLaunchKernel_ptsz, COMMON),
	DOOR(cuLaunchKernelEx, COMMON),
	DOOR(cuLaunchKernelEx_ptsz, COMMON),
	DOOR(cuLaunchCooperativeKernel, COMMON),
	DOOR(cuLaunchCooperativeKernel_ptsz, COMMON),
	DOOR(cuGraphLaunch, GRAPH),
	DOOR(cuGraphLaunch_ptsz, GRAPH),
	DOOR(cuMemcpyHtoDAsync_v2, COMMON),
	DOOR(cuMemcpyHtoDAsync_v2_ptsz, COMMON),
	DOOR(cuMemcpyDtoHAsync_v2, COMMON),
	DOOR(cuMemcpyDtoHAsync_v2_ptsz, COMMON),
	DOOR(cuMemcpyAsync, COMMON),
	DOOR(cuMemcpyAsync_ptsz, COMMON),
	DOOR(cuEventRecord, COMMON),
	DOOR(cuEventRecord_ptsz, COMMON),
	DOOR(cuEventQuery, COMMON),
	DOOR(cuStreamQuery, COMMON),
	DOOR(cuStreamQuery_ptsz, COMMON),
#undef DOOR
};
#define DOOR_COUNT (sizeof(doors) / sizeof(doors[0]))

static CUpti_SubscriberHandle subscriber;
static void (*_Atomic listener)(bool synchronising);

static bool is_synchronising(CUpti_CallbackId id)
{
	for (size_t i = 0; i < DOOR_COUNT; i++)
		if (doors[i].id == id)
			return doors[i].kind == SYNCHRONISING;
	return false;
}

static void CUPTIAPI at_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	const CUpti_CallbackData *call = data;
	void (*passed)(bool synchronising) = atomic_load(&listener);
	int saved = errno;

	(void)context;
	if (!passed || domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_EXIT)
		return;
	passed(is_synchronising(id));
	errno = saved;
}

static void set(const struct kp_cupti *cupti, bool common, bool open)
{
	for (size_t i = 0; i < DOOR_COUNT; i++)
		if ((doors[i].kind == COMMON) == common)
			cupti->EnableCallback(open, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					      doors[i].id);
}

CUptiResult kp_doors_open(const struct kp_cupti *cupti, void (*passed)(bool synchronising))
{
	CUptiResult result = cupti->Subscribe(&subscriber, at_call, NULL);

	if (result != CUPTI_SUCCESS)
		return result;
	atomic_store(&listener, passed);
	set(cupti, false, true);
	return CUPTI_SUCCESS;
}

void kp_doors_widen(const struct kp_cupti *cupti, bool common)
{
	set(cupti, true, common);
}

void kp_doors_close(const struct kp_cupti *cupti)
{
	cupti->Unsubscribe(subscriber);
}
