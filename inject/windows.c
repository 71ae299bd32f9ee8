/* Switches records on and off; see windows.h. */
#include "inject/windows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/boards.h"
#include "inject/buffers.h"
#include "inject/enabling.h"
#include "inject/gate.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/kept_names.h"
#include "inject/share.h"
#include "inject/standby.h"
#include "inject/window_counts.h"
#include "inject/window_gates.h"
#include "inject/window_list.h"
#include "inject/windows_state.h"

/* Tries in a row that CUPTI may refuse before it is left alone. */
#define REFUSAL_LIMIT 3
/* How long a call that begins a capture may take while CUPTI is to be attached. */
#define CAPTURE_LIMIT_NS 2000000ULL
/* How long a client waits at most for the worker that brings CUPTI back. */
#define CLIENT_LIMIT_NS 300000000ULL

_Atomic bool kp_windows_first_launch;
struct kp_windows_state kp_windows = {.begin_lock = PTHREAD_MUTEX_INITIALIZER};

bool kp_windows_recording_now(void)
{
	return (atomic_load(&kp_windows_recording) & KP_RECORDING_MASK) == KP_RECORDING_ON;
}

/* By the thread that switches, or that detaches. */
static void set_recording(enum kp_recording recording)
{
	unsigned now = atomic_load(&kp_windows_recording);

	atomic_store(&kp_windows_recording, ((now | KP_RECORDING_MASK) + 1) | recording);
}

enum kp_window_phase kp_windows_phase(void)
{
	return (enum kp_window_phase)atomic_load(&kp_windows.phase);
}

/* ---- the window ---- */

static struct kp_window_moment moment(enum kp_window_reason reason)
{
	return (struct kp_window_moment){
		kp_clock_now(), atomic_load(&kp_windows.inject->slot->kernels_issued), reason};
}

static void begin_window(void)
{
	struct kp_window_moment begin =
		moment((enum kp_window_reason)atomic_load(&kp_windows.begin_reason));

	kp_window_counts_begin(kp_windows.asked->duty_ppm ? begin.time_ns : 0);
	kp_window_list_open(&begin, kp_windows.on_cost_ns);
	atomic_store(&kp_windows.phase, KP_WINDOW_OPEN);
}

void kp_windows_end(enum kp_window_reason reason)
{
	struct kp_window_moment end = moment(reason);

	kp_window_list_end(&end, atomic_load(&kp_windows.inject->slot->issued_known));
}

/* It has not found a door, or must not hold more: records stay on, and are discarded. */
void kp_windows_lapse(void)
{
	kp_window_counts_end(kp_clock_now());
	kp_windows_end((enum kp_window_reason)atomic_load(&kp_windows.end_reason));
	atomic_store(&kp_windows.lapsed, true);
}

/* A window that may begin does. Any thread. */
void kp_windows_try_to_begin(bool synchronising)
{
	if (kp_windows_phase() != KP_WINDOW_OPENING ||
	    !kp_duty_may(atomic_load(&kp_windows.opened_ns), kp_clock_now(), synchronising))
		return;
	pthread_mutex_lock(&kp_windows.begin_lock);
	if (kp_windows_phase() == KP_WINDOW_OPENING)
		begin_window();
	pthread_mutex_unlock(&kp_windows.begin_lock);
}

/* OPENING and OPEN become something else: nobody begins a window meanwhile. */
void kp_windows_leave_open(enum kp_window_phase next)
{
	pthread_mutex_lock(&kp_windows.begin_lock);
	atomic_store(&kp_windows.phase, next);
	pthread_mutex_unlock(&kp_windows.begin_lock);
}

/* ---- events of detaching, in the program's threads ---- */

static void synchronised(void)
{
	kp_windows_try_to_begin(true);
}

static void detaching_begins(void)
{
	kp_windows_end((enum kp_window_reason)atomic_load(&kp_windows.end_reason));
	set_recording(KP_RECORDING_SWITCHING);
}

static void detaching_ended(void)
{
	set_recording(KP_RECORDING_OFF);
}

const struct kp_detach_events kp_windows_events = {synchronised, detaching_begins, detaching_ended};

/* ---- switching; one thread at a time ---- */

