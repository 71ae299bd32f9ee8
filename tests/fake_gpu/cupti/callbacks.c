/*
 * The callback API of the fake libcupti: one subscriber, callbacks by domain and number, and ids.
 *
 * Threading: callbacks run on the thread that made the CUDA call. As in the real library, a client
 * serialises its own changes; a change is seen by calls that begin after it.
 */
#include "tests/fake_gpu/cupti/state.h"

#include <stdatomic.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/cupti/graphs.h"
#include "tests/fake_gpu/cupti/records.h"

#define CALLBACK_IDS 1024 /* more than any domain has */

struct CUpti_Subscriber_st {
	_Atomic bool active;
	CUpti_CallbackFunc callback;
	void *user;
	_Atomic bool enabled[CUPTI_CB_DOMAIN_SIZE][CALLBACK_IDS];
};

static struct CUpti_Subscriber_st subscriber;
static _Thread_local bool at_exit; /* this thread is in a callback at the exit of a call */

bool kp_fake_callback_at_exit(void)
{
	return at_exit;
}

static bool wanted(CUpti_CallbackDomain domain, uint32_t cbid)
{
	return atomic_load(&subscriber.active) && cbid < CALLBACK_IDS &&
	       atomic_load(&subscriber.enabled[domain][cbid]);
}

void kp_fake_callback_call(struct kp_fake_call *call, bool exit)
{
	CUpti_CallbackData data = {
		.callbackSite = exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = &call->result,
		.symbolName = call->symbol,
		.context = call->context,
		.contextUid = kp_fake_gpu()->context_id(call->context),
		.correlationData = &call->data,
		.correlationId = call->correlation,
	};

	if (!exit)
		kp_fake_graphs_call(call, false);
	if (!exit)
		call->begun_ns = kp_fake_activity_now();
	else if (call->begun_ns)
		kp_fake_activity_call(&(struct kp_fake_api_call){
			.cbid = call->cbid,
			.correlation = call->correlation,
			.result = (uint32_t)call->result,
			.start_ns = call->begun_ns,
			.end_ns = kp_fake_activity_now(),
		});
	if (wanted(CUPTI_CB_DOMAIN_DRIVER_API, call->cbid)) {
		at_exit = exit;
		subscriber.callback(subscriber.user, CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
		at_exit = false;
	}
	if (exit)
		kp_fake_graphs_call(call, true);
}

void kp_fake_callback_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor)
{
	CUpti_ResourceData data = {
		.context = context,
		.resourceHandle.stream = stream,
		.resourceDescriptor = descriptor,
	};

	if (wanted(CUPTI_CB_DOMAIN_RESOURCE, cbid))
		subscriber.callback(subscriber.user, CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *user)
{
	bool free_place = false;

	if (!out || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (kp_fake_faults()->subscribe)
		return (CUptiResult)kp_fake_faults()->subscribe;
	kp_fake_attach();
	if (!atomic_compare_exchange_strong(&subscriber.active, &free_place, true))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber.callback = callback;
	subscriber.user = user;
	*out = &subscriber;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
					  void *user)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	return kp_fake_cupti_result(subscribe(out, callback, user));
}

KP_FAKE_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *out,
					     CUpti_CallbackFunc callback, void *user,
					     CUpti_SubscriberParams *params)
{
	if (params && params->structSize == 0)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	return cuptiSubscribe(out, callback, user);
}

void kp_fake_unsubscribe_all(void)
{
	for (size_t domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		for (size_t cbid = 0; cbid < CALLBACK_IDS; cbid++)
			atomic_store(&subscriber.enabled[domain][cbid], false);
	atomic_store(&subscriber.active, false);
}

KP_FAKE_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (handle != &subscriber || !atomic_load(&subscriber.active))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	kp_fake_unsubscribe_all();
	return CUPTI_SUCCESS;
}

static CUptiResult check(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (handle != &subscriber || !atomic_load(&subscriber.active) ||
	    domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
					       CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult result = check(handle, domain);

	if (result != CUPTI_SUCCESS)
		return result;
	if (cbid >= CALLBACK_IDS)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	kp_fake_gpu()->take_lock();
	atomic_store(&subscriber.enabled[domain][cbid], enable != 0);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
					     CUpti_CallbackDomain domain)
{
	CUptiResult result = check(handle, domain);

	for (size_t cbid = 0; result == CUPTI_SUCCESS && cbid < CALLBACK_IDS; cbid++)
		atomic_store(&subscriber.enabled[domain][cbid], enable != 0);
	return result;
}

KP_FAKE_EXPORT CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
						 CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult result = check(handle, domain);

	if (result != CUPTI_SUCCESS)
		return result;
	if (!enable || cbid >= CALLBACK_IDS)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*enable = atomic_load(&subscriber.enabled[domain][cbid]);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
	static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API,
						 CUPTI_CB_DOMAIN_RESOURCE};

	if (!count || !table)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*count = sizeof(domains) / sizeof(domains[0]);
	*table = domains;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	kp_fake_note_detached();
	if (!id || !kp_fake_gpu()->context_id(context))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
	*id = kp_fake_gpu()->context_id(context);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	if (!id || !kp_fake_gpu()->context_id(context))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
	*id = kp_fake_gpu()->context_device(context);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	kp_fake_note_detached();
	if (!id || !kp_fake_gpu()->stream_id(context, stream))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_STREAM);
	*id = kp_fake_gpu()->stream_id(context, stream);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream,
					      uint8_t per_thread, uint32_t *id)
{
	return cuptiGetStreamId(context, per_thread && !stream ? CU_STREAM_PER_THREAD : stream, id);
}

KP_FAKE_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	if (!id || !kp_fake_gpu()->node_id(node))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*id = kp_fake_gpu()->node_id(node);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	if (!id || !kp_fake_gpu()->graph_id(graph))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*id = kp_fake_gpu()->graph_id(graph);
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	if (!id || !kp_fake_gpu()->exec_id(exec))
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*id = kp_fake_gpu()->exec_id(exec);
	return CUPTI_SUCCESS;
}
