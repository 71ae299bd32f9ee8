/* What the other client of CUPTI asked for, and what it gets; see share.h. */
#include "inject/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/kept_names.h"
#include "inject/share_attributes.h"
#include "inject/share_buffers.h"
#include "inject/share_clock.h"
#include "inject/share_deliver.h"

#define KIND_LIMIT 64 /* kinds are bits of a word */
/* How long a forced flush of the client's first waits for records to complete by themselves: once
 * forced out, a running kernel's never gets its end. */
#define SETTLE_MS 20
/* The longest that the client waits for the worker to ask it for its first buffer. */
#define PREPARE_MS 200
/* The longest that a flush waits for deliveries that other threads have begun. */
#define DELIVERY_S 1

static struct {
	struct kp_inject *inject;
	const struct kp_cupti *cupti;
	_Atomic bool on;
	_Atomic(CUpti_SubscriberHandle) subscriber; /* the client's */
	_Atomic uint64_t enabled;                   /* kinds that the client has on, as bits */
	_Atomic uint64_t foreign;                   /* kinds beyond kprof's that it ever had on */
	_Atomic bool due;                           /* records of the client's may yet come */
	_Atomic bool wanted;                        /* the worker is to ask for a buffer */
	_Atomic bool serving;                       /* there is a worker */
	void (*_Atomic changed)(void);              /* see kp_share_watch */
	_Atomic size_t dropped_client, dropped_own; /* read, but not yet told to the one or other */
	pthread_mutex_t lock;                       /* for waiting only */
	pthread_cond_t asked;                       /* the worker has asked for a buffer */
} share = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t share_once = PTHREAD_ONCE_INIT;

static void init_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&share.asked, &attributes);
	pthread_condattr_destroy(&attributes);
}

static struct timespec after_ms(unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	return until;
}

static uint64_t bit(CUpti_ActivityKind kind)
{
	return (unsigned)kind < KIND_LIMIT ? 1ULL << (unsigned)kind : 0;
}

void kp_share_watch(void (*changed)(void))
{
	atomic_store(&share.changed, changed);
}

/* The client has switched records on or off. */
static void tell_watcher(void)
{
	void (*changed)(void) = atomic_load(&share.changed);

	if (changed)
		changed();
}

bool kp_share_client_alone(void)
{
	return !kp_share_on() && atomic_load(&share.enabled);
}

bool kp_share_client_active(void)
{
	return kp_share_on() && atomic_load(&share.enabled);
}

bool kp_share_has_client(void)
{
	return kp_share_knows_subscriber() || kp_share_buffers_registered() ||
	       atomic_load(&share.enabled);
}

bool kp_share_on(void)
{
	return atomic_load(&share.on) && share.inject->pid == getpid();
}

/* ---- what is seen on its way to CUPTI ---- */

bool kp_share_knows_subscriber(void)
{
	return atomic_load(&share.subscriber) != NULL;
}

void kp_share_saw_subscriber(CUpti_SubscriberHandle subscriber)
{
	atomic_store(&share.subscriber, subscriber);
}

void kp_share_saw_callbacks(CUpti_BuffersCallbackRequestFunc request,
			    CUpti_BuffersCallbackCompleteFunc complete)
{
	kp_share_buffers_register(request, complete);
}

void kp_share_saw_clock(CUpti_TimestampCallbackFunc clock)
{
	kp_share_clock_set(clock);
}

void kp_share_saw_kind(CUpti_ActivityKind kind, bool enabled)
{
	if (enabled)
		atomic_fetch_or(&share.enabled, bit(kind));
	else
		atomic_fetch_and(&share.enabled, ~bit(kind));
}

void kp_share_saw_finalize(void)
{
	kp_share_buffers_register(NULL, NULL);
	kp_share_clock_set(NULL);
	atomic_store(&share.enabled, 0);
	atomic_store(&share.subscriber, NULL);
}

/* ---- beginning ---- */

/* Of some kinds those that kprof has on itself. */
static uint64_t shared(uint64_t kinds)
{
	uint64_t found = 0;

	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		if (kp_deliver_shares((CUpti_ActivityKind)kind))
			found |= kinds & 1ULL << kind;
	return found;
}

