/* The rings of host calls; see host.h. */
#include "inject/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/hooks_number.h"
#include "inject/state.h"

_Static_assert(sizeof(struct kp_host_call) == 64, "one cache line");

enum owner {
	FREE,  /* nobody's */
	OWNED, /* a thread's */
	LEFT   /* its thread has ended; the worker frees it once it is empty */
};

struct kp_host_ring {
	struct kp_host_ring *next; /* set before the ring is listed */
	_Atomic int owner;
	uint32_t thread;  /* the owner's */
	unsigned depth;   /* owner only: how many launches it is in */
	uint64_t limit;   /* owner only: it may write up to here before it looks at `taken` */
	uint64_t drained; /* worker only: `lost`, as it was counted last */
	_Atomic uint64_t lost;
	struct kp_host_streams streams; /* owner only */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(4096) struct kp_host_call calls[KP_HOST_RING];
};

static struct {
	_Atomic(struct kp_host_ring *) rings; /* listed once, for good */
	_Atomic unsigned ring_count;
	_Atomic uint64_t ringless; /* calls of threads that got no ring */
	_Atomic bool on;
	/* worker only */
	uint64_t calls, kernels, lost;
	bool kernels_unknown; /* of some graph */
} host;

static pthread_key_t key;
static _Thread_local struct kp_host_ring *own __attribute__((tls_model("initial-exec")));

/* ---- the threads' side ---- */

/* At a thread's end. It may launch once more, in a later destructor: that takes a ring anew. */
static void leave_ring(void *ring)
{
	own = NULL;
	atomic_store_explicit(&((struct kp_host_ring *)ring)->owner, LEFT, memory_order_release);
}

static void make_key(void)
{
	if (pthread_key_create(&key, leave_ring) != 0)
		key = (pthread_key_t)-1; /* setting it fails; rings are then never reused */
}

void kp_host_start(const struct kp_cupti *cupti)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!kp_host_asked())
		return;
	pthread_once(&once, make_key);
	kp_host_streams_start(cupti);
	atomic_store(&host.on, true);
}

void kp_host_stop(void)
{
	atomic_store(&host.on, false);
}

void kp_host_forget(void)
{
	memset(&host, 0, sizeof(host));
	if (own)
		pthread_setspecific(key, NULL); /* else the key may not have been made */
	own = NULL;
}

static struct kp_host_ring *reuse_ring(void)
{
	struct kp_host_ring *ring = atomic_load(&host.rings);
	int expected = FREE;

	while (ring && !atomic_compare_exchange_strong(&ring->owner, &expected, OWNED)) {
		ring = ring->next;
		expected = FREE;
	}
	return ring;
}

static struct kp_host_ring *map_ring(void)
{
	struct kp_host_ring *ring;

	if (atomic_fetch_add(&host.ring_count, 1) >= KP_HOST_RINGS) {
		atomic_fetch_sub(&host.ring_count, 1);
		return NULL;
	}
	ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (ring == MAP_FAILED) {
		atomic_fetch_sub(&host.ring_count, 1);
		return NULL;
	}
	atomic_init(&ring->owner, OWNED);
	ring->next = atomic_load(&host.rings);
	while (!atomic_compare_exchange_weak(&host.rings, &ring->next, ring))
		;
	return ring;
}

/* A thread's first launch. */
static struct kp_host_ring *take_ring(void)
{
	int error = errno;
	struct kp_host_ring *ring = reuse_ring();

	if (!ring)
		ring = map_ring();
	if (ring) {
		ring->thread = (uint32_t)syscall(SYS_gettid);
		ring->depth = 0;
		memset(&ring->streams, 0, sizeof(ring->streams));
		own = ring;
		pthread_setspecific(key, ring);
	}
	errno = error;
	return ring;
}

