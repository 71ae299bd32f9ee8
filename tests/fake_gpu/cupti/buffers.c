/*
 * Activity buffers; see buffers.h for who owns them when.
 *
 * Records are appended when the operation is issued, and completed when the GPU's clock has passed
 * their end; `pending` lists those that are not, in the order in which they were issued.
 */
#include "tests/fake_gpu/cupti/buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake_gpu/common/ledger.h"
#include "tests/fake_gpu/cupti/records.h"
#include "tests/fake_gpu/cupti/state.h"

#define POISON 0xa5
#define ALIGNMENT 8

struct buffer {
	uint8_t *bytes, *shadow;
	size_t size, used;
	size_t records, max_records; /* 0: as many as fit */
	size_t pending;
	bool full;
	bool zeroed; /* it came zeroed, so what holds no record goes back zeroed */
	uint64_t counts[KP_FAKE_COUNTER_COUNT]; /* for the ledger, once it is delivered */
	struct buffer *next;
};

struct pending {
	struct buffer *buffer;
	size_t offset;
	CUpti_ActivityKind kind;
	struct kp_fake_stamp stamp;
	struct pending *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t became_full, delivered;
static pthread_once_t conditions_once = PTHREAD_ONCE_INIT;

static CUpti_BuffersCallbackRequestFunc request_callback;
static CUpti_BuffersCallbackCompleteFunc complete_callback;
static struct buffer *buffers, **buffers_end = &buffers, *open_buffer;
static struct pending *pendings, **pendings_end = &pendings;
static size_t dropped;
static bool expect_zero;
static unsigned int delivering;        /* threads that call the completion callback */
static _Thread_local bool in_callback; /* this thread is one of them */

static void init_conditions(void)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&became_full, &monotonic);
	pthread_cond_init(&delivered, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void take_lock(void)
{
	pthread_once(&conditions_once, init_conditions);
	pthread_mutex_lock(&lock);
}

static void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		abort();
	return memory;
}

void kp_fake_buffers_register(CUpti_BuffersCallbackRequestFunc request,
			      CUpti_BuffersCallbackCompleteFunc complete)
{
	take_lock();
	request_callback = request;
	complete_callback = complete;
	pthread_mutex_unlock(&lock);
}

bool kp_fake_buffers_registered(void)
{
	bool registered;

	take_lock();
	registered = request_callback != NULL;
	pthread_mutex_unlock(&lock);
	return registered;
}

void kp_fake_buffers_expect_zero(bool zeroed)
{
	take_lock();
	expect_zero = zeroed;
	pthread_mutex_unlock(&lock);
}

static void drop_locked(void)
{
	dropped++;
	kp_fake_count(KP_FAKE_records_dropped, 1);
}

void kp_fake_buffers_drop(void)
{
	take_lock();
	drop_locked();
	pthread_mutex_unlock(&lock);
}

size_t kp_fake_buffers_take_dropped(void)
{
	size_t count;

	take_lock();
	count = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return count;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Whether the client may give this memory. */
static bool acceptable(const uint8_t *bytes, size_t size)
{
	if ((uintptr_t)bytes % ALIGNMENT != 0 || size < KP_FAKE_RECORD_MAX)
		return false;
	for (const struct buffer *held = buffers; held; held = held->next)
		if (bytes < held->bytes + held->size && held->bytes < bytes + size)
			return false;
	return !expect_zero || is_zero(bytes, size);
}

/* Asks the client for a buffer and opens it. Gives the lock up meanwhile. */
static bool open_next(void)
{
	CUpti_BuffersCallbackRequestFunc request = request_callback;
	size_t size = 0, max_records = 0;
	struct buffer *buffer;
	uint8_t *bytes = NULL;

	if (!request)
		return false;
	pthread_mutex_unlock(&lock);
	request(&bytes, &size, &max_records);
	pthread_mutex_lock(&lock);
	if (!bytes)
		return false;
	if (!acceptable(bytes, size)) {
		kp_fake_count(KP_FAKE_buffer_violations, 1);
		return false;
	}
	kp_fake_count(KP_FAKE_buffers_requested, 1);
	buffer = allocate(sizeof(*buffer));
	buffer->bytes = bytes;
	buffer->size = size;
	buffer->max_records = max_records;
	buffer->zeroed = expect_zero;
	buffer->shadow = allocate(size);
	memset(bytes, POISON, size);
	memset(buffer->shadow, POISON, size);
	*buffers_end = buffer;
	buffers_end = &buffer->next;
	open_buffer = buffer;
	return true;
}

/* The open buffer, where it has room for a record of this size. */
static struct buffer *buffer_with_room(size_t bytes)
{
	struct buffer *buffer = open_buffer;

	if (!buffer)
		return NULL;
	if (buffer->size - buffer->used >= bytes &&
	    (!buffer->max_records || buffer->records < buffer->max_records))
		return buffer;
	buffer->full = true;
	open_buffer = NULL;
	pthread_cond_broadcast(&became_full);
	return NULL;
}

static enum kp_fake_counter counter_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return KP_FAKE_memops_delivered;
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return KP_FAKE_kernels_delivered;
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return KP_FAKE_others_delivered;
	default:
		return KP_FAKE_unknown_delivered;
	}
}

/* Copies to the client's memory what the shadow holds in this place. */
static void publish(struct buffer *buffer, size_t offset, size_t bytes)
{
	memcpy(buffer->bytes + offset, buffer->shadow + offset, bytes);
}

