/* Calls under way, and the ring of launches; see library.h. */
#include "inject/library.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/ab.h"
#include "inject/ab_sequence.h"
#include "inject/buffers.h"
#include "inject/dnn_descriptors.h"
#include "inject/hooks_number.h"
#include "inject/host_streams.h"
#include "inject/library_graphs.h"
#include "inject/library_table.h"
#include "inject/library_texts.h"
#include "inject/standby.h"
#include "inject/state.h"
#include "inject/words.h"

/* One thread's. */
static _Thread_local struct {
	uintptr_t frame; /* of the outermost call: those within it lie below */
	uint64_t begun;  /* kernels that were launched when the launch under way began */
	uint32_t call;   /* place in the table; KP_LIBRARY_NO_PLACE: it is not known */
	uint32_t part;
	bool alone; /* the call is the launch under way, which is in none */
	struct kp_library_pending pending;
	struct kp_host_streams streams;
} own __attribute__((tls_model("initial-exec")));
_Thread_local unsigned kp_library_state __attribute__((tls_model("initial-exec")));

/* A place of the ring; free for the launch `turn`, or holding the one before that. */
struct place {
	_Atomic uint64_t turn;
	struct kp_library_launch launch; /* its call is a place in the table */
};

static struct {
	_Atomic(struct place *) ring;
	_Atomic bool on;
	_Atomic uint32_t threads; /* that have launched */
	_Atomic uint64_t calls, lost;
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t taken;
	/* worker only */
	uint64_t launches, seen_ns; /* seen_ns: when it last looked */
	bool unwritten;             /* calls are watched for rules of A/B alone */
} library;

/* ---- starting and ending ---- */

/* Whether any of the environment's texts fits, looked up once. */
enum answer { NOT_KNOWN, NONE_FITS, ONE_FITS };

static enum answer look_up(_Atomic int *answer, bool (*fits)(const char *, const char *),
			   const char *text)
{
	int known = atomic_load_explicit(answer, memory_order_relaxed);

	if (known == NOT_KNOWN && environ) {
		known = NONE_FITS;
		for (char **at = environ; *at; at++)
			if (fits(*at, text))
				known = ONE_FITS;
		atomic_store_explicit(answer, known, memory_order_relaxed);
	}
	return (enum answer)known;
}

bool kp_library_asked(void)
{
	static _Atomic int answer;

	return look_up(&answer, kp_word_equal, "KPROF_CALLS=0") == NONE_FITS;
}

bool kp_ab_asked(void)
{
	static _Atomic int answer;

	return look_up(&answer, kp_word_begins, "KPROF_AB=") == ONE_FITS;
}

bool kp_ab_sequence_asked(void)
{
	static _Atomic int answer;

	return look_up(&answer, kp_word_equal, "KPROF_AB_SEQUENCES=1") == ONE_FITS;
}

