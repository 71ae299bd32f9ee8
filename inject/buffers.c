/* The pool of activity buffers; see buffers.h. */
#include "inject/buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled_or_woken;
	struct kp_filled *free;
	struct kp_filled *filled, **filled_end;
	const uint8_t *all[KP_BUFFER_LIMIT]; /* each buffer that was ever allocated */
	unsigned all_count;
	unsigned allocated, lent;
	bool woken, closed;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled_end = &pool.filled};

static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void init_pool(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool.filled_or_woken, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* The descriptor stands before the records, in one allocation. */
static struct kp_filled *allocate(void)
{
	struct kp_filled *buffer = aligned_alloc(64, 64 + KP_BUFFER_BYTES);

	_Static_assert(sizeof(*buffer) <= 64, "the descriptor fits before the records");
	if (!buffer)
		return NULL;
	memset(buffer, 0, 64 + KP_BUFFER_BYTES);
	buffer->bytes = (uint8_t *)buffer + 64;
	return buffer;
}

void CUPTIAPI kp_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct kp_filled *found;
	bool may_allocate = false;

	*max_records = 0;
	pthread_mutex_lock(&pool.lock);
	found = pool.free;
	if (found) {
		pool.free = found->next;
	} else if (pool.allocated < KP_BUFFER_LIMIT) {
		pool.allocated++;
		may_allocate = true;
	}
	pool.lent += found || may_allocate;
	pthread_mutex_unlock(&pool.lock);
	if (may_allocate) {
		found = allocate();
		pthread_mutex_lock(&pool.lock);
		if (found) {
			pool.all[pool.all_count++] = found->bytes;
		} else {
			pool.allocated--;
			pool.lent--;
		}
		pthread_mutex_unlock(&pool.lock);
	}
	*buffer = found ? found->bytes : NULL;
	*size = found ? KP_BUFFER_BYTES : 0;
}

void CUPTIAPI kp_buffers_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid_bytes)
{
	struct kp_filled *filled;
	bool closed;

	(void)context;
	(void)stream;
	if (!buffer)
		return;
	filled = (struct kp_filled *)(buffer - 64);
	filled->valid_bytes = valid_bytes <= size ? valid_bytes : size;
	filled->next = NULL;
	pthread_once(&pool_once, init_pool);
	pthread_mutex_lock(&pool.lock);
	pool.lent--;
	closed = pool.closed;
	if (!closed) {
		*pool.filled_end = filled;
		pool.filled_end = &filled->next;
		pthread_cond_signal(&pool.filled_or_woken);
	}
	pthread_mutex_unlock(&pool.lock);
	if (closed)
		kp_buffers_recycle(filled);
}

struct kp_filled *kp_buffers_take(unsigned timeout_ms)
{
	struct kp_filled *taken;
	struct timespec until;

	pthread_once(&pool_once, init_pool);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&pool.lock);
	while (!pool.filled && !pool.woken &&
	       pthread_cond_timedwait(&pool.filled_or_woken, &pool.lock, &until) == 0)
		;
	pool.woken = false;
	taken = pool.filled;
	pool.filled = NULL;
	pool.filled_end = &pool.filled;
	pthread_mutex_unlock(&pool.lock);
	return taken;
}

void kp_buffers_recycle(struct kp_filled *filled)
{
	/* CUPTI is told that buffers come zeroed, so that it need not clear them in the program's
	 * threads. */
	memset(filled->bytes, 0, filled->valid_bytes);
	pthread_mutex_lock(&pool.lock);
	filled->next = pool.free;
	pool.free = filled;
	pthread_mutex_unlock(&pool.lock);
}

void kp_buffers_wake(void)
{
	pthread_once(&pool_once, init_pool);
	pthread_mutex_lock(&pool.lock);
	pool.woken = true;
	pthread_cond_signal(&pool.filled_or_woken);
	pthread_mutex_unlock(&pool.lock);
}

unsigned kp_buffers_lent(void)
{
	unsigned lent;

	pthread_mutex_lock(&pool.lock);
	lent = pool.lent;
	pthread_mutex_unlock(&pool.lock);
	return lent;
}

bool kp_buffers_own(const uint8_t *bytes)
{
	bool own = false;

	pthread_mutex_lock(&pool.lock);
	for (unsigned i = 0; i < pool.all_count && !own; i++)
		own = pool.all[i] == bytes;
	pthread_mutex_unlock(&pool.lock);
	return own;
}

void kp_buffers_close(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.closed = true;
	pthread_mutex_unlock(&pool.lock);
}