/* Records are on, and CUPTI watches for doors: then a window of --duty waits for one to begin. */
void kp_windows_open_up(enum kp_window_reason reason)
{
	atomic_store(&kp_windows.begin_reason, reason);
	atomic_store(&kp_windows.opened_ns, kp_clock_now());
	if (kp_windows.asked->duty_ppm && kp_detach_progress() == KP_DETACH_WATCHING) {
		kp_window_counts_begin(KP_WINDOW_NEVER_NS);
		atomic_store(&kp_windows.phase, KP_WINDOW_OPENING);
	} else {
		begin_window();
	}
}

static bool attach(void)
{
	bool watch = kp_windows.asked->duty_ppm && !kp_detach_obstacle(kp_windows.cupti);
	enum kp_switched switched = kp_enabling_on(watch ? &kp_windows_events : NULL);

	if (switched == KP_SWITCHED) {
		kp_windows.refusals = 0;
		atomic_store(&kp_windows.attached, true);
		atomic_store(&kp_windows.first_launch_ns, 0);
		atomic_store(&kp_windows_first_launch, kp_windows.asked->duty_ppm != 0);
		return true;
	}
	/* Another profiler is at work for now: it is the program's, and comes first. */
	kp_windows.refusals += switched == KP_SWITCH_REFUSED;
	atomic_store(&kp_windows.deferred, switched == KP_SWITCH_BUSY);
	atomic_store(&kp_windows.failed, kp_windows.refusals >= REFUSAL_LIMIT);
	return false;
}

static void switch_on(enum kp_window_reason reason)
{
	uint64_t begin_ns = kp_clock_now();
	bool held;

	if (!kp_gate_close(&kp_hooks_capture_gate, false, CAPTURE_LIMIT_NS)) {
		atomic_store(&kp_windows.deferred, true);
		return;
	}
	held = kp_hooks_graph_hold();
	if (atomic_load(&kp_hooks_captures) > 0) {
		atomic_store(&kp_windows.deferred, true);
	} else {
		set_recording(KP_RECORDING_SWITCHING);
		if (attach()) {
			kp_windows.on_cost_ns = kp_clock_now() - begin_ns;
			kp_windows_open_up(reason);
			set_recording(KP_RECORDING_ON);
		} else {
			set_recording(KP_RECORDING_OFF);
		}
	}
	kp_hooks_graph_let(held);
	kp_gate_open(&kp_hooks_capture_gate);
}

void kp_windows_measured(uint64_t off_cost_ns)
{
	if (kp_windows.asked->duty_ppm)
		kp_duty_measured(&kp_windows.duty,
				 kp_windows.on_cost_ns + off_cost_ns +
					 atomic_load(&kp_windows.first_launch_ns));
}

/* Records go off, and CUPTI stays. */
void kp_windows_switch_off(enum kp_window_reason reason)
{
	uint64_t begin_ns = kp_clock_now(), cost_ns;

	if (atomic_load(&kp_hooks_captures) > 0) {
		atomic_store(&kp_windows.deferred, true);
		return;
	}
	atomic_store(&kp_windows.controlled, true);
	kp_windows_leave_open(KP_WINDOW_CLOSED);
	kp_windows_end(reason);
	set_recording(KP_RECORDING_SWITCHING);
	kp_enabling_off();
	set_recording(KP_RECORDING_OFF);
	kp_detach_release();
	kp_detach_leave_attached();
	kp_kept_names_keep(false);
	cost_ns = kp_clock_now() - begin_ns;
	kp_window_list_put(cost_ns, false);
	kp_windows_measured(cost_ns);
	atomic_store(&kp_windows.flush, true);
}

/* Whether records will stay off for long, so that it is worth while to detach CUPTI. */
static bool is_long(enum kp_window_reason reason)
{
	return kp_windows.asked->duty_ppm ||
	       (reason != KP_WINDOW_BY_RANGE && reason != KP_WINDOW_BY_CAPTURE);
}

void kp_windows_explain(const char *why)
{
	if (kp_windows.note)
		return;
	snprintf(kp_windows.note_text, sizeof(kp_windows.note_text),
		 "CUPTI stayed attached while nothing was recorded, because %s: each launch costs "
		 "more then than without kprof",
		 why);
	kp_windows.note = kp_windows.note_text;
}