void kp_library_start(const struct kp_cupti *cupti)
{
	int error = errno;
	void *memory;

	if (!kp_library_asked())
		return;
	memory = mmap(NULL, KP_LIBRARY_RING * sizeof(struct place), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = error;
	if (memory == MAP_FAILED)
		return;
	atomic_store(&library.ring, memory);
	kp_library_table_start();
	kp_host_streams_start(cupti);
	library.seen_ns = kp_clock_now();
	/* They are numbered from the first launch on, and such a trace begins in the midst. */
	library.unwritten = kp_standby_asked();
	atomic_store(&library.on, true);
	kp_parameters_start();
}

void kp_library_stop(void)
{
	atomic_store(&library.on, false);
	kp_parameters_stop();
}

void kp_library_forget(void)
{
	memset(&library, 0, sizeof(library));
	kp_library_state &= ~KP_LIBRARY_IDLE; /* the child's thread has launched nothing */
	own.call = KP_LIBRARY_NO_PLACE;
	own.alone = false;
	memset(&own.streams, 0, sizeof(own.streams));
	kp_library_table_forget();
	kp_library_graphs_forget();
	kp_library_texts_forget();
	kp_dnn_forget();
	kp_parameters_forget();
}

/* ---- calls ---- */

bool kp_library_enter(struct kp_library_frame *frame)
{
	uintptr_t here = (uintptr_t)frame;

	*frame = (struct kp_library_frame){
		.entered = atomic_load_explicit(&library.on, memory_order_relaxed)};
	if (!frame->entered)
		return false;
	/* A call that never returned (an exception, a jump) is not under way any more. */
	if (kp_library_state >= KP_LIBRARY_DEPTH && here > own.frame)
		kp_library_state &= KP_LIBRARY_IDLE;
	frame->outermost = kp_library_state < KP_LIBRARY_DEPTH;
	kp_library_state += KP_LIBRARY_DEPTH;
	if (!frame->outermost)
		return false;
	own.frame = here;
	own.alone = false;
	own.call = KP_LIBRARY_NO_PLACE;
	own.part = 0;
	atomic_fetch_add_explicit(&library.calls, 1, memory_order_relaxed);
	return true;
}

bool kp_library_is_within(const void *here)
{
	return kp_library_in_call() && (uintptr_t)here < own.frame;
}

void kp_library_describe(const struct kp_library_call *call)
{
	own.call = kp_library_table_put(call);
}

void kp_library_leave(const struct kp_library_frame *frame)
{
	if (!frame->entered)
		return;
	kp_library_state = frame->outermost ? kp_library_state & KP_LIBRARY_IDLE
					    : kp_library_state - KP_LIBRARY_DEPTH;
}

struct kp_library_now kp_library_now(void)
{
	return (struct kp_library_now){&own.pending, own.call, own.part};
}

/* ---- launches ---- */

static bool is_in_call(void)
{
	return kp_library_state >= KP_LIBRARY_DEPTH &&
	       atomic_load_explicit(&library.on, memory_order_relaxed);
}

/* Counts the thread, before its first launch. */
static void join(void)
{
	if (kp_library_state & KP_LIBRARY_IDLE)
		return;
	kp_library_state |= KP_LIBRARY_IDLE;
	atomic_fetch_add(&library.threads, 1);
}

/* Ends a call that was but a launch. */
static void leave_alone(void)
{
	if (!own.alone)
		return;
	own.alone = false;
	kp_library_state &= KP_LIBRARY_IDLE;
}

void kp_library_alone_begins(uint32_t call, const struct kp_library_pending *pending)
{
	own.frame = (uintptr_t)pending;
	own.call = call;
	own.part = 0;
	own.alone = true;
	own.pending = *pending;
	own.begun = kp_hooks_numbered();
	kp_library_state += KP_LIBRARY_DEPTH;
}

void kp_library_launch_begins(const struct kp_library_pending *pending)
{
	join();
	leave_alone(); /* of a launch that never returned */
	if (!is_in_call())
		return;
	own.pending = *pending;
	own.begun = kp_hooks_numbered();
}

void kp_library_launch_begins_with(CUfunction function, void *const *parameters, void *const *extra,
				   const struct kp_library_pending *pending)
{
	if (kp_library_cares())
		kp_library_launch_begins(pending);
	if (!kp_library_in_call() && kp_parameters_care(function))
		kp_parameters_launch_begins(function, parameters, extra, pending);
}

void kp_library_graph_begins(void)
{
	join();
	own.begun = kp_hooks_numbered();
}

static void lose(void)
{
	atomic_fetch_add_explicit(&library.lost, 1, memory_order_relaxed);
}

/* Puts a launch into the ring: takes a place, fills it, and says so. */
static void put(const struct kp_library_launch *launch)
{
	struct place *ring = atomic_load_explicit(&library.ring, memory_order_relaxed);
	uint64_t turn = atomic_load_explicit(&library.written, memory_order_relaxed);
	struct place *place;

	if (!ring)
		return;
	do {
		if (turn - atomic_load_explicit(&library.taken, memory_order_acquire) >=
		    KP_LIBRARY_RING) {
			lose();
			return;
		}
	} while (!atomic_compare_exchange_weak(&library.written, &turn, turn + 1));
	place = &ring[turn % KP_LIBRARY_RING];
	place->launch = *launch;
	atomic_store_explicit(&place->turn, turn + 1, memory_order_release);
	if ((turn + 1) % (KP_LIBRARY_RING / 4) == 0)
		kp_buffers_wake();
}

/* What all launches have. False: it was not counted, or surely nothing was recorded. */
static bool begin(uint64_t issued, struct kp_library_launch *launch)
{
	uint64_t ordinal = kp_hooks_number(issued);

	if (issued == UINT64_MAX || !kp_hooks_may_be_recorded())
		return false;
	*launch = (struct kp_library_launch){
		.ordinal = ordinal,
		.before = ordinal > own.begun ? (uint32_t)(ordinal - own.begun) : 0,
		.others = atomic_load_explicit(&library.threads, memory_order_relaxed) - 1,
		.context = KP_HOST_UNKNOWN,
		.stream = KP_HOST_UNKNOWN,
	};
	return true;
}

/*
 * The stream is asked for only where it tells threads apart, and never while CUPTI may be about to
 * go: it would come back.
 */
static void find_stream(struct kp_library_launch *launch)
{
	const struct kp_host_stream stream = {own.pending.stream, own.pending.per_thread};

	if (launch->others && (kp_hooks_before & KP_RECORDING_MASK) == KP_RECORDING_ON)
		kp_host_streams_find(&own.streams, stream, &launch->context, &launch->stream);
}

static void put_launch(uint64_t issued)
{
	struct kp_library_launch launch;

	if (!is_in_call() || !begin(issued, &launch))
		return;
	if (own.call == KP_LIBRARY_NO_PLACE) {
		lose();
		return;
	}
	launch.call = own.call;
	launch.part = own.part++;
	memcpy(launch.grid, own.pending.grid, sizeof(launch.grid));
	memcpy(launch.block, own.pending.block, sizeof(launch.block));
	find_stream(&launch);
	put(&launch);
}

void kp_library_launched(uint64_t issued)
{
	put_launch(issued);
	leave_alone();
}

static void put_captured(void)
{
	if (!is_in_call())
		return;
	if (own.call == KP_LIBRARY_NO_PLACE)
		lose();
	else
		kp_library_graphs_capture();
	own.part++;
}

void kp_library_captured(void)
{
	put_captured();
	leave_alone();
}

void kp_library_refused(void)
{
	leave_alone();
}

void kp_library_graph_launched(uint32_t graph, uint64_t issued)
{
	struct kp_library_launch launch;

	if (!atomic_load_explicit(&library.on, memory_order_relaxed) || !begin(issued, &launch))
		return;
	launch.graph = graph + 1;
	put(&launch);
}

/* ---- the worker's side ---- */

static void write_launch(struct kp_writer *writer, struct kp_library_launch launch)
{
	if (!launch.graph && !kp_library_table_number(writer, launch.call, &launch.call)) {
		lose();
		return;
	}
	launch.start_ns = launch.end_ns = library.seen_ns;
	library.launches++;
	kp_writer_library(writer, &launch); /* what fails is in kp_writer_loss */
}

void kp_library_drain(struct kp_writer *writer)
{
	struct place *ring = atomic_load(&library.ring);
	uint64_t taken = atomic_load_explicit(&library.taken, memory_order_relaxed);
	uint64_t now_ns;

	if (!atomic_load(&library.on) || !ring)
		return;
	now_ns = kp_clock_now();
	if (!library.unwritten)
		kp_library_graphs_write(writer);
	for (struct place *place = &ring[taken % KP_LIBRARY_RING];
	     atomic_load_explicit(&place->turn, memory_order_acquire) == taken + 1;
	     place = &ring[taken % KP_LIBRARY_RING]) {
		if (!library.unwritten)
			write_launch(writer, place->launch);
		atomic_store_explicit(&library.taken, ++taken, memory_order_release);
	}
	library.seen_ns = now_ns;
}

void kp_library_put_counts(const struct kp_writer_loss *loss, struct kp_counts *counts)
{
	uint64_t taken = atomic_load(&library.taken), stuck;

	if (!atomic_load(&library.on) || library.unwritten)
		return;
	/* A thread that was stopped for good while it filled its place keeps those behind it back.
	 */
	stuck = atomic_load(&library.written) - taken;
	KP_SET(counts, COUNTS, library_calls, atomic_load(&library.calls));
	KP_SET(counts, COUNTS, library_launches, library.launches);
	KP_SET(counts, COUNTS, library_launches_lost, atomic_load(&library.lost) + stuck);
	KP_SET(counts, COUNTS, library_launches_unwritten, loss->library_launches);
	KP_SET(counts, COUNTS, kernels_unnumbered, kp_hooks_unnumbered());
}
