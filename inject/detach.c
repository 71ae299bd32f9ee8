/* Detaching CUPTI; see detach.h. */
#include "inject/detach.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "inject/buffers.h"
#include "inject/hooks.h"
#include "inject/state.h"

/* Calls that programs make all the time, in one form or the other. */
static const CUpti_CallbackId doors[] = {
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
	CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuEventRecord,
	CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
	CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
};
#define DOOR_COUNT (sizeof(doors) / sizeof(doors[0]))

/* Buffers that CUPTI may keep for good before kprof leaves it attached: 16 MiB. */
#define FORGOTTEN_LIMIT 16
/* Refusals of CUPTI in a row before it is not asked any more. */
#define REFUSAL_LIMIT 3

enum state { IDLE, PENDING, RUNNING, DETACHED, REFUSED };

static struct {
	const struct kp_cupti *cupti;
	CUpti_SubscriberHandle subscriber;
	_Atomic int state;
	uint64_t cost_ns; /* written before the state says that it is over */
	_Atomic unsigned forgotten, refusals;
} detach;

static void CUPTIAPI at_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	const CUpti_CallbackData *call = data;
	int expected = PENDING, saved = errno;
	uint64_t begin_ns;
	CUptiResult result;

	(void)context;
	(void)id;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_EXIT ||
	    kp_hooks_may_have_graphs() ||
	    !atomic_compare_exchange_strong(&detach.state, &expected, RUNNING))
		return;
	begin_ns = kp_clock_now();
	result = detach.cupti->Finalize();
	detach.cost_ns += kp_clock_now() - begin_ns;
	atomic_store(&detach.state, result == CUPTI_SUCCESS ? DETACHED : REFUSED);
	kp_buffers_wake(); /* the worker waits for this */
	errno = saved;
}

const char *kp_detach_obstacle(const struct kp_cupti *cupti)
{
	if (kp_hooks_may_have_graphs())
		return "the program uses CUDA graphs, or kprof cannot see whether it does";
	if (cupti->version < KP_DETACH_OLDEST)
		return "this CUPTI is older than that of CUDA 12.6";
	if (atomic_load(&detach.forgotten) > FORGOTTEN_LIMIT)
		return "CUPTI kept buffers when it was detached";
	if (atomic_load(&detach.refusals) >= REFUSAL_LIMIT)
		return "CUPTI refuses to be detached";
	return NULL;
}

CUptiResult kp_detach_request(const struct kp_cupti *cupti)
{
	uint64_t begin_ns = kp_clock_now();
	CUptiResult result;

	detach.cupti = cupti;
	result = cupti->Subscribe(&detach.subscriber, at_call, NULL);
	if (result != CUPTI_SUCCESS)
		return result;
	for (size_t i = 0; i < DOOR_COUNT; i++)
		cupti->EnableCallback(1, detach.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, doors[i]);
	detach.cost_ns = kp_clock_now() - begin_ns;
	/* Last: a thread that comes through a door may finalize at once, while nobody else is in
	 * CUPTI. */
	atomic_store(&detach.state, PENDING);
	return CUPTI_SUCCESS;
}

/* After the callback: the subscription is gone with CUPTI, or, where it refused, is given up. */
static bool conclude(int state)
{
	if (state == REFUSED) {
		detach.cupti->Unsubscribe(detach.subscriber);
		atomic_fetch_add(&detach.refusals, 1);
	} else {
		atomic_store(&detach.refusals, 0);
		atomic_fetch_add(&detach.forgotten, kp_buffers_abandon());
	}
	atomic_store(&detach.state, IDLE);
	return state == DETACHED;
}

bool kp_detach_done(uint64_t *cost_ns, bool *detached)
{
	int state = atomic_load(&detach.state);

	if (state != DETACHED && state != REFUSED)
		return false;
	*cost_ns = detach.cost_ns;
	*detached = conclude(state);
	return true;
}

bool kp_detach_cancel(uint64_t *cost_ns)
{
	const struct timespec pause = {.tv_nsec = 100000};
	int state = PENDING;

	if (atomic_compare_exchange_strong(&detach.state, &state, IDLE)) {
		detach.cupti->Unsubscribe(detach.subscriber);
		return false;
	}
	while ((state = atomic_load(&detach.state)) == RUNNING)
		nanosleep(&pause, NULL);
	*cost_ns = state == IDLE ? 0 : detach.cost_ns;
	return state == DETACHED || state == REFUSED ? conclude(state) : false;
}

void kp_detach_forget(void)
{
	atomic_store(&detach.state, IDLE);
	atomic_store(&detach.forgotten, 0);
	atomic_store(&detach.refusals, 0);
}