void kp_share_begin(struct kp_inject *inject, const struct kp_cupti *cupti,
		    const CUpti_ActivityKind *kinds, size_t kind_count, bool own_clock)
{
	uint64_t enabled = atomic_load(&share.enabled);

	pthread_once(&share_once, init_condition);
	share.inject = inject;
	share.cupti = cupti;
	kp_deliver_begin(cupti, kinds, kind_count);
	if (kp_share_buffers_registered())
		cupti->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	if (enabled & bit(CUPTI_ACTIVITY_KIND_KERNEL))
		cupti->ActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL);
	kp_share_clock_source(own_clock);
	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		if (enabled >> kind & 1)
			kp_deliver_open((CUpti_ActivityKind)kind);
	atomic_fetch_or(&share.foreign, enabled & ~shared(enabled));
	atomic_store(&share.due, enabled != 0);
	atomic_store(&share.wanted, enabled != 0 && kp_share_buffers_registered());
	atomic_store(&share.on, true);
}

void kp_share_abandon(void)
{
	uint64_t enabled = atomic_load(&share.enabled);

	if (!atomic_exchange(&share.on, false))
		return;
	share.cupti->ActivityRegisterTimestampCallback(kp_share_clock_now);
	if (kp_share_buffers_registered())
		share.cupti->ActivityRegisterCallbacks(kp_share_buffers_request(),
						       kp_share_buffers_complete());
	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		if (enabled >> kind & 1)
			share.cupti->ActivityEnable((CUpti_ActivityKind)kind);
}

/* ---- delivering ---- */

void CUPTIAPI kp_share_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid_bytes)
{
	CUpti_BuffersCallbackCompleteFunc complete = kp_share_buffers_complete();

	if (buffer && !kp_buffers_own(buffer)) {
		/* The client lent it to CUPTI before kprof came. */
		if (complete)
			complete(context, stream, buffer, size, valid_bytes);
		return;
	}
	if (buffer && valid_bytes && valid_bytes <= size && complete && atomic_load(&share.due)) {
		kp_deliver_enter();
		atomic_fetch_add(&share.dropped_client, kp_deliver(buffer, valid_bytes));
		kp_deliver_leave();
	}
	if (kp_kept_names_enter() && buffer && valid_bytes <= size)
		kp_kept_names_replace(share.cupti, buffer, valid_bytes);
	kp_buffers_complete(context, stream, buffer, size, valid_bytes);
	kp_kept_names_leave();
}

CUptiResult kp_share_flush(const struct kp_cupti *cupti, uint32_t flag)
{
	CUptiResult result;

	kp_deliver_enter();
	result = cupti->ActivityFlushAll(flag);
	kp_deliver_leave();
	return result;
}

size_t kp_share_dropped(size_t dropped)
{
	if (atomic_load(&share.enabled))
		atomic_fetch_add(&share.dropped_client, dropped);
	return dropped + atomic_exchange(&share.dropped_own, 0);
}

bool kp_share_claims(CUpti_ActivityKind kind)
{
	return atomic_load(&share.foreign) && bit(kind);
}

void kp_share_serve(void)
{
	kp_deliver_not_mine();
	if (atomic_load(&share.enabled))
		kp_share_clock_sample();
	if (!atomic_exchange(&share.wanted, false))
		return;
	kp_share_buffers_prepare();
	pthread_mutex_lock(&share.lock);
	pthread_cond_broadcast(&share.asked);
	pthread_mutex_unlock(&share.lock);
}

void kp_share_worker(bool there)
{
	atomic_store(&share.serving, there);
}

/*
 * The worker asks, and the client's thread waits for that a moment: the client may hold a lock that
 * its callback takes, and must not meet itself.
 */
void kp_share_prepare(void)
{
	struct timespec until = after_ms(PREPARE_MS);

	if (!kp_share_buffers_registered() || !atomic_load(&share.enabled) ||
	    kp_share_buffers_have(true) || kp_share_buffers_inside())
		return;
	atomic_store(&share.wanted, true);
	if (!atomic_load(&share.serving))
		return;
	kp_buffers_wake();
	pthread_mutex_lock(&share.lock);
	while (!kp_share_buffers_have(false) &&
	       pthread_cond_timedwait(&share.asked, &share.lock, &until) == 0)
		;
	pthread_mutex_unlock(&share.lock);
}

/* ---- the client's calls ---- */

CUptiResult kp_share_register(CUpti_BuffersCallbackRequestFunc request,
			      CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!request || !complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	kp_share_buffers_register(request, complete);
	kp_share_prepare();
	return CUPTI_SUCCESS;
}

CUptiResult kp_share_register_clock(CUpti_TimestampCallbackFunc clock)
{
	if (!clock)
		return CUPTI_ERROR_INVALID_PARAMETER;
	kp_share_clock_set(clock);
	kp_share_clock_sample();
	return CUPTI_SUCCESS;
}

/* Whole graphs only: then CUPTI makes no records of their nodes, for nobody. */
static void warn_of_graphs(CUpti_ActivityKind kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
		kp_live_say(share.inject, "the program's own profiler records CUDA graphs as a "
					  "whole: kernels inside graphs are missing");
}

