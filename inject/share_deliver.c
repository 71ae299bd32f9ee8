/* Which records the other client gets, and how; see share_deliver.h. */
#include "inject/share_deliver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/share_buffers.h"
#include "inject/share_clock.h"
#include "inject/share_record.h"
#include "inject/share_window.h"

static struct {
	const struct kp_cupti *cupti;
	const CUpti_ActivityKind *kinds; /* kprof's */
	size_t kind_count;
	_Atomic bool serial; /* the client knows kernels as those of KIND_KERNEL */
	_Atomic uint32_t thread,
		tid;          /* kprof's worker, as CUPTI names it by default and by choice */
	pthread_mutex_t lock; /* over the rest */
	pthread_cond_t left;
	unsigned inside; /* threads */
	struct kp_windows windows[KP_SHARED_KINDS];
} deliver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t condition_once = PTHREAD_ONCE_INIT;

static void init_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&deliver.left, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* The serialising kind is never enabled: a client that asks for it gets the same records of the
 * kind that kprof has, under its name. */
static CUpti_ActivityKind real_kind(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : kind;
}

/* The windows of a kind that kprof has on; NULL for others. */
static struct kp_windows *windows_of(CUpti_ActivityKind kind)
{
	for (size_t i = 0; i < deliver.kind_count; i++)
		if (deliver.kinds[i] == real_kind(kind))
			return &deliver.windows[i];
	return NULL;
}

void kp_deliver_begin(const struct kp_cupti *cupti, const CUpti_ActivityKind *kinds,
		      size_t kind_count)
{
	pthread_once(&condition_once, init_condition);
	deliver.cupti = cupti;
	deliver.kinds = kinds;
	deliver.kind_count = kind_count < KP_SHARED_KINDS ? kind_count : KP_SHARED_KINDS;
}

bool kp_deliver_shares(CUpti_ActivityKind kind)
{
	return windows_of(kind) != NULL;
}

void kp_deliver_open(CUpti_ActivityKind kind)
{
	struct kp_windows *windows = windows_of(kind);

	if (!windows)
		return;
	if (real_kind(kind) == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		atomic_store(&deliver.serial, kind == CUPTI_ACTIVITY_KIND_KERNEL);
	pthread_mutex_lock(&deliver.lock);
	kp_windows_open(windows, kp_share_clock_ours());
	pthread_mutex_unlock(&deliver.lock);
}

void kp_deliver_close(CUpti_ActivityKind kind)
{
	struct kp_windows *windows = windows_of(kind);

	if (!windows)
		return;
	pthread_mutex_lock(&deliver.lock);
	kp_windows_close(windows, kp_share_clock_ours());
	pthread_mutex_unlock(&deliver.lock);
}

void kp_deliver_forget(void)
{
	pthread_mutex_lock(&deliver.lock);
	memset(deliver.windows, 0, sizeof(deliver.windows));
	pthread_mutex_unlock(&deliver.lock);
}

void kp_deliver_not_mine(void)
{
	atomic_store(&deliver.thread, (uint32_t)(uintptr_t)pthread_self());
	atomic_store(&deliver.tid, (uint32_t)gettid());
}

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
		if (deliver.cupti->ActivityGetNextRecord(walk->bytes, walk->valid_bytes,
							 &walk->next) != CUPTI_SUCCESS)
			return false;
	}
	walk->record = walk->next;
	if (!walk->record)
		return false;
	if (deliver.cupti->ActivityGetNextRecord(walk->bytes, walk->valid_bytes, &walk->next) ==
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
		pthread_mutex_lock(&deliver.lock);
		for (size_t i = 0; i < deliver.kind_count; i++)
			kp_windows_trace(&deliver.windows[i], call);
		pthread_mutex_unlock(&deliver.lock);
	}
}

/* The worker asks the driver for facts of devices: calls that the program never made. */
static bool is_kprofs_call(const CUpti_Activity *record)
{
	const CUpti_ActivityAPI *call = (const void *)record;

	return (record->kind == CUPTI_ACTIVITY_KIND_DRIVER ||
		record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) &&
	       (call->threadId == atomic_load(&deliver.thread) ||
		call->threadId == atomic_load(&deliver.tid));
}

static bool is_clients(const CUpti_Activity *record, size_t size)
{
	struct kp_windows *windows = windows_of(record->kind);
	bool held;

	if (!windows) /* it is there because the client had its kind enabled */
		return !is_kprofs_call(record);
	pthread_mutex_lock(&deliver.lock);
	held = kp_windows_hold(windows, kp_share_record_key((const uint8_t *)record, size));
	pthread_mutex_unlock(&deliver.lock);
	return held;
}

/* The kind as the client knows it. */
static void rename_kind(uint8_t *copy)
{
	CUpti_Activity *record = (CUpti_Activity *)(void *)copy;

	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && atomic_load(&deliver.serial))
		record->kind = CUPTI_ACTIVITY_KIND_KERNEL;
}

size_t kp_deliver(uint8_t *bytes, size_t valid_bytes)
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
	return delivery.dropped;
}

void kp_deliver_enter(void)
{
	pthread_mutex_lock(&deliver.lock);
	deliver.inside++;
	pthread_mutex_unlock(&deliver.lock);
}

void kp_deliver_leave(void)
{
	pthread_mutex_lock(&deliver.lock);
	deliver.inside--;
	pthread_cond_broadcast(&deliver.left);
	pthread_mutex_unlock(&deliver.lock);
}

void kp_deliver_wait(unsigned limit_s)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += limit_s;
	pthread_mutex_lock(&deliver.lock);
	while (deliver.inside && pthread_cond_timedwait(&deliver.left, &deliver.lock, &until) == 0)
		;
	pthread_mutex_unlock(&deliver.lock);
}

void kp_deliver_after_fork(void)
{
	const pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&deliver, 0, sizeof(deliver));
	deliver.lock = fresh;
	condition_once = once;
}