/* Records are not wanted any more. The worker sees to the rest. */
static void end_up(enum kp_window_reason reason)
{
	const char *obstacle = is_long(reason) ? kp_detach_obstacle(kp_windows.cupti) : NULL;

	if (obstacle)
		kp_windows_explain(obstacle);
	if (obstacle || !is_long(reason)) {
		kp_windows_switch_off(reason);
		return;
	}
	atomic_store(&kp_windows.controlled, true);
	atomic_store(&kp_windows.end_reason, reason);
	atomic_store(&kp_windows.end_asked_ns, kp_clock_now());
	atomic_store(&kp_windows.lapsed, false);
	kp_windows.names_kept = false;
	kp_windows_leave_open(KP_WINDOW_ENDING);
	if (!kp_window_gates_held() && reason != KP_WINDOW_BY_CTL &&
	    reason != KP_WINDOW_BY_DURATION)
		kp_windows_lapse(); /* a range has ended in the middle of a window */
	kp_buffers_wake();
}

/* Records are wanted again before CUPTI was detached. */
static void take_back(enum kp_window_reason reason)
{
	enum kp_detach_progress progress = kp_detach_progress();

	/* A window of --duty that waits for its end is not made longer by the next one. */
	if (reason == KP_WINDOW_BY_DUTY && !atomic_load(&kp_windows.lapsed))
		return;
	if (progress == KP_DETACH_DONE || progress == KP_DETACH_REFUSED ||
	    (progress == KP_DETACH_PENDING && !kp_detach_cancel()))
		return; /* the worker comes back to it */
	kp_kept_names_keep(false);
	if (!atomic_load(&kp_windows.lapsed) && kp_window_list_is_open()) {
		atomic_store(&kp_windows.phase, KP_WINDOW_OPEN);
		return;
	}
	kp_window_list_put(0, false);
	kp_windows.on_cost_ns = 0;
	kp_windows_open_up(reason);
}

/* Brings records into line with what is wanted. */
static void settle(void)
{
	enum kp_window_reason reason = (enum kp_window_reason)atomic_load(&kp_windows.reason);
	bool wanted = kp_window_gates_hold(kp_clock_now()), duty = kp_windows.asked->duty_ppm != 0;

	kp_window_counts_sample(duty && wanted);
	wanted = (wanted && (!duty || atomic_load(&kp_windows.duty_open))) ||
		 kp_share_client_active();
	wanted = wanted && !atomic_load(&kp_windows.failed);
	switch (kp_windows_phase()) {
	case KP_WINDOW_CLOSED:
		if (wanted && atomic_load(&kp_windows.cut_due))
			atomic_store(&kp_windows.deferred, true);
		else if (wanted)
			switch_on(reason);
		break;
	case KP_WINDOW_OPENING:
	case KP_WINDOW_OPEN:
		if (!wanted)
			end_up(reason);
		break;
	case KP_WINDOW_ENDING:
		if (wanted)
			take_back(reason);
		break;
	}
}

/* Something has happened. */
void kp_windows_apply(enum kp_window_reason reason)
{
	int saved = errno;

	atomic_store(&kp_windows.reason, reason);
	atomic_store(&kp_windows.again, true);
	while (atomic_load(&kp_windows.again) && !atomic_exchange(&kp_windows.switching, true)) {
		atomic_store(&kp_windows.again, false);
		settle();
		atomic_store(&kp_windows.switching, false);
	}
	errno = saved;
}

void kp_windows_apply_again(void)
{
	kp_windows_apply((enum kp_window_reason)atomic_load(&kp_windows.reason));
}

/* ---- events in the program's threads ---- */

/* Before the collector's start events only move the gates; in a forked child nothing is switched.
 */
static bool is_ours(void)
{
	return kp_windows.inject && atomic_load(&kp_windows.inject->running) &&
	       kp_windows.inject->pid == getpid();
}

void kp_windows_range_begin(bool *counted)
{
	if (kp_window_gates_range_begin(counted) && is_ours())
		kp_windows_apply(KP_WINDOW_BY_RANGE);
}

