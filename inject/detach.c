/* Detaching CUPTI; see detach.h. */
#include "inject/detach.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "inject/buffers.h"
#include "inject/counters.h"
#include "inject/doors.h"
#include "inject/enabling.h"
#include "inject/futex.h"
#include "inject/gate.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/host_streams.h"
#include "inject/passages.h"
#include "inject/patience.h"
#include "inject/share.h"
#include "inject/state.h"

/* Buffers that CUPTI may keep for good before kprof leaves it attached: 16 MiB. */
#define FORGOTTEN_LIMIT 16
/* Refusals in a row before it is not asked any more. */
#define REFUSAL_LIMIT 3
/* How long the step waits for threads that launch graphs, and the pause before it does so again,
 * twice as long each time: a thread may be in the midst of making a large graph. */
#define GATE_LIMIT_NS 5000000ULL
#define GATE_PAUSE_FIRST_NS 50000000ULL
#define GATE_PAUSE_LAST_NS 5000000000ULL
/*
 * How long the step, with records off, waits for launches of kernels that are under way: they may
 * have seen records on, and those that then find no buffer any more would be dropped without being
 * counted. Half as long after each time in vain, since a launch that waits for room in the driver's
 * queue may take long, and twice as long after others; what is still under way then counts as out
 * of window where it has no record.
 */
#define LAUNCH_LIMIT_MOST_NS 50000000ULL
#define LAUNCH_LIMIT_LEAST_NS 500000ULL
/* How long a thread waits for another one's step: far longer than one has ever taken. */
#define WAIT_LIMIT_NS 2000000000ULL

/* TAKEN: a thread is in CUPTI for the subscription; it puts the state back at once. */
enum state { NONE, WATCHING, WANTED, TAKEN, RUNNING, DONE, REFUSED };

static struct {
	const struct kp_cupti *cupti;
	const struct kp_detach_events *events;
	_Atomic uint32_t state;
	_Atomic uint32_t steps;     /* a futex: steps that are over */
	_Atomic uint64_t resume_ns; /* after a try in vain: not before */
	_Atomic bool hurried;       /* any door will do */
	bool paused;                /* by the worker */
	uint64_t pause_ns, cost_ns; /* of this request; by who has the state */
	uint64_t launch_limit_ns;   /* 0: the longest; by who has the state */
	_Atomic size_t dropped;
	_Atomic bool left;               /* records were off while CUPTI stayed */
	_Atomic unsigned lost, refusals; /* buffers that never came back; in a row */
} detach;

static _Thread_local bool stepping __attribute__((tls_model("initial-exec")));

static bool change(uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&detach.state, &from, to);
}

/* ---- the step ---- */

/* Keeps graphs away, and those who ask CUPTI for the numbers of streams. False: not now. */
static bool shut_gates(void)
{
	if (!kp_gate_close(&kp_hooks_capture_gate, false, GATE_LIMIT_NS))
		return false;
	if (atomic_load(&kp_hooks_captures) == 0 && !kp_share_has_client() &&
	    kp_gate_close(&kp_hooks_graph_gate, true, GATE_LIMIT_NS)) {
		if (kp_gate_close(&kp_host_streams_gate, false, GATE_LIMIT_NS))
			return true;
		kp_gate_open(&kp_hooks_graph_gate);
	}
	kp_gate_open(&kp_hooks_capture_gate);
	return false;
}

static void open_gates(void)
{
	kp_gate_open(&kp_host_streams_gate);
	kp_gate_open(&kp_hooks_graph_gate);
	kp_gate_open(&kp_hooks_capture_gate);
}

static void count_dropped(void)
{
	size_t dropped = 0, before = atomic_load(&detach.dropped);

	if (detach.cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) != CUPTI_SUCCESS ||
	    before == SIZE_MAX)
		dropped = SIZE_MAX;
	else
		dropped += before;
	atomic_store(&detach.dropped, dropped);
}

