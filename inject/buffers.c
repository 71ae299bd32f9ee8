/* The pool of activity buffers; see buffers.h. */
#include "inject/buffers.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/futex.h"

static struct {
	pthread_mutex_t lock;
	struct kp_filled *free; /* KP_BUFFER_KEEP at most */
	struct kp_filled *cold; /* free too, but without memory behind them */
	struct kp_filled *filled, **filled_end;
	const uint8_t *all[KP_BUFFER_LIMIT]; /* each buffer that was ever allocated */
	unsigned all_count;
	unsigned allocated, lent, free_count;
	bool closed;
	_Atomic uint32_t bell; /* rung when a buffer is filled, and by kp_buffers_wake */
	unsigned attachment;   /* how often CUPTI was detached */
	uint32_t heard;        /* worker only: the bell as it last was */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled_end = &pool.filled};

#define RECORDS_OFFSET 64
#define MAPPED_BYTES (RECORDS_OFFSET + KP_BUFFER_BYTES)

/*
 * The descriptor stands before the records, in one mapping of its own: the program's allocator, in
 * whose callers this runs, is left alone, and the memory behind a buffer can be given back.
 */
static struct kp_filled *allocate(void)
{
	int before = errno; /* the program's: CUPTI asks in the middle of its calls */
	struct kp_filled *buffer = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	_Static_assert(sizeof(*buffer) <= RECORDS_OFFSET, "the descriptor fits");
	if (buffer == MAP_FAILED) {
		errno = before;
		return NULL;
	}
	buffer->bytes = (uint8_t *)buffer + RECORDS_OFFSET;
	return buffer;
}

void CUPTIAPI kp_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct kp_filled *found;
	bool may_allocate = false;
	unsigned attachment;

	*max_records = 0;
	pthread_mutex_lock(&pool.lock);
	found = pool.free;
	if (found) {
		pool.free = found->next;
		pool.free_count--;
	} else if ((found = pool.cold) != NULL) {
		pool.cold = found->next;
	} else if (pool.allocated < KP_BUFFER_LIMIT) {
		pool.allocated++;
		may_allocate = true;
	}
	pool.lent += found || may_allocate;
	attachment = pool.attachment;
	if (found)
		found->attachment = attachment;
	pthread_mutex_unlock(&pool.lock);
	if (may_allocate) {
		found = allocate();
		pthread_mutex_lock(&pool.lock);
		if (found) {
			found->attachment = attachment;
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
	filled = (struct kp_filled *)(buffer - RECORDS_OFFSET);
	filled->valid_bytes = valid_bytes <= size ? valid_bytes : size;
	filled->next = NULL;
	pthread_mutex_lock(&pool.lock);
	pool.lent -= pool.lent > 0; /* a forgotten one may come back after all */
	filled->stale = filled->attachment != pool.attachment;
	closed = pool.closed;
	if (!closed) {
		*pool.filled_end = filled;
		pool.filled_end = &filled->next;
	}
	pthread_mutex_unlock(&pool.lock);
	if (closed)
		kp_buffers_recycle(filled);
	else
		kp_futex_step(&pool.bell);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

struct kp_filled *kp_buffers_take(unsigned timeout_ms)
{
	uint64_t until_ns = now_ns() + timeout_ms * 1000000ULL;
	struct kp_filled *taken;

	while (atomic_load(&pool.bell) == pool.heard && now_ns() < until_ns)
		kp_futex_wait(&pool.bell, pool.heard, until_ns);
	pool.heard = atomic_load(&pool.bell);
	pthread_mutex_lock(&pool.lock);
	taken = pool.filled;
	pool.filled = NULL;
	pool.filled_end = &pool.filled;
	pthread_mutex_unlock(&pool.lock);
	return taken;
}

/* Empties a buffer and gives its memory back; it reads as zeros, like a new one. */
static bool cool(struct kp_filled *filled)
{
	if (madvise(filled, MAPPED_BYTES, MADV_DONTNEED) != 0)
		return false;
	filled->bytes = (uint8_t *)filled + RECORDS_OFFSET;
	return true;
}

void kp_buffers_recycle(struct kp_filled *filled)
{
	struct kp_filled **list = &pool.free;
	bool keep;

	pthread_mutex_lock(&pool.lock);
	keep = pool.free_count < KP_BUFFER_KEEP;
	pool.free_count += keep;
	pthread_mutex_unlock(&pool.lock);
	/* CUPTI is told that buffers come zeroed, so that it need not clear them in the program's
	 * threads. While it is being detached it does not know that (all attributes go with it). */
	if (keep || !cool(filled))
		memset(filled->bytes, 0, filled->stale ? KP_BUFFER_BYTES : filled->valid_bytes);
	if (!keep)
		list = &pool.cold;
	pthread_mutex_lock(&pool.lock);
	filled->next = *list;
	*list = filled;
	pthread_mutex_unlock(&pool.lock);
}

void kp_buffers_wake(void)
{
	kp_futex_step(&pool.bell);
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

void kp_buffers_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&pool, 0, sizeof(pool));
	pool.lock = fresh;
	pool.filled_end = &pool.filled;
}

unsigned kp_buffers_abandon(void)
{
	unsigned lent;

	pthread_mutex_lock(&pool.lock);
	lent = pool.lent;
	pool.lent = 0;
	pool.attachment++;
	pthread_mutex_unlock(&pool.lock);
	return lent;
}
