/* Finds CUPTI and switches its records on and off; see enabling.h. */
#include "inject/enabling.h"

#include <limits.h>
#include <string.h>

#include "inject/buffers.h"
#include "inject/share.h"
#include "inject/share_clock.h"
#include "inject/tools.h"
#include "inject/window_counts.h"
#include "inject/windows.h"

static const CUpti_ActivityKind kinds[] = {
	/* Never CUPTI_ACTIVITY_KIND_KERNEL: it serialises the program's kernels. */
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	struct kp_cupti cupti;
	bool attached; /* when the collector started */
} enabling;

static uint64_t CUPTIAPI cupti_clock(void)
{
	return kp_clock_now();
}

static void CUPTIAPI ignore(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *data)
{
	(void)context;
	(void)domain;
	(void)id;
	(void)data;
}

/*
 * Whether another client is at work: its buffers would be taken from it silently. Only a subscriber
 * can ask; kprof does not stay one, so that a profiler which the program starts later can.
 */
static CUptiResult look_for_others(const struct kp_cupti *cupti)
{
	CUpti_SubscriberHandle subscriber;
	CUptiResult result = cupti->Subscribe(&subscriber, ignore, NULL);

	if (result == CUPTI_SUCCESS)
		cupti->Unsubscribe(subscriber);
	return result;
}

static void disable(const struct kp_cupti *cupti)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		cupti->ActivityDisable(kinds[i]);
	kp_detach_release();
	kp_share_abandon();
}

/* Turns records on. On failure everything is off again. */
static CUptiResult enable(struct kp_inject *inject, const struct kp_cupti *cupti,
			  const struct kp_detach_events *events)
{
	uint8_t zeroed = 1;
	size_t size = sizeof(zeroed);
	bool own_clock;
	CUptiResult result = events ? kp_detach_watch(cupti, events) : look_for_others(cupti);

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && kp_share_knows_subscriber())
		result = CUPTI_SUCCESS; /* the program's own profiler: the records are shared */
	if (result != CUPTI_SUCCESS)
		return result;
	/* A clock that never steps; set before anything is enabled. Refused: CUPTI's own stays. */
	own_clock = cupti->ActivityRegisterTimestampCallback(cupti_clock) == CUPTI_SUCCESS;
	kp_window_counts_clock(own_clock);
	if (!kp_share_on()) /* it outlives windows */
		kp_share_begin(inject, cupti, kinds, KIND_COUNT, own_clock);
	cupti->ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
	result = cupti->ActivityRegisterCallbacks(kp_buffers_request, kp_share_completed);
	for (size_t i = 0; result == CUPTI_SUCCESS && i < KIND_COUNT; i++)
		result = cupti->ActivityEnable(kinds[i]);
	if (result != CUPTI_SUCCESS)
		disable(cupti);
	return result;
}

static void explain(struct kp_inject *inject, const struct kp_cupti *cupti, CUptiResult result)
{
	const char *remedy = "update CUPTI or the driver so that they match";

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		remedy = "another profiler is in this process: run without it";
	else if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
		remedy = "allow profiling for all users (NVreg_RestrictProfilingToAdminUsers=0) or "
			 "run as root";
	kp_live_say(inject, "CUPTI %u (%s) refuses: %s (%d); %s", cupti->version, cupti->path,
		    kp_cupti_word(cupti, result), (int)result, remedy);
}

enum kp_switched kp_enabling_on(const struct kp_detach_events *events)
{
	CUptiResult result;

	if (kp_share_client_alone())
		return KP_SWITCH_BUSY;
	result = enable(&kp_inject, &enabling.cupti, events);
	if (result == CUPTI_SUCCESS)
		return KP_SWITCHED;
	explain(&kp_inject, &enabling.cupti, result);
	return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? KP_SWITCH_BUSY
									: KP_SWITCH_REFUSED;
}

void kp_enabling_off(void)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		enabling.cupti.ActivityDisable(kinds[i]);
}

/*
 * Records go on now or in a later window. A CUPTI that is old, and may not bear to come when graphs
 * have been captured already, is attached in any case.
 */
static CUptiResult enable_at_start(struct kp_inject *inject, const struct kp_cupti *cupti)
{
	bool on = kp_windows_on_at_start();
	CUptiResult result;

	enabling.attached = on || cupti->version < KP_DETACH_OLDEST;
	result = enabling.attached ? enable(inject, cupti, NULL) : CUPTI_SUCCESS;
	if (result == CUPTI_SUCCESS && enabling.attached && !on)
		kp_enabling_off();
	return result;
}

/* Binds the first CUPTI that works. */
const struct kp_cupti *kp_enabling_find(struct kp_inject *inject, bool *attached)
{
	char path[PATH_MAX] = "";
	char tried[PATH_MAX] = "";
	const char *only = inject->settings.cupti_path;
	const char *tool = kp_tools_find();

	*attached = false;
	if (tool) {
		kp_live_say(inject,
			    "the program runs under %s, which leaves no room for another: kprof "
			    "stands aside; run one of the two",
			    tool);
		return NULL;
	}

	for (unsigned i = 0; kp_cupti_candidate(i, only, path); i++) {
		struct kp_cupti *cupti = &enabling.cupti;
		CUptiResult result;

		if (!kp_cupti_bind(cupti, path)) {
			if (!tried[0])
				strcpy(tried, path);
			continue;
		}
		if (cupti->version < KP_CUPTI_OLDEST) {
			kp_live_say(inject,
				    "CUPTI %u (%s) is too old: kprof needs that of CUDA 11.8 "
				    "or later; put a newer libcupti in LD_LIBRARY_PATH",
				    cupti->version, cupti->path);
			continue;
		}
		result = enable_at_start(inject, cupti);
		if (result == CUPTI_SUCCESS) {
			*attached = enabling.attached;
			return cupti;
		}
		explain(inject, cupti, result);
	}
	kp_live_say(inject,
		    "no libcupti could be loaded (tried first: %.150s): install the CUDA "
		    "Toolkit's CUPTI, or set CUDA_HOME to the toolkit",
		    tried);
	return NULL;
}

void kp_enabling_abandon(void)
{
	disable(&enabling.cupti);
}
