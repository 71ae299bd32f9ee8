/* The calls at whose exit kprof acts; see doors.h. */
#include "inject/doors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static const struct {
	CUpti_CallbackId id;
	bool synchronising;
} doors[] = {
#define DOOR(name, synchronising)                                                                  \
	{                                                                                          \
		CUPTI_DRIVER_TRACE_CBID_##name, synchronising                                      \
	}
	DOOR(cuStreamSynchronize, true),
	DOOR(cuStreamSynchronize_ptsz, true),
	DOOR(cuCtxSynchronize, true),
#if CUPTI_API_VERSION >= 130000
	DOOR(cuCtxSynchronize_v2, true),
#endif
	DOOR(cuEventSynchronize, true),
	DOOR(cuMemcpyDtoH_v2, true),
	DOOR(cuMemcpyDtoH_v2_ptds, true),
	DOOR(cuMemcpy, true),
	DOOR(cuMemcpy_ptds, true),
	DOOR(cuLaunchKernel, false),
	DOOR(cuLaunchKernel_ptsz, false),
	DOOR(cuLaunchKernelEx, false),
	DOOR(cuLaunchKernelEx_ptsz, false),
	DOOR(cuLaunchCooperativeKernel, false),
	DOOR(cuLaunchCooperativeKernel_ptsz, false),
	DOOR(cuGraphLaunch, false),
	DOOR(cuGraphLaunch_ptsz, false),
	DOOR(cuMemcpyHtoDAsync_v2, false),
	DOOR(cuMemcpyHtoDAsync_v2_ptsz, false),
	DOOR(cuMemcpyDtoHAsync_v2, false),
	DOOR(cuMemcpyDtoHAsync_v2_ptsz, false),
	DOOR(cuMemcpyAsync, false),
	DOOR(cuMemcpyAsync_ptsz, false),
	DOOR(cuEventRecord, false),
	DOOR(cuEventRecord_ptsz, false),
	DOOR(cuEventQuery, false),
	DOOR(cuStreamQuery, false),
	DOOR(cuStreamQuery_ptsz, false),
#undef DOOR
};
#define DOOR_COUNT (sizeof(doors) / sizeof(doors[0]))

static CUpti_SubscriberHandle subscriber;
static void (*_Atomic listener)(bool synchronising);

static bool is_synchronising(CUpti_CallbackId id)
{
	for (size_t i = 0; i < DOOR_COUNT; i++)
		if (doors[i].id == id)
			return doors[i].synchronising;
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

static void set(const struct kp_cupti *cupti, bool synchronising, bool open)
{
	for (size_t i = 0; i < DOOR_COUNT; i++)
		if (doors[i].synchronising == synchronising)
			cupti->EnableCallback(open, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					      doors[i].id);
}

CUptiResult kp_doors_open(const struct kp_cupti *cupti, void (*passed)(bool synchronising))
{
	CUptiResult result = cupti->Subscribe(&subscriber, at_call, NULL);

	if (result != CUPTI_SUCCESS)
		return result;
	atomic_store(&listener, passed);
	set(cupti, true, true);
	return CUPTI_SUCCESS;
}

void kp_doors_widen(const struct kp_cupti *cupti, bool every)
{
	set(cupti, false, every);
}

void kp_doors_close(const struct kp_cupti *cupti)
{
	cupti->Unsubscribe(subscriber);
}