static void lose(struct kp_host_ring *ring)
{
	atomic_store_explicit(&ring->lost,
			      atomic_load_explicit(&ring->lost, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

void kp_host_enter(struct kp_host_open *open)
{
	struct kp_host_ring *ring = own;

	open->ring = NULL;
	if (!atomic_load_explicit(&host.on, memory_order_relaxed))
		return;
	if (__builtin_expect(!ring, 0) && !(ring = take_ring())) {
		atomic_fetch_add(&host.ringless, 1);
		return;
	}
	open->ring = ring;
	if (ring->depth++ == 0)
		open->start_ns = kp_clock_now();
}

void kp_host_leave(struct kp_host_open *open)
{
	if (open->ring)
		open->end_ns = kp_clock_now();
}

void kp_host_discard(const struct kp_host_open *open)
{
	if (open->ring)
		open->ring->depth--;
}

/* The place for the next call; NULL where the ring is full. */
static struct kp_host_call *next_place(struct kp_host_ring *ring, uint64_t written)
{
	if (__builtin_expect(written == ring->limit, 0)) {
		ring->limit =
			atomic_load_explicit(&ring->taken, memory_order_acquire) + KP_HOST_RING;
		if (written == ring->limit)
			return NULL;
	}
	return &ring->calls[written % KP_HOST_RING];
}

void kp_host_keep(const struct kp_host_open *open, struct kp_host_stream stream,
		  struct kp_host_call *call)
{
	struct kp_host_ring *ring = open->ring;
	struct kp_host_call *place;
	uint64_t written;

	if (!ring)
		return;
	if (ring->depth > 1) {
		lose(ring);
	} else if (kp_hooks_may_be_recorded()) {
		call->start_ns = open->start_ns;
		call->end_ns = open->end_ns;
		call->thread = ring->thread;
		kp_host_streams_find(&ring->streams, stream, &call->context, &call->stream);
		written = atomic_load_explicit(&ring->written, memory_order_relaxed);
		place = next_place(ring, written);
		if (place) {
			*place = *call;
			atomic_store_explicit(&ring->written, written + 1, memory_order_release);
			if ((written + 1) % (KP_HOST_RING / 4) == 0)
				kp_buffers_wake();
		} else {
			lose(ring);
		}
	}
	ring->depth--;
}

/* ---- the worker's side ---- */

static void write_call(struct kp_writer *writer, const struct kp_host_call *call)
{
	host.calls++;
	host.kernels_unknown |= call->kernels == KP_HOST_UNKNOWN;
	host.kernels += call->kernels;
	kp_writer_host(writer, call); /* what fails is in kp_writer_loss */
}

/*
 * Gives back pages of a ring, where there are many rings: those that lie wholly in what was just
 * read. A page that began before may hold what the thread has written since.
 */
static void release(struct kp_host_ring *ring, uint64_t from, uint64_t to)
{
	const uint64_t per_page = (uint64_t)sysconf(_SC_PAGESIZE) / sizeof(ring->calls[0]);
	int error = errno;

	if (atomic_load(&host.ring_count) <= KP_HOST_KEEP || !per_page)
		return;
	from = (from + per_page - 1) / per_page * per_page;
	to -= to % per_page;
	while (from < to) {
		uint64_t place = from % KP_HOST_RING;
		uint64_t most = KP_HOST_RING - place;
		uint64_t count = to - from < most ? to - from : most;

		madvise(&ring->calls[place], count * sizeof(ring->calls[0]), MADV_DONTNEED);
		from += count;
	}
	errno = error;
}

static void drain_ring(struct kp_writer *writer, struct kp_host_ring *ring)
{
	int owner = atomic_load_explicit(&ring->owner, memory_order_acquire);
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire);
	uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
	uint64_t lost = atomic_load_explicit(&ring->lost, memory_order_relaxed);
	uint64_t from = taken;

	for (; taken != written; taken++)
		write_call(writer, &ring->calls[taken % KP_HOST_RING]);
	release(ring, from, taken);
	atomic_store_explicit(&ring->taken, taken, memory_order_release);
	host.lost += lost - ring->drained;
	ring->drained = lost;
	if (owner == LEFT)
		atomic_store_explicit(&ring->owner, FREE, memory_order_release);
}

void kp_host_drain(struct kp_writer *writer)
{
	if (!atomic_load(&host.on))
		return;
	for (struct kp_host_ring *ring = atomic_load(&host.rings); ring; ring = ring->next)
		drain_ring(writer, ring);
}

static uint64_t lost_calls(void)
{
	return host.lost + atomic_load(&host.ringless);
}

void kp_host_publish(struct kp_live_slot *slot)
{
	atomic_store(&slot->host_calls, host.calls);
	atomic_store(&slot->host_calls_lost, lost_calls());
}

void kp_host_put_counts(const struct kp_writer_loss *loss, struct kp_counts *counts)
{
	if (!atomic_load(&host.on))
		return;
	KP_SET(counts, COUNTS, host_calls, host.calls);
	if (!host.kernels_unknown)
		KP_SET(counts, COUNTS, host_kernels, host.kernels);
	KP_SET(counts, COUNTS, host_calls_lost, lost_calls());
	KP_SET(counts, COUNTS, host_calls_unwritten, loss->host_calls);
}