CUptiResult kp_share_enable(CUpti_ActivityKind kind,
			    CUptiResult (*enable)(void *, CUpti_ActivityKind), void *context)
{
	uint64_t kernels =
		bit(CUPTI_ACTIVITY_KIND_KERNEL) | bit(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	uint64_t rival = bit(kind) & kernels ? kernels & ~bit(kind) : 0;
	bool shares = kp_deliver_shares(kind);
	CUptiResult result = CUPTI_SUCCESS;

	if (atomic_load(&share.enabled) & rival)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (!shares)
		result = enable(context, kind);
	if (result != CUPTI_SUCCESS)
		return result;
	if (shares)
		kp_deliver_open(kind);
	else
		atomic_fetch_or(&share.foreign, bit(kind));
	atomic_fetch_or(&share.enabled, bit(kind));
	atomic_store(&share.due, true);
	tell_watcher();
	warn_of_graphs(kind);
	kp_share_clock_sample();
	kp_share_prepare();
	return CUPTI_SUCCESS;
}

CUptiResult kp_share_disable(CUpti_ActivityKind kind,
			     CUptiResult (*disable)(void *, CUpti_ActivityKind), void *context)
{
	bool shares = kp_deliver_shares(kind);
	CUptiResult result = shares ? CUPTI_SUCCESS : disable(context, kind);

	if (result != CUPTI_SUCCESS)
		return result;
	if (shares && atomic_load(&share.enabled) & bit(kind))
		kp_deliver_close(kind);
	atomic_fetch_and(&share.enabled, ~bit(kind));
	tell_watcher();
	kp_share_clock_sample();
	return CUPTI_SUCCESS;
}

/* Lets records complete for a moment, so that they need not be forced out without their ends. */
static void settle(void)
{
	uint64_t until_ns = kp_clock_now() + SETTLE_MS * 1000000ULL;
	const struct timespec pause = {.tv_nsec = 1000000};

	while (kp_buffers_lent() && kp_clock_now() < until_ns) {
		nanosleep(&pause, NULL);
		share.cupti->ActivityFlushAll(0);
	}
}

CUptiResult kp_share_client_flush(uint32_t flag)
{
	bool forced = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
	CUptiResult result;

	if (!kp_share_buffers_registered() || kp_share_buffers_inside())
		return share.cupti->ActivityFlushAll(flag);
	result = share.cupti->ActivityFlushAll(0);
	if (forced) {
		settle();
		result = share.cupti->ActivityFlushAll(flag);
	}
	kp_deliver_wait(DELIVERY_S);
	kp_share_buffers_return(forced && !atomic_load(&share.enabled));
	if (forced) /* all that was the client's has come, unless more is being made */
		atomic_store(&share.due, false);
	if (atomic_load(&share.enabled)) {
		atomic_store(&share.due, true);
		kp_share_buffers_prepare();
	}
	return result;
}

CUptiResult kp_share_client_dropped(CUcontext context, uint32_t stream, size_t *dropped)
{
	size_t read = 0;
	CUptiResult result;

	if (!dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = share.cupti->ActivityGetNumDroppedRecords(context, stream, &read);
	if (result != CUPTI_SUCCESS)
		return result;
	atomic_fetch_add(&share.dropped_own, read);
	*dropped = read + atomic_exchange(&share.dropped_client, 0);
	return CUPTI_SUCCESS;
}

/* CUPTI stays, and with it kprof; all that was the client's goes. */
CUptiResult kp_share_finalize(void)
{
	uint64_t enabled = atomic_exchange(&share.enabled, 0);
	CUpti_SubscriberHandle subscriber = atomic_exchange(&share.subscriber, NULL);

	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		if (enabled & ~shared(enabled) & 1ULL << kind)
			share.cupti->ActivityDisable((CUpti_ActivityKind)kind);
	atomic_store(&share.due, false);
	kp_deliver_forget();
	kp_share_attributes_forget();
	kp_share_buffers_return(true);
	kp_share_buffers_register(NULL, NULL);
	kp_share_clock_set(NULL);
	atomic_store(&share.dropped_client, 0);
	if (subscriber)
		share.cupti->Unsubscribe(subscriber);
	tell_watcher();
	return CUPTI_SUCCESS;
}

void kp_share_forget(void)
{
	const pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&share, 0, sizeof(share));
	share.lock = fresh;
	share_once = once;
	kp_share_attributes_after_fork();
	kp_share_buffers_forget();
	kp_share_clock_forget();
	kp_deliver_after_fork();
}