/* Launches of kernels that began while records were on get as far as their records. */
static void await_launches(void)
{
	uint64_t limit_ns = detach.launch_limit_ns ? detach.launch_limit_ns : LAUNCH_LIMIT_MOST_NS;
	bool awaited = kp_passages_await(KP_PASSAGE_LAUNCH, limit_ns);

	if (!awaited && limit_ns > LAUNCH_LIMIT_LEAST_NS)
		limit_ns /= 2;
	else if (awaited && limit_ns < LAUNCH_LIMIT_MOST_NS)
		limit_ns *= 2;
	detach.launch_limit_ns = limit_ns;
}

static bool detach_now(void)
{
	CUptiResult result;

	detach.events->begins();
	kp_enabling_off();
	await_launches();
	detach.cupti->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	count_dropped();
	result = detach.cupti->Finalize();
	detach.events->ended();
	return result == CUPTI_SUCCESS;
}

/* What comes of one try, which began at begin_ns. */
static enum state try_step(uint64_t begin_ns)
{
	enum state result = WANTED;
	uint64_t now_ns;

	if (shut_gates()) {
		result = detach_now() ? DONE : REFUSED;
		open_gates();
	}
	now_ns = kp_clock_now();
	detach.cost_ns += now_ns - begin_ns;
	if (result == WANTED) {
		atomic_store(&detach.resume_ns, now_ns + detach.pause_ns);
		detach.pause_ns *= detach.pause_ns < GATE_PAUSE_LAST_NS ? 2 : 1;
	}
	return result;
}

/* A door; any thread. One that is canceled in the middle would leave the gates closed. */
static void passed(bool synchronising)
{
	uint32_t state = atomic_load(&detach.state);
	uint64_t now_ns;
	int cancelable;

	if (stepping)
		return;
	if (synchronising) { /* no such call is made in the midst of a launch */
		kp_passages_recall(KP_PASSAGE_GRAPH);
		kp_passages_recall(KP_PASSAGE_LAUNCH);
		kp_passages_recall(KP_PASSAGE_CAPTURE);
	}
	if (state == WATCHING && synchronising)
		detach.events->synchronised();
	if (state != WANTED || !(synchronising || atomic_load(&detach.hurried)))
		return;
	now_ns = kp_clock_now();
	if (now_ns < atomic_load(&detach.resume_ns) || !change(WANTED, RUNNING))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
	stepping = true;
	state = try_step(now_ns);
	stepping = false;
	atomic_store(&detach.state, state);
	kp_futex_step(&detach.steps);
	kp_buffers_wake(); /* the worker waits for this */
	pthread_setcancelstate(cancelable, NULL);
}

/* ---- for the worker ---- */

const char *kp_detach_obstacle(const struct kp_cupti *cupti)
{
	if (kp_host_asked())
		return "--host looks the streams of launches up in it";
	if (kp_counters_asked())
		return "hardware counters are sampled through it";
	if (!kp_hooks_see_all())
		return "kprof cannot see all that the program launches";
	if (cupti->version < KP_DETACH_OLDEST)
		return "this CUPTI is older than that of CUDA 12.6";
	if (kp_share_has_client())
		return "another profiler uses it in this process";
	if (atomic_load(&detach.left) && kp_hooks_have_graphs())
		return "it was left attached, with records off, in a program with CUDA graphs";
	if (atomic_load(&detach.lost) > FORGOTTEN_LIMIT)
		return "CUPTI kept buffers when it was detached";
	if (atomic_load(&detach.refusals) >= REFUSAL_LIMIT)
		return "CUPTI refuses to be detached";
	return NULL;
}

CUptiResult kp_detach_watch(const struct kp_cupti *cupti, const struct kp_detach_events *events)
{
	CUptiResult result;
	bool held;

	if (!change(NONE, TAKEN))
		return CUPTI_ERROR_INVALID_OPERATION;
	detach.cupti = cupti;
	detach.events = events;
	held = kp_hooks_graph_hold();
	result = kp_doors_open(cupti, passed);
	kp_hooks_graph_let(held);
	atomic_store(&detach.state, result == CUPTI_SUCCESS ? WATCHING : NONE);
	return result;
}