void kp_fake_buffers_append(CUpti_ActivityKind kind, const struct kp_fake_op *op,
			    const struct kp_fake_stamp *stamp)
{
	size_t bytes = kp_fake_record_bytes(kind);
	struct pending *pending;
	struct buffer *buffer;

	take_lock();
	while (!(buffer = buffer_with_room(bytes))) {
		if (!open_next()) {
			drop_locked();
			pthread_mutex_unlock(&lock);
			return;
		}
	}
	kp_fake_record_write(buffer->shadow + buffer->used, kind, op);
	publish(buffer, buffer->used, bytes);
	buffer->counts[counter_of(kind)]++;
	buffer->records++;
	if (stamp) {
		pending = allocate(sizeof(*pending));
		*pending = (struct pending){buffer, buffer->used, kind, *stamp, NULL};
		*pendings_end = pending;
		pendings_end = &pending->next;
		buffer->pending++;
	}
	buffer->used += bytes;
	pthread_mutex_unlock(&lock);
}

/* Writes the times of a record that is complete, or for good those of one that never will be. */
static void finish(const struct pending *pending, uint64_t now_ns)
{
	const struct kp_fake_stamp *stamp = &pending->stamp;
	struct buffer *buffer = pending->buffer;
	bool complete = stamp->done_ns <= now_ns;
	uint64_t start_ns = complete || stamp->begun_ns <= now_ns ? stamp->start_ns : 0;

	kp_fake_record_finish(buffer->shadow + pending->offset, pending->kind, start_ns,
			      complete ? stamp->end_ns : 0);
	publish(buffer, pending->offset, kp_fake_record_bytes(pending->kind));
	if (!complete && counter_of(pending->kind) == KP_FAKE_kernels_delivered)
		buffer->counts[KP_FAKE_kernels_unfinished]++;
	buffer->pending--;
}

/* Completes what the GPU has finished, or with `all` whatever is pending. With the lock. */
static void finish_pending(bool all)
{
	uint64_t now_ns = kp_fake_gpu()->now_ns();
	struct pending **link = &pendings;

	while (*link) {
		struct pending *pending = *link;

		if (!all && pending->stamp.done_ns > now_ns) {
			link = &pending->next;
			continue;
		}
		finish(pending, now_ns);
		*link = pending->next;
		free(pending);
	}
	pendings_end = link;
}

/* Takes the buffers that may go out of the list. With the lock. */
static struct buffer *detach(enum kp_fake_which which)
{
	struct buffer *out = NULL, **out_end = &out, **link = &buffers;

	while (*link) {
		struct buffer *buffer = *link;
		bool goes =
			buffer->used && !buffer->pending && (buffer->full || which != KP_FAKE_FULL);

		if (!goes && which != KP_FAKE_ALL) {
			link = &buffer->next;
			continue;
		}
		*link = buffer->next;
		buffer->next = NULL;
		*out_end = buffer;
		out_end = &buffer->next;
		if (buffer == open_buffer)
			open_buffer = NULL;
	}
	buffers_end = link;
	return out;
}

/* Gives one buffer back to the client. Without the lock. */
static void give_back(struct buffer *buffer, CUpti_BuffersCallbackCompleteFunc complete)
{
	if (memcmp(buffer->bytes, buffer->shadow, buffer->size) != 0)
		kp_fake_count(KP_FAKE_buffer_violations, 1);
	for (size_t i = 0; i < KP_FAKE_COUNTER_COUNT; i++)
		if (buffer->counts[i])
			kp_fake_count((enum kp_fake_counter)i, buffer->counts[i]);
	kp_fake_count(KP_FAKE_buffers_completed, 1);
	if (buffer->zeroed)
		memset(buffer->bytes + buffer->used, 0, buffer->size - buffer->used);
	in_callback = true;
	complete(NULL, 0, buffer->bytes, buffer->size, buffer->used);
	in_callback = false;
	free(buffer->shadow);
	free(buffer);
}

void kp_fake_buffers_deliver(enum kp_fake_which which)
{
	CUpti_BuffersCallbackCompleteFunc complete;
	struct buffer *list;

	take_lock();
	finish_pending(which == KP_FAKE_ALL);
	list = detach(which);
	complete = complete_callback;
	delivering++;
	pthread_mutex_unlock(&lock);
	while (list) {
		struct buffer *next = list->next;

		give_back(list, complete);
		list = next;
	}
	pthread_mutex_lock(&lock);
	delivering--;
	pthread_cond_broadcast(&delivered);
	while (which != KP_FAKE_FULL && delivering > 0 && !in_callback)
		pthread_cond_wait(&delivered, &lock);
	pthread_mutex_unlock(&lock);
}

void kp_fake_buffers_wait(uint32_t period_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += period_ms / 1000;
	until.tv_nsec += (long)(period_ms % 1000) * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	take_lock();
	pthread_cond_timedwait(&became_full, &lock, &until);
	pthread_mutex_unlock(&lock);
}

void kp_fake_buffers_forget(void)
{
	const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = fresh;
	init_conditions();
	request_callback = NULL;
	complete_callback = NULL;
	buffers = open_buffer = NULL;
	buffers_end = &buffers;
	pendings = NULL;
	pendings_end = &pendings;
	dropped = 0;
	expect_zero = false;
	delivering = 0;
}