void kp_windows_range_end(bool counted)
{
	if (kp_window_gates_range_end(counted) && is_ours())
		kp_windows_apply(KP_WINDOW_BY_RANGE);
}

void kp_windows_capture(bool on)
{
	kp_window_gates_capture(on);
	if (kp_window_settings()->capture && is_ours())
		kp_windows_apply(KP_WINDOW_BY_CAPTURE);
}

/* Where CUPTI is just being left the worker brings it back: what the program's own profiler records
 * from here on must find it there. */
static void await_client(void)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint64_t until_ns = kp_clock_now() + CLIENT_LIMIT_NS;
	enum kp_window_phase phase;

	while (kp_share_client_active() && !atomic_load(&kp_windows.deferred) &&
	       !atomic_load(&kp_windows.failed) &&
	       ((phase = kp_windows_phase()) == KP_WINDOW_ENDING || phase == KP_WINDOW_CLOSED) &&
	       kp_clock_now() < until_ns) {
		kp_buffers_wake();
		nanosleep(&pause, NULL);
	}
}

/* The program's own profiler has switched records on or off: while it has some on, kprof has. */
static void client_changed(void)
{
	if (!is_ours())
		return;
	kp_windows_apply(KP_WINDOW_BY_CLIENT);
	await_client();
}

/* ---- beginning ---- */

bool kp_windows_on_at_start(void)
{
	if (kp_standby_asked())
		return kp_boards_watched();
	return !kp_window_settings()->duty_ppm && kp_window_gates_hold_at_start();
}

void kp_windows_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&kp_windows, 0, sizeof(kp_windows));
	kp_windows.begin_lock = fresh;
	kp_standby_forget();
	kp_window_counts_forget();
	kp_window_gates_forget();
	kp_window_list_forget();
	kp_detach_forget();
	set_recording(KP_RECORDING_ON);
	atomic_store(&kp_windows_first_launch, false);
}

/* Records are on, and none is kept; or nobody watches, and they are off until they are asked for.
 */
static void start_standby(bool on)
{
	atomic_store(&kp_windows.controlled, true);
	if (on) {
		kp_standby_start();
		atomic_store(&kp_windows.phase, KP_WINDOW_OPEN);
	} else {
		kp_window_gates_control(KP_WINDOW_NEVER);
	}
}

void kp_windows_start(struct kp_inject *inject, const struct kp_cupti *cupti, bool on,
		      bool attached)
{
	const struct kp_window_settings *asked = kp_window_settings();
	uint64_t now_ns = kp_clock_now();

	if (kp_windows.inject) /* this is a forked child, and that was the parent's */
		kp_windows_forget();
	kp_windows.inject = inject;
	kp_windows.cupti = cupti;
	kp_windows.asked = asked;
	atomic_store(&kp_windows.controlled, asked->duty_ppm || kp_window_gates_asked());
	kp_share_watch(client_changed);
	kp_window_gates_start(now_ns);
	kp_window_counts_sample(asked->duty_ppm && kp_window_gates_held());
	atomic_store(&kp_windows.attached, attached);
	set_recording(on ? KP_RECORDING_ON : KP_RECORDING_OFF);
	if (kp_standby_asked())
		start_standby(on);
	else if (on)
		kp_windows_open_up(KP_WINDOW_BY_PROGRAM);
	if (asked->duty_ppm)
		kp_duty_init(&kp_windows.duty, asked->duty_ppm / 1e6, inject->process, now_ns);
	kp_windows.next_ns = asked->duty_ppm ? kp_duty_next(&kp_windows.duty, now_ns) : 0;
}

/* ---- launches of graphs ---- */

uint64_t kp_windows_first_launch_claim(void)
{
	return atomic_exchange(&kp_windows_first_launch, false) ? kp_clock_now() : 0;
}

void kp_windows_first_launch_took(uint64_t begin_ns)
{
	uint64_t took_ns = kp_clock_now() - begin_ns;

	atomic_store(&kp_windows.first_launch_ns, took_ns);
	/* CUPTI prepares the graph meanwhile (45 ms for 785 nodes), and the GPU may have nothing to
	 * do: the window is longer by that. */
	atomic_fetch_add(&kp_windows.opened_ns, took_ns);
}