bool kp_detach_request(void)
{
	if (!change(WATCHING, TAKEN))
		return false;
	detach.pause_ns = GATE_PAUSE_FIRST_NS;
	detach.cost_ns = 0;
	atomic_store(&detach.resume_ns, 0);
	atomic_store(&detach.hurried, false);
	/* Last: a thread that comes through a door may detach at once. */
	atomic_store(&detach.state, WANTED);
	return true;
}

/* With the state in hand. */
static void widen(bool common)
{
	bool held = kp_hooks_graph_hold();

	kp_doors_widen(detach.cupti, common);
	kp_hooks_graph_let(held);
}

bool kp_detach_hurry(void)
{
	if (!atomic_exchange(&detach.hurried, true) || !change(WANTED, TAKEN))
		return false;
	widen(true);
	atomic_store(&detach.state, WANTED);
	return true;
}

bool kp_detach_pause(void)
{
	uint32_t state = atomic_load(&detach.state);

	detach.paused = state == WANTED && change(WANTED, TAKEN);
	return detach.paused || state == NONE || state == WATCHING;
}

void kp_detach_unpause(void)
{
	if (detach.paused)
		atomic_store(&detach.state, WANTED);
	detach.paused = false;
}

bool kp_detach_cancel(void)
{
	if (!change(WANTED, TAKEN))
		return false;
	widen(false);
	atomic_store(&detach.state, WATCHING);
	return true;
}

enum kp_detach_progress kp_detach_progress(void)
{
	switch ((enum state)atomic_load(&detach.state)) {
	case NONE:
		return KP_DETACH_NONE;
	case WATCHING:
		return KP_DETACH_WATCHING;
	case DONE:
		return KP_DETACH_DONE;
	case REFUSED:
		return KP_DETACH_REFUSED;
	case WANTED:
	case TAKEN:
	case RUNNING:
		break;
	}
	return KP_DETACH_PENDING;
}

uint64_t kp_detach_conclude(void)
{
	if (change(DONE, TAKEN)) {
		atomic_store(&detach.refusals, 0);
		atomic_store(&detach.left, false);
		atomic_fetch_add(&detach.lost, kp_buffers_abandon());
	} else if (change(REFUSED, TAKEN)) {
		kp_doors_close(detach.cupti);
		atomic_fetch_add(&detach.refusals, 1);
	} else {
		return 0;
	}
	atomic_store(&detach.state, NONE);
	return detach.cost_ns;
}

void kp_detach_release(void)
{
	if (!change(WATCHING, TAKEN))
		return;
	kp_doors_close(detach.cupti);
	atomic_store(&detach.state, NONE);
}

void kp_detach_leave_attached(void)
{
	atomic_store(&detach.left, true);
}

size_t kp_detach_take_dropped(void)
{
	return atomic_exchange(&detach.dropped, 0);
}

/* ---- for the program's calls to CUPTI ---- */

void kp_detach_wait(void)
{
	struct kp_patience patience = {WAIT_LIMIT_NS};
	uint32_t seen;

	if (stepping)
		return;
	do
		seen = atomic_load(&detach.steps);
	while (atomic_load(&detach.state) == RUNNING &&
	       kp_patience_wait(&patience, &detach.steps, seen));
}

void kp_detach_yield(void)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint64_t until_ns = kp_clock_now() + WAIT_LIMIT_NS;
	uint32_t state;

	while (!stepping && (state = atomic_load(&detach.state)) != NONE && state != DONE &&
	       state != REFUSED && kp_clock_now() < until_ns) {
		kp_detach_wait();
		kp_detach_cancel();
		kp_detach_release();
		if (atomic_load(&detach.state) == TAKEN)
			nanosleep(&pause, NULL);
	}
}

void kp_detach_forget(void)
{
	atomic_store(&detach.state, NONE);
	atomic_store(&detach.dropped, 0);
	atomic_store(&detach.left, false);
	atomic_store(&detach.lost, 0);
	atomic_store(&detach.refusals, 0);
	stepping = false;
}
