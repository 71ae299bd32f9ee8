/* Runs of launches, on the threads' side; see runs.h. runs_worker.c takes them. */
#include "inject/runs.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/runs_state.h"
#include "inject/windows.h"

/* So many lanes are looked at for a stream. */
#define LANE_LOOKS 16U

_Atomic bool kp_runs_on;
struct kp_runs kp_runs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_key_t key;
static _Thread_local struct kp_runs_thread *own __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t own_edges __attribute__((tls_model("initial-exec")));

/* ---- on and off ---- */

static void close_all(struct kp_runs_thread *thread);

/* At a thread's end. It may launch once more, in a later destructor: that takes another. */
static void leave_thread(void *pointer)
{
	struct kp_runs_thread *thread = pointer;

	own = NULL;
	close_all(thread);
	atomic_store_explicit(&thread->owner, KP_RUNS_LEFT, memory_order_release);
}

static void make_key(void)
{
	if (pthread_key_create(&key, leave_thread) != 0)
		key = (pthread_key_t)-1; /* setting it fails; places are then never reused */
}

void kp_runs_start(const struct kp_cupti *cupti)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (kp_host_asked())
		return;
	pthread_once(&once, make_key);
	kp_host_streams_start(cupti);
	pthread_mutex_lock(&kp_runs.lock);
	kp_runs.collecting = true;
	atomic_store(&kp_runs_on, atomic_load(&kp_runs.armed));
	pthread_mutex_unlock(&kp_runs.lock);
}

void kp_runs_stop(void)
{
	atomic_store(&kp_runs_on, false);
}

void kp_runs_forget(void)
{
	const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	atomic_store(&kp_runs_on, false);
	memset(&kp_runs, 0, sizeof(kp_runs));
	kp_runs.lock = fresh;
	if (own)
		pthread_setspecific(key, NULL); /* else the key may not have been made */
	own = NULL;
}

