/* What the other client of CUPTI asked for, and what it gets; see share.h. */
#include "inject/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/share_attributes.h"
#include "inject/share_buffers.h"
#include "inject/share_clock.h"
#include "inject/share_window.h"

#define KIND_LIMIT 64 /* kinds are bits of a word */
#define OWN_LIMIT 8   /* kinds that kprof needs */
/* How long a forced flush of the client's first waits for records to complete by themselves: once
 * forced out, a running kernel's never gets its end. */
#define SETTLE_MS 20
/* The longest that the client waits for the worker to ask it for its first buffer. */
#define PREPARE_MS 200
/* The longest that a flush waits for deliveries that other threads have begun. */
#define DELIVERY_MS 1000

static struct {
	struct kp_inject *inject;
	const struct kp_cupti *cupti;
	const CUpti_ActivityKind *kinds; /* kprof's */
	size_t kind_count;
	_Atomic bool on;
	_Atomic(CUpti_SubscriberHandle) subscriber; /* the client's */
	_Atomic uint64_t enabled;                   /* kinds that the client has on, as bits */
	_Atomic uint64_t foreign;                   /* kinds beyond kprof's that it ever had on */
	_Atomic bool serial;                        /* it knows kernels as those of KIND_KERNEL */
	_Atomic bool wanted;                        /* the worker is to ask for a buffer */
	_Atomic bool serving;                       /* there is a worker */
	_Atomic uint32_t worker_thread,
		worker_tid; /* as CUPTI names it, by default and by choice */
	_Atomic size_t dropped_client, dropped_own; /* read, but not yet told to the one or other */
	pthread_mutex_t lock;                       /* over the rest */
	pthread_cond_t changed;
	unsigned delivering; /* threads */
	struct kp_windows windows[OWN_LIMIT];
} share = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t share_once = PTHREAD_ONCE_INIT;

