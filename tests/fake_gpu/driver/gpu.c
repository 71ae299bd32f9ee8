/*
 * Contexts, streams and timelines of the simulated GPU; see gpu.h for the rules of time.
 */
#include "tests/fake_gpu/driver/gpu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/fake_gpu/common/faults.h"

#define FIRST_STREAM_ID 7 /* the number that CUPTI shows for a context's default stream */

static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_id, last_stream_id = FIRST_STREAM_ID;
static _Thread_local struct CUctx_st *current;

/* The per-thread default stream of this thread, in the context in which it last used it. */
static _Thread_local struct CUstream_st *thread_stream;

void kp_fake_lock(void)
{
	pthread_mutex_lock(&gpu_lock);
}

void kp_fake_unlock(void)
{
	pthread_mutex_unlock(&gpu_lock);
}

void *kp_fake_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes ? bytes : 1);

	if (!memory) {
		fputs("fake GPU: out of memory\n", stderr);
		abort();
	}
	return memory;
}

uint64_t kp_fake_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void kp_fake_wait_until(uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000U),
			       .tv_nsec = (long)(end_ns % 1000000000U)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
}

void kp_fake_wait_for_room(uint64_t start_ns)
{
	uint64_t queue_ns = kp_fake_faults()->queue * 1000U;

	if (queue_ns && start_ns > kp_fake_now_ns() + queue_ns)
		kp_fake_wait_until(start_ns - queue_ns / 2);
}

void kp_fake_interrupt(void)
{
	static _Atomic uint64_t launches;

	if (kp_fake_every(atomic_fetch_add(&launches, 1) + 1, kp_fake_faults()->signal))
		raise(SIGUSR1);
}

uint32_t kp_fake_next_id(void)
{
	return ++last_id;
}

struct CUctx_st *kp_fake_current(void)
{
	return current;
}

void kp_fake_set_current(struct CUctx_st *context)
{
	current = context;
}

/* A new one, or one that was destroyed: like the real driver's, handles are used again. */
static struct CUstream_st *find_place(struct CUctx_st *context)
{
	struct CUstream_st *stream = context->streams;

	while (stream && stream->tag != KP_FAKE_DEAD)
		stream = stream->next;
	if (!stream) {
		stream = kp_fake_alloc(sizeof(*stream));
		stream->next = context->streams;
		context->streams = stream;
	}
	return stream;
}

/* With the lock. */
static struct CUstream_st *add_stream(struct CUctx_st *context, uint32_t id, bool blocking)
{
	struct CUstream_st *stream = find_place(context);

	stream->tag = KP_FAKE_STREAM;
	stream->id = id;
	stream->blocking = blocking;
	stream->context = context;
	stream->tail_ns = context->base_ns;
	stream->capture = NULL; /* of one that was destroyed in the midst of it */
	return stream;
}

static struct CUctx_st *contexts; /* all that there ever were; with the lock */

struct CUctx_st *kp_fake_contexts(void)
{
	return contexts;
}

/* With the lock; where handles are to be used again, the place of one that has gone. */
static struct CUctx_st *context_place(void)
{
	struct CUctx_st *context = kp_fake_faults()->reuse ? contexts : NULL;

	while (context && context->tag != KP_FAKE_DEAD)
		context = context->next;
	if (!context) {
		context = kp_fake_alloc(sizeof(*context));
		context->next = contexts;
		contexts = context;
	}
	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		stream->tag = KP_FAKE_DEAD;
	return context;
}

struct CUctx_st *kp_fake_context_create(CUdevice device)
{
	static uint32_t last_context;
	struct CUctx_st *context;

	kp_fake_lock();
	context = context_place();
	context->tag = KP_FAKE_CONTEXT;
	context->id = ++last_context;
	context->device = device;
	context->base_ns = kp_fake_now_ns();
	context->floor_ns = context->last_ns = context->base_ns;
	context->default_stream = add_stream(context, FIRST_STREAM_ID, true);
	kp_fake_unlock();
	return context;
}

struct CUstream_st *kp_fake_stream_create(struct CUctx_st *context, bool blocking)
{
	struct CUstream_st *stream;

	kp_fake_lock();
	stream = add_stream(context, ++last_stream_id, blocking);
	kp_fake_unlock();
	return stream;
}

struct CUstream_st *kp_fake_stream_resolve(struct CUctx_st *context, CUstream handle,
					   bool per_thread)
{
	if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread)) {
		if (!kp_fake_is(thread_stream, KP_FAKE_STREAM) || thread_stream->context != context)
			thread_stream = kp_fake_stream_create(context, true);
		return thread_stream;
	}
	if (!handle || handle == CU_STREAM_LEGACY)
		return context->default_stream;
	return kp_fake_is(handle, KP_FAKE_STREAM) ? handle : NULL;
}

uint64_t kp_fake_stream_start(const struct CUstream_st *stream)
{
	const struct CUctx_st *context = stream->context;
	const struct CUstream_st *other;
	uint64_t start = stream->tail_ns > context->floor_ns ? stream->tail_ns : context->floor_ns;
	uint64_t now = kp_fake_faults()->wall ? kp_fake_now_ns() : 0;

	if (now > start)
		start = now;
	if (stream != context->default_stream) {
		if (stream->blocking && context->default_stream->tail_ns > start)
			start = context->default_stream->tail_ns;
		return start + kp_fake_faults()->gap;
	}
	for (other = context->streams; other; other = other->next)
		if (other->blocking && other->tail_ns > start)
			start = other->tail_ns;
	return start + kp_fake_faults()->gap;
}

void kp_fake_place(struct CUstream_st *stream, uint64_t start_ns, uint64_t duration_ns,
		   struct kp_fake_op *op)
{
	struct CUctx_st *context = stream->context;

	op->device = (uint32_t)context->device;
	op->context = context->id;
	op->stream = stream->id;
	op->start_ns = start_ns;
	op->end_ns = start_ns + duration_ns;
	if (op->end_ns > stream->tail_ns)
		stream->tail_ns = op->end_ns;
	if (op->end_ns > context->last_ns)
		context->last_ns = op->end_ns;
}