void kp_runs_arm(void)
{
	if (atomic_load_explicit(&kp_runs.armed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&kp_runs.lock);
	if (!atomic_load(&kp_runs.armed)) {
		kp_runs.begin_ns = kp_runs.collecting ? kp_clock_now() : 0;
		atomic_store(&kp_runs.armed, true);
		atomic_store(&kp_runs_on, kp_runs.collecting);
	}
	pthread_mutex_unlock(&kp_runs.lock);
}

void kp_runs_edge(bool of_process)
{
	if (of_process)
		atomic_fetch_add(&kp_runs.edges, 1);
	else
		own_edges++;
}

/* ---- a thread's place ---- */

static struct kp_runs_thread *reuse_thread(void)
{
	struct kp_runs_thread *thread = atomic_load(&kp_runs.threads);
	int expected = KP_RUNS_FREE;

	while (thread &&
	       !atomic_compare_exchange_strong(&thread->owner, &expected, KP_RUNS_OWNED)) {
		thread = thread->next;
		expected = KP_RUNS_FREE;
	}
	return thread;
}

static struct kp_runs_thread *map_thread(void)
{
	struct kp_runs_thread *thread = MAP_FAILED;
	unsigned number = atomic_fetch_add(&kp_runs.thread_count, 1);

	if (number < KP_RUNS_THREADS)
		thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (thread == MAP_FAILED) {
		atomic_fetch_sub(&kp_runs.thread_count, 1);
		return NULL;
	}
	atomic_init(&thread->owner, KP_RUNS_OWNED);
	thread->room = KP_RUNS_RING;
	for (number /= KP_RUNS_ROOMY; number; number /= 2)
		thread->room /= 2;
	thread->next = atomic_load(&kp_runs.threads);
	while (!atomic_compare_exchange_weak(&kp_runs.threads, &thread->next, thread))
		;
	return thread;
}

/* A thread's first launch. */
static struct kp_runs_thread *take_thread(void)
{
	int error = errno;
	struct kp_runs_thread *thread = reuse_thread();

	if (!thread)
		thread = map_thread();
	if (thread) {
		thread->id = (uint32_t)syscall(SYS_gettid);
		thread->depth = 0;
		memset(&thread->streams, 0, sizeof(thread->streams));
		for (size_t i = 0; i < KP_HOST_STREAMS; i++)
			thread->slots[i].lane = NULL;
		own = thread;
		pthread_setspecific(key, thread);
	}
	errno = error;
	return thread;
}

static void lose(struct kp_runs_thread *thread, uint64_t launches)
{
	uint64_t lost = atomic_load_explicit(&thread->lost, memory_order_relaxed);

	atomic_store_explicit(&thread->lost, lost + launches, memory_order_relaxed);
}

/* ---- runs ---- */

/* Hands a run to the worker, if there is something in it. */
static void close_run(struct kp_runs_thread *thread, struct kp_run_slot *slot)
{
	uint32_t launches = atomic_load_explicit(&slot->launches, memory_order_relaxed);
	uint64_t written = atomic_load_explicit(&thread->written, memory_order_relaxed);

	if (!launches)
		return;
	if (written - atomic_load_explicit(&thread->taken, memory_order_acquire) == thread->room) {
		lose(thread, launches);
	} else {
		thread->ring[written % thread->room] = (struct kp_run_ended){
			kp_run_slot_now(thread, slot), (uint32_t)(slot - thread->slots),
			atomic_load_explicit(&slot->serial, memory_order_relaxed)};
		atomic_store_explicit(&thread->written, written + 1, memory_order_release);
		if ((written + 1) % (thread->room / 4) == 0)
			kp_buffers_wake();
	}
	atomic_store_explicit(&slot->launches, 0, memory_order_relaxed);
}

static void close_all(struct kp_runs_thread *thread)
{
	for (size_t i = 0; i < KP_HOST_STREAMS; i++)
		close_run(thread, &thread->slots[i]);
}

/* The stream's lane; where those nearby are all others', one of them. */
static struct kp_run_lane *find_lane(uint32_t context, uint32_t stream)
{
	uint64_t wanted = (uint64_t)context << 32 | stream;
	size_t first = (size_t)(wanted * 0x9e3779b97f4a7c15ULL >> 40), at = first;

	for (unsigned looks = 0; looks < LANE_LOOKS; looks++, at++) {
		struct kp_run_lane *lane = &kp_runs.lanes[at % KP_RUNS_LANES];
		uint64_t found = atomic_load_explicit(&lane->key, memory_order_relaxed);

		if (found == wanted ||
		    (!found && (atomic_compare_exchange_strong(&lane->key, &found, wanted) ||
				found == wanted)))
			return lane;
	}
	return &kp_runs.lanes[first % KP_RUNS_LANES];
}

/* Begins a run in a slot whose lane is known: takes a turn, and reads the clock after that. */
static void begin_run(struct kp_run_slot *slot, uint64_t edges, uint64_t begin_ns)
{
	uint32_t serial = atomic_load_explicit(&slot->serial, memory_order_relaxed);

	slot->turn = atomic_fetch_add(&slot->lane->turn, 1) + 1;
	slot->edges = edges;
	slot->begin_ns = begin_ns ? begin_ns : kp_clock_now();
	slot->end_ns = 0;
	atomic_store_explicit(&slot->shapes, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->serial, serial + 1, memory_order_release);
}

/* Whether a launch may join the slot's run. */
static bool may_join(const struct kp_run_slot *slot, uint64_t edges)
{
	return slot->edges == edges &&
	       slot->turn == atomic_load_explicit(&slot->lane->turn, memory_order_acquire) &&
	       atomic_load_explicit(&slot->launches, memory_order_relaxed) < KP_RUNS_LONGEST;
}

/*
 * The slot of a stream, with a run that the next launch may join: one that begins at `begin_ns`
 * where that is not 0. NULL: the stream has no number.
 */
static struct kp_run_slot *find_slot(struct kp_runs_thread *thread, struct kp_host_stream stream,
				     uint64_t begin_ns)
{
	uint64_t edges = own_edges + atomic_load_explicit(&kp_runs.edges, memory_order_relaxed);
	uint32_t context, number;
	struct kp_run_slot *slot;
	bool same;

	kp_host_streams_find(&thread->streams, stream, &context, &number);
	if (context == KP_HOST_UNKNOWN || number == KP_HOST_UNKNOWN)
		return NULL;
	slot = &thread->slots[(number ^ number >> 4 ^ context) % KP_HOST_STREAMS];
	same = slot->lane && slot->context == context && slot->stream == number;
	if (same && !begin_ns && may_join(slot, edges))
		return slot;
	close_run(thread, slot);
	if (!same) {
		slot->lane = find_lane(context, number);
		slot->context = context;
		slot->stream = number;
	}
	begin_run(slot, edges, begin_ns);
	return slot;
}

/* ---- the hooks ---- */

void kp_runs_enter_on(struct kp_run_open *open, CUstream stream, bool per_thread)
{
	struct kp_runs_thread *thread = own;

	open->recording = atomic_load_explicit(&kp_windows_recording, memory_order_relaxed);
	if (!thread && !(thread = take_thread())) {
		atomic_fetch_add(&kp_runs.placeless, 1);
		return;
	}
	open->thread = thread;
	open->slot = NULL;
	open->begin_ns = 0;
	open->stream = (struct kp_host_stream){stream, per_thread};
	if (thread->depth++ || (open->recording & KP_RECORDING_MASK) != KP_RECORDING_ON)
		return;
	/* Nothing is asked of a stream that may be captured before it is known not to be. */
	if (atomic_load_explicit(&kp_hooks_captures, memory_order_relaxed))
		open->begin_ns = kp_clock_now();
	else
		open->slot = find_slot(thread, open->stream, 0);
}

void kp_runs_discard_on(const struct kp_run_open *open)
{
	open->thread->depth--;
}

/* Adds a launch to the slot's run, or to a new one where it is not like those in it. */
static void add(struct kp_runs_thread *thread, struct kp_run_slot *slot, uint32_t kind,
		uint32_t kernels, uint64_t shape)
{
	bool contended =
		slot->turn != atomic_load_explicit(&slot->lane->turn, memory_order_acquire);
	uint32_t launches = atomic_load_explicit(&slot->launches, memory_order_relaxed);
	uint64_t shapes;

	if (launches && (slot->kind != kind || slot->kernels != kernels)) {
		close_run(thread, slot);
		begin_run(slot, slot->edges, contended ? slot->begin_ns : 0);
		launches = 0;
	}
	slot->kind = kind;
	slot->kernels = kernels;
	shapes = atomic_load_explicit(&slot->shapes, memory_order_relaxed);
	atomic_store_explicit(&slot->shapes, shapes + shape, memory_order_relaxed);
	atomic_store_explicit(&slot->launches, launches + 1, memory_order_relaxed);
	if (contended)
		slot->end_ns = kp_clock_now();
}

void kp_runs_leave_on(struct kp_run_open *open, uint32_t kind, uint32_t kernels, uint64_t shape)
{
	unsigned now = atomic_load_explicit(&kp_windows_recording, memory_order_relaxed);
	struct kp_runs_thread *thread = open->thread;

	if (--thread->depth || now != open->recording ||
	    (now & KP_RECORDING_MASK) == KP_RECORDING_SWITCHING) {
		lose(thread, 1); /* there may be a record of it, or not */
		return;
	}
	if ((now & KP_RECORDING_MASK) != KP_RECORDING_ON)
		return;
	if (open->begin_ns)
		open->slot = find_slot(thread, open->stream, open->begin_ns);
	if (!open->slot || !kernels) {
		lose(thread, kernels != 0);
		return;
	}
	add(thread, open->slot, kind, kernels, shape);
	if (open->begin_ns)
		open->slot->end_ns = kp_clock_now();
	if (open->slot->end_ns)
		close_run(thread, open->slot);
}