static void init_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&share.changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static struct timespec after_ms(unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
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

/* The serialising kind is never enabled: a client that asks for it gets the same records of the
 * kind that kprof has, under its name. */
static CUpti_ActivityKind real_kind(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : kind;
}

/* The window of a kind that kprof has on; NULL for others. */
static struct kp_windows *windows_of(CUpti_ActivityKind kind)
{
	for (size_t i = 0; i < share.kind_count; i++)
		if (share.kinds[i] == real_kind(kind))
			return &share.windows[i];
	return NULL;
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

/* What kprof does not need, but the client had on when kprof came. */
static uint64_t own_kinds(void)
{
	uint64_t kinds = bit(CUPTI_ACTIVITY_KIND_KERNEL);

	for (size_t i = 0; i < share.kind_count; i++)
		kinds |= bit(share.kinds[i]);
	return kinds;
}

void kp_share_begin(struct kp_inject *inject, const struct kp_cupti *cupti,
		    const CUpti_ActivityKind *kinds, size_t kind_count, bool own_clock)
{
	uint64_t enabled = atomic_load(&share.enabled);

	pthread_once(&share_once, init_condition);
	share.inject = inject;
	share.cupti = cupti;
	share.kinds = kinds;
	share.kind_count = kind_count < OWN_LIMIT ? kind_count : OWN_LIMIT;
	if (kp_share_buffers_registered())
		cupti->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	if (enabled & bit(CUPTI_ACTIVITY_KIND_KERNEL))
		cupti->ActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL);
	kp_share_clock_source(own_clock);
	pthread_mutex_lock(&share.lock);
	for (unsigned kind = 0; kind < KIND_LIMIT; kind++)
		if (enabled >> kind & 1 && windows_of((CUpti_ActivityKind)kind))
			kp_windows_open(windows_of((CUpti_ActivityKind)kind),
					kp_share_clock_ours());
	pthread_mutex_unlock(&share.lock);
	atomic_fetch_or(&share.foreign, enabled & ~own_kinds());
	atomic_store(&share.serial, (enabled & bit(CUPTI_ACTIVITY_KIND_KERNEL)) != 0);
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

/* A pass over a buffer: each record with its size, the distance to the next. */
struct walk {
	uint8_t *bytes;
	size_t valid_bytes;
	CUpti_Activity *record, *next;
	bool begun;
};

static bool step(struct walk *walk, size_t *size)
{
	uint8_t *end = walk->bytes + walk->valid_bytes;

	if (!walk->begun) {
		walk->begun = true;
		walk->next = NULL;
		if (share.cupti->ActivityGetNextRecord(walk->bytes, walk->valid_bytes,
						       &walk->next) != CUPTI_SUCCESS)
			return false;
	}
	walk->record = walk->next;
	if (!walk->record)
		return false;
	if (share.cupti->ActivityGetNextRecord(walk->bytes, walk->valid_bytes, &walk->next) ==
	    CUPTI_SUCCESS)
		end = (uint8_t *)walk->next;
	else
		walk->next = NULL;
	*size = (size_t)(end - (uint8_t *)walk->record);
	return true;
}

/* API calls bound the windows of what they launch; they must be known before that is judged. */
static void trace_calls(uint8_t *bytes, size_t valid_bytes)
{
	struct walk walk = {.bytes = bytes, .valid_bytes = valid_bytes};
	size_t size;

	while (step(&walk, &size)) {
		struct kp_share_key call;

		if (walk.record->kind != CUPTI_ACTIVITY_KIND_DRIVER &&
		    walk.record->kind != CUPTI_ACTIVITY_KIND_RUNTIME)
			continue;
		call = kp_share_record_key((const uint8_t *)walk.record, size);
		pthread_mutex_lock(&share.lock);
		for (size_t i = 0; i < share.kind_count; i++)
			kp_windows_trace(&share.windows[i], call);
		pthread_mutex_unlock(&share.lock);
	}
}

/* The worker asks the driver for facts of devices: calls that the program never made. */
static bool is_workers_call(const CUpti_Activity *record)
{
	const CUpti_ActivityAPI *call = (const void *)record;

	return (record->kind == CUPTI_ACTIVITY_KIND_DRIVER ||
		record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) &&
	       (call->threadId == atomic_load(&share.worker_thread) ||
		call->threadId == atomic_load(&share.worker_tid));
}

static bool is_clients(const CUpti_Activity *record, size_t size)
{
	struct kp_windows *windows = windows_of(record->kind);
	bool held;

	if (!windows) /* it is there because the client had its kind enabled */
		return !is_workers_call(record);
	pthread_mutex_lock(&share.lock);
	held = kp_windows_hold(windows, kp_share_record_key((const uint8_t *)record, size));
	pthread_mutex_unlock(&share.lock);
	return held;
}

/* The kind as the client knows it. */
static void rename_kind(uint8_t *copy)
{
	CUpti_Activity *record = (CUpti_Activity *)(void *)copy;

	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && atomic_load(&share.serial))
		record->kind = CUPTI_ACTIVITY_KIND_KERNEL;
}

static void deliver(uint8_t *bytes, size_t valid_bytes)
{
	struct walk walk = {.bytes = bytes, .valid_bytes = valid_bytes};
	struct kp_share_delivery delivery = {0};
	struct kp_clock_map map;
	size_t size;

	kp_share_clock_sample();
	kp_share_clock_map(&map);
	trace_calls(bytes, valid_bytes);
	while (step(&walk, &size)) {
		uint8_t *copy;

		if (!is_clients(walk.record, size))
			continue;
		copy = kp_share_buffers_put(&delivery, (const uint8_t *)walk.record, size);
		if (!copy)
			continue;
		kp_share_record_convert(copy, size, &map);
		rename_kind(copy);
	}
	kp_share_buffers_end(&delivery);
	atomic_fetch_add(&share.dropped_client, delivery.dropped);
}

static void begin_delivery(void)
{
	pthread_mutex_lock(&share.lock);
	share.delivering++;
	pthread_mutex_unlock(&share.lock);
}

static void end_delivery(void)
{
	pthread_mutex_lock(&share.lock);
	share.delivering--;
	pthread_cond_broadcast(&share.changed);
	pthread_mutex_unlock(&share.lock);
}

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
	if (buffer && valid_bytes && valid_bytes <= size && complete) {
		begin_delivery();
		deliver(buffer, valid_bytes);
		end_delivery();
	}
	kp_buffers_complete(context, stream, buffer, size, valid_bytes);
}

CUptiResult kp_share_flush(const struct kp_cupti *cupti, uint32_t flag)
{
	CUptiResult result;

	begin_delivery();
	result = cupti->ActivityFlushAll(flag);
	end_delivery();
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
	atomic_store(&share.worker_thread, (uint32_t)(uintptr_t)pthread_self());
	atomic_store(&share.worker_tid, (uint32_t)gettid());
	if (atomic_load(&share.enabled))
		kp_share_clock_sample();
	if (!atomic_exchange(&share.wanted, false))
		return;
	kp_share_buffers_prepare();
	pthread_mutex_lock(&share.lock);
	pthread_cond_broadcast(&share.changed);
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
	       pthread_cond_timedwait(&share.changed, &share.lock, &until) == 0)
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
	struct kp_windows *windows = windows_of(kind);
	uint64_t kernels =
		bit(CUPTI_ACTIVITY_KIND_KERNEL) | bit(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	uint64_t rival = bit(kind) & kernels ? kernels & ~bit(kind) : 0;
	CUptiResult result = CUPTI_SUCCESS;

	if (atomic_load(&share.enabled) & rival)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (!windows)
		result = enable(context, kind);
	if (result != CUPTI_SUCCESS)
		return result;
	if (rival)
		atomic_store(&share.serial, kind == CUPTI_ACTIVITY_KIND_KERNEL);
	if (windows) {
		pthread_mutex_lock(&share.lock);
		kp_windows_open(windows, kp_share_clock_ours());
		pthread_mutex_unlock(&share.lock);
	} else {
		atomic_fetch_or(&share.foreign, bit(kind));
		warn_of_graphs(kind);
	}
	atomic_fetch_or(&share.enabled, bit(kind));
	kp_share_clock_sample();
	kp_share_prepare();
	return CUPTI_SUCCESS;
}

CUptiResult kp_share_disable(CUpti_ActivityKind kind,
			     CUptiResult (*disable)(void *, CUpti_ActivityKind), void *context)
{
	struct kp_windows *windows = windows_of(kind);
	CUptiResult result = windows ? CUPTI_SUCCESS : disable(context, kind);

	if (result != CUPTI_SUCCESS)
		return result;
	if (windows && atomic_load(&share.enabled) & bit(kind)) {
		pthread_mutex_lock(&share.lock);
		kp_windows_close(windows, kp_share_clock_ours());
		pthread_mutex_unlock(&share.lock);
	}
	atomic_fetch_and(&share.enabled, ~bit(kind));
	kp_share_clock_sample();
	return CUPTI_SUCCESS;
}

static void wait_for_deliveries(void)
{
	struct timespec until = after_ms(DELIVERY_MS);

	pthread_mutex_lock(&share.lock);
	while (share.delivering && pthread_cond_timedwait(&share.changed, &share.lock, &until) == 0)
		;
	pthread_mutex_unlock(&share.lock);
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
	wait_for_deliveries();
	kp_share_buffers_return(forced && !atomic_load(&share.enabled));
	if (atomic_load(&share.enabled))
		kp_share_buffers_prepare();
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
		if (enabled & ~own_kinds() & 1ULL << kind)
			share.cupti->ActivityDisable((CUpti_ActivityKind)kind);
	pthread_mutex_lock(&share.lock);
	for (size_t i = 0; i < share.kind_count; i++)
		share.windows[i] = (struct kp_windows){.opened = 0};
	pthread_mutex_unlock(&share.lock);
	kp_share_attributes_forget();
	kp_share_buffers_return(true);
	kp_share_buffers_register(NULL, NULL);
	kp_share_clock_set(NULL);
	atomic_store(&share.dropped_client, 0);
	if (subscriber)
		share.cupti->Unsubscribe(subscriber);
	return CUPTI_SUCCESS;
}
