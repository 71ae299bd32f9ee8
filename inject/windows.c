/* The windows' state machine; see windows.h. */
#include "inject/windows.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/buffers.h"
#include "inject/cupti.h"
#include "inject/detach.h"
#include "inject/duty.h"
#include "inject/enabling.h"
#include "inject/hooks.h"
#include "inject/share.h"
#include "inject/window_list.h"
#include "inject/window_settings.h"

/* Tries in a row that CUPTI may refuse before it is left alone. */
#define REFUSAL_LIMIT 3
/* How long kprof is a subscriber for the sake of one detaching, and when it tries again: the
 * place is the program's. */
#define DETACH_PATIENCE_NS 20000000ULL
#define DETACH_PAUSE_NS 200000000ULL
/* The last records of a window have this long before it is asked whether all are here. */
#define LAST_RECORDS_NS 10000000ULL
/* How often CUPTI is asked for the last records of a window, and what is waited for at all. */
#define DRAIN_STEP_MS 5
#define RETRY_MS 10

enum manual { BY_GATES, ALWAYS, NEVER };
enum phase { CLOSED, OPEN, DRAINING, DETACHING };

_Atomic unsigned kp_windows_recording;

static struct {
	struct kp_inject *inject;
	const struct kp_cupti *cupti;
	const struct kp_window_settings *asked;
	_Atomic bool switching, again; /* a thread is in settle; another one has come */
	_Atomic bool deferred;         /* a stream was being captured: the worker tries again */
	_Atomic bool failed;           /* CUPTI refuses for good */
	_Atomic bool attached;
	_Atomic bool sampling; /* launches outside are between the windows of --duty */
	_Atomic bool controlled;
	_Atomic bool flush; /* a window has ended */
	_Atomic int reason; /* of the latest event */
	/* gates */
	_Atomic int manual;
	_Atomic int ranges_open;
	_Atomic uint64_t range_count;
	_Atomic bool capturing, duty_open, over;
	uint64_t begin_ns;                        /* the delay's end */
	_Atomic uint64_t until_ns;                /* the duration's end; 0: not known yet */
	unsigned refusals;                        /* by the thread that switches */
	_Atomic uint64_t on_cost_ns, off_cost_ns; /* of the last switches */
	/* of the window that is open; by the thread that switches, or under `lock` */
	pthread_mutex_t lock;
	struct kp_window_info open;
	uint64_t issued_before;
	uint64_t number; /* of the next window */
	uint64_t accounted_ns, eligible_ns, inside_ns;
	_Atomic bool eligible;
	bool open_written; /* worker */
	bool finished;     /* worker: the program has ended, or becomes another */
	/* the schedule; worker only */
	struct kp_duty duty;
	enum phase phase;
	uint64_t next_ns, close_ns, drained_ns, detach_ns;
	const char *note;
	char note_text[256];
} windows = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_recording(void)
{
	return (atomic_load(&kp_windows_recording) & KP_RECORDING_MASK) == KP_RECORDING_ON;
}

/* By the thread that switches. */
static void set_recording(enum kp_recording recording)
{
	unsigned now = atomic_load(&kp_windows_recording);

	atomic_store(&kp_windows_recording, ((now | KP_RECORDING_MASK) + 1) | recording);
}

/* ---- gates ---- */

static bool is_eligible(uint64_t now_ns)
{
	int manual = atomic_load(&windows.manual);

	if (manual != BY_GATES)
		return manual == ALWAYS;
	return now_ns >= windows.begin_ns && !atomic_load(&windows.over) &&
	       (!windows.asked->range[0] || atomic_load(&windows.ranges_open) > 0) &&
	       (!windows.asked->capture || atomic_load(&windows.capturing));
}

/* Brings the account of eligible time up to now. With the lock. */
static void account(uint64_t now_ns)
{
	if (windows.eligible && now_ns > windows.accounted_ns)
		windows.eligible_ns += now_ns - windows.accounted_ns;
	windows.accounted_ns = now_ns;
	windows.eligible = is_eligible(now_ns);
	if (windows.eligible && !atomic_load(&windows.until_ns) && windows.asked->duration_ns)
		atomic_store(&windows.until_ns, now_ns + windows.asked->duration_ns);
	atomic_store(&windows.sampling, windows.asked->duty_ppm && windows.eligible);
}

/* ---- switching; one thread at a time ---- */

static uint64_t issued(void)
{
	return atomic_load(&windows.inject->slot->kernels_issued);
}

/* Describes a window that begins now. */
static void open_window(enum kp_window_reason reason, uint64_t on_cost_ns)
{
	struct kp_window_info window = {0};

	KP_SET(&window, WINDOW, begin_ns, kp_clock_now());
	KP_SET(&window, WINDOW, begin_reason, reason);
	KP_SET(&window, WINDOW, on_cost_ns, on_cost_ns);
	pthread_mutex_lock(&windows.lock);
	KP_SET(&window, WINDOW, number, windows.number++);
	windows.open = window;
	windows.open_written = false;
	windows.issued_before = issued();
	pthread_mutex_unlock(&windows.lock);
}

/* The open window ends at end_ns; what was issued in it is known if all issued kernels are. */
static void close_window(enum kp_window_reason reason, uint64_t end_ns, uint64_t issued_then)
{
	struct kp_window_info *window = &windows.open;

	pthread_mutex_lock(&windows.lock);
	KP_SET(window, WINDOW, end_ns, end_ns);
	KP_SET(window, WINDOW, end_reason, reason);
	if (reason != KP_WINDOW_BY_PROGRAM)
		KP_SET(window, WINDOW, off_cost_ns, windows.off_cost_ns);
	if (atomic_load(&windows.inject->slot->issued_known))
		KP_SET(window, WINDOW, kernels_issued, issued_then - windows.issued_before);
	windows.inside_ns += end_ns - window->begin_ns;
	kp_window_list_put(window);
	window->has = 0;
	pthread_mutex_unlock(&windows.lock);
}

static void switch_on(enum kp_window_reason reason)
{
	uint64_t begin_ns = kp_clock_now(), cost_ns = 0;
	enum kp_switched switched;

	set_recording(KP_RECORDING_SWITCHING);
	kp_detach_cancel(&cost_ns);
	switched = kp_enabling_on();
	if (switched != KP_SWITCHED) {
		/* Another profiler is at work for now: it is the program's, and comes first. */
		windows.refusals += switched == KP_SWITCH_REFUSED;
		atomic_store(&windows.deferred, switched == KP_SWITCH_BUSY);
		atomic_store(&windows.failed, windows.refusals >= REFUSAL_LIMIT);
		set_recording(KP_RECORDING_OFF);
		return;
	}
	windows.refusals = 0;
	atomic_store(&windows.attached, true);
	cost_ns = kp_clock_now() - begin_ns;
	windows.on_cost_ns = cost_ns;
	open_window(reason, cost_ns);
	set_recording(KP_RECORDING_ON);
}

static void switch_off(enum kp_window_reason reason)
{
	uint64_t end_ns = kp_clock_now(), issued_then = issued();

	atomic_store(&windows.controlled, true);
	set_recording(KP_RECORDING_SWITCHING);
	kp_enabling_off();
	set_recording(KP_RECORDING_OFF);
	windows.off_cost_ns = kp_clock_now() - end_ns;
	close_window(reason, end_ns, issued_then);
	atomic_store(&windows.flush, true);
}

/* Brings records into line with the gates. */
static void settle(void)
{
	enum kp_window_reason reason = (enum kp_window_reason)atomic_load(&windows.reason);
	bool on = is_recording(), wanted;

	pthread_mutex_lock(&windows.lock);
	account(kp_clock_now());
	wanted = windows.eligible && !atomic_load(&windows.failed) &&
		 (!windows.asked->duty_ppm || atomic_load(&windows.duty_open));
	wanted |= kp_share_client_active() && !atomic_load(&windows.failed);
	pthread_mutex_unlock(&windows.lock);
	if (wanted == on)
		return;
	if (atomic_load(&kp_hooks_captures) > 0) {
		atomic_store(&windows.deferred, true);
		return;
	}
	if (wanted)
		switch_on(reason);
	else
		switch_off(reason);
}

/* Something has happened. */
static void apply(enum kp_window_reason reason)
{
	int saved = errno;

	atomic_store(&windows.reason, reason);
	atomic_store(&windows.again, true);
	while (atomic_load(&windows.again) && !atomic_exchange(&windows.switching, true)) {
		atomic_store(&windows.again, false);
		settle();
		atomic_store(&windows.switching, false);
	}
	errno = saved;
}

/* ---- events in the program's threads ---- */

/* Before the collector's start events only move the gates; in a forked child nothing is switched.
 */
static bool is_ours(void)
{
	return windows.inject && atomic_load(&windows.inject->running) &&
	       windows.inject->pid == getpid();
}

void kp_windows_range_begin(bool *counted)
{
	const struct kp_window_settings *asked = kp_window_settings();
	uint64_t number = atomic_fetch_add(&windows.range_count, 1) + 1;

	*counted = number >= asked->range_first && number <= asked->range_last;
	if (*counted && atomic_fetch_add(&windows.ranges_open, 1) == 0 && is_ours())
		apply(KP_WINDOW_BY_RANGE);
}

void kp_windows_range_end(bool counted)
{
	if (counted && atomic_fetch_sub(&windows.ranges_open, 1) == 1 && is_ours())
		apply(KP_WINDOW_BY_RANGE);
}

void kp_windows_capture(bool on)
{
	atomic_store(&windows.capturing, on);
	if (kp_window_settings()->capture && is_ours())
		apply(KP_WINDOW_BY_CAPTURE);
}

/* The program's own profiler has switched records on or off: while it has some on, kprof has. */
static void client_changed(void)
{
	if (is_ours())
		apply(KP_WINDOW_BY_CLIENT);
}

bool kp_windows_control(bool on)
{
	atomic_store(&windows.controlled, true);
	atomic_store(&windows.failed, false);
	windows.refusals = 0;
	atomic_store(&windows.manual, on ? ALWAYS : NEVER);
	apply(KP_WINDOW_BY_CTL);
	return !on || windows.asked->duty_ppm || atomic_load(&windows.deferred) || is_recording();
}

/* ---- the schedule of --duty ---- */

static void plan_next(uint64_t now_ns)
{
	windows.next_ns = kp_duty_next(&windows.duty, now_ns);
	windows.phase = CLOSED;
}

/* The last window is over and done with: its cost decides on the next. */
static void conclude_window(uint64_t detach_cost_ns, bool detached)
{
	kp_duty_measured(&windows.duty, windows.on_cost_ns + windows.off_cost_ns + detach_cost_ns);
	kp_window_list_complete(detach_cost_ns, detached);
	if (detached)
		atomic_store(&windows.attached, false);
	windows.phase = CLOSED;
}

static void try_to_detach(uint64_t now_ns)
{
	const char *obstacle = kp_detach_obstacle(windows.cupti);

	if (!kp_window_settings()->detach) {
		conclude_window(0, false);
		return;
	}
	CUptiResult result =
		obstacle ? CUPTI_ERROR_NOT_SUPPORTED : kp_detach_request(windows.cupti);

	if (result == CUPTI_SUCCESS) {
		windows.detach_ns = now_ns;
		windows.phase = DETACHING;
		return;
	}
	if (!windows.note && obstacle)
		snprintf(windows.note_text, sizeof(windows.note_text),
			 "between the windows of --duty CUPTI stays attached, because %s: each "
			 "launch costs more there than without kprof",
			 obstacle);
	else if (!windows.note)
		snprintf(windows.note_text, sizeof(windows.note_text),
			 "between some windows of --duty CUPTI stayed attached, because another "
			 "profiler uses it in this process: each launch costs more there than "
			 "without kprof");
	windows.note = windows.note_text;
	conclude_window(0, false);
}

static void tick_detaching(uint64_t now_ns)
{
	uint64_t cost_ns = 0;
	bool detached = false;

	if (kp_detach_done(&cost_ns, &detached)) {
		conclude_window(cost_ns, detached);
	} else if (now_ns - windows.detach_ns > DETACH_PATIENCE_NS || now_ns >= windows.next_ns) {
		/* No driver call came, so none is slowed down either. */
		if (kp_detach_cancel(&cost_ns)) {
			conclude_window(cost_ns, true);
			return;
		}
		windows.drained_ns = now_ns + DETACH_PAUSE_NS;
		windows.phase = DRAINING;
	}
}

/* Moves the schedule on; returns when it wants to be called again. */
static uint64_t tick_duty(uint64_t now_ns, bool settled)
{
	bool on = is_recording();

	if (windows.phase == DETACHING)
		tick_detaching(now_ns);
	if (windows.phase == DRAINING && settled && now_ns >= windows.drained_ns && !on)
		try_to_detach(now_ns);
	if (windows.phase == OPEN && (now_ns >= windows.close_ns || !on)) {
		atomic_store(&windows.duty_open, false);
		apply(KP_WINDOW_BY_DUTY);
		if (is_recording())
			return now_ns + RETRY_MS * 1000000ULL; /* a capture is open */
		plan_next(now_ns);
		windows.drained_ns = now_ns + LAST_RECORDS_NS;
		windows.phase = DRAINING;
	}
	if (windows.phase != OPEN && now_ns >= windows.next_ns) {
		atomic_store(&windows.duty_open, true);
		windows.phase = CLOSED;
		apply(KP_WINDOW_BY_DUTY);
		on = is_recording();
		if (on) {
			windows.phase = OPEN;
			windows.close_ns = kp_clock_now() + windows.duty.window_ns;
		} else if (atomic_load(&windows.deferred)) {
			return now_ns + RETRY_MS * 1000000ULL;
		} else {
			atomic_store(&windows.duty_open, false);
			plan_next(now_ns);
		}
	}
	if (windows.phase == OPEN)
		return windows.close_ns;
	return windows.phase == CLOSED ? windows.next_ns : now_ns + DRAIN_STEP_MS * 1000000ULL;
}

/* ---- the worker ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

unsigned kp_windows_tick(unsigned most_ms, bool settled)
{
	uint64_t now_ns = kp_clock_now(), next_ns = now_ns + most_ms * 1000000ULL, until_ns;

	if (!windows.asked) /* nothing was started */
		return most_ms;
	if (now_ns < windows.begin_ns)
		next_ns = earlier(next_ns, windows.begin_ns);
	else if (windows.begin_ns && !atomic_load(&windows.until_ns) && !is_recording() &&
		 !windows.eligible)
		apply(KP_WINDOW_BY_DELAY);
	until_ns = atomic_load(&windows.until_ns);
	if (until_ns && now_ns >= until_ns && !atomic_exchange(&windows.over, true))
		apply(KP_WINDOW_BY_DURATION);
	else if (until_ns && now_ns < until_ns)
		next_ns = earlier(next_ns, until_ns);
	if (atomic_exchange(&windows.deferred, false)) {
		apply((enum kp_window_reason)atomic_load(&windows.reason));
		next_ns = earlier(next_ns, now_ns + RETRY_MS * 1000000ULL);
	}
	if (windows.asked->duty_ppm)
		next_ns = earlier(next_ns, tick_duty(now_ns, settled));
	now_ns = kp_clock_now();
	/* Rounded up: a wait of 0 ms would be busy, and early. */
	return next_ns > now_ns ? (unsigned)((next_ns - now_ns + 999999) / 1000000) : 1;
}

bool kp_windows_attached(void)
{
	return atomic_load(&windows.attached) && windows.phase != DETACHING;
}

bool kp_windows_wants_flush(void)
{
	bool ended = atomic_exchange(&windows.flush, false);

	return kp_windows_attached() && (ended || windows.phase == DRAINING);
}

bool kp_windows_on_at_start(void)
{
	const struct kp_window_settings *asked = kp_window_settings();

	return !asked->delay_ns && !asked->duty_ppm &&
	       (!asked->range[0] || atomic_load(&windows.ranges_open) > 0) &&
	       (!asked->capture || atomic_load(&windows.capturing));
}

void kp_windows_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&windows, 0, sizeof(windows));
	windows.lock = fresh;
	kp_window_list_forget();
	kp_detach_forget();
	set_recording(KP_RECORDING_ON);
}

void kp_windows_start(struct kp_inject *inject, const struct kp_cupti *cupti, bool on,
		      bool attached)
{
	const struct kp_window_settings *asked = kp_window_settings();
	uint64_t now_ns = kp_clock_now();

	if (windows.inject) /* this is a forked child, and that was the parent's */
		kp_windows_forget();
	windows.inject = inject;
	windows.cupti = cupti;
	windows.asked = asked;
	windows.begin_ns = asked->delay_ns ? now_ns + asked->delay_ns : 0;
	atomic_store(&windows.controlled, asked->delay_ns || asked->duration_ns ||
						  asked->duty_ppm || asked->range[0] ||
						  asked->capture);
	kp_share_watch(client_changed);
	windows.accounted_ns = now_ns;
	account(now_ns);
	atomic_store(&windows.attached, attached);
	set_recording(on ? KP_RECORDING_ON : KP_RECORDING_OFF);
	if (on)
		open_window(KP_WINDOW_BY_PROGRAM, 0);
	if (asked->duty_ppm) {
		kp_duty_init(&windows.duty, asked->duty_ppm / 1e6, inject->process, now_ns);
		plan_next(now_ns);
	}
}

void kp_windows_finish(void)
{
	if (windows.finished)
		return;
	windows.finished = true;
	/* Nobody switches any more: who comes now leaves a wish that nobody reads. */
	while (atomic_exchange(&windows.switching, true))
		nanosleep(&(const struct timespec){.tv_nsec = 100000}, NULL);
	if (windows.phase == DETACHING) {
		uint64_t cost_ns = 0;
		bool detached = false;

		if (!kp_detach_done(&cost_ns, &detached))
			detached = kp_detach_cancel(&cost_ns);
		conclude_window(cost_ns, detached);
	}
	pthread_mutex_lock(&windows.lock);
	account(kp_clock_now());
	pthread_mutex_unlock(&windows.lock);
	if (windows.open.has)
		close_window(KP_WINDOW_BY_PROGRAM, kp_clock_now(), issued());
}

void kp_windows_resume(void)
{
	if (!windows.finished)
		return;
	windows.finished = false;
	if (is_recording())
		open_window(KP_WINDOW_BY_PROGRAM, 0);
	atomic_store(&windows.switching, false);
	apply((enum kp_window_reason)atomic_load(&windows.reason));
}

/* ---- the trace ---- */

void kp_windows_write(struct kp_writer *writer, bool open)
{
	struct kp_window_info now_open = {0};

	if (!atomic_load(&windows.controlled))
		return;
	/* What it costs to detach after the last window is not known yet. */
	kp_window_list_write(writer, windows.phase >= DRAINING);
	pthread_mutex_lock(&windows.lock);
	/* Windows stand in the trace in their order. */
	if (open && !windows.open_written && kp_window_list_is_empty())
		now_open = windows.open;
	windows.open_written |= now_open.has != 0;
	pthread_mutex_unlock(&windows.lock);
	if (now_open.has)
		kp_writer_window(writer, &now_open);
}

void kp_windows_put_counts(const struct kp_live_slot *slot, uint64_t delivered,
			   struct kp_counts *counts)
{
	uint64_t out = atomic_load(&slot->kernels_out_of_window);
	uint64_t edges = atomic_load(&slot->kernels_at_edges);
	uint64_t sampled_ns, missed;

	if (!atomic_load(&windows.controlled))
		return;
	pthread_mutex_lock(&windows.lock);
	account(kp_clock_now());
	sampled_ns = windows.inside_ns;
	if (windows.open.has)
		sampled_ns += kp_clock_now() - windows.open.begin_ns;
	pthread_mutex_unlock(&windows.lock);
	if (windows.asked->duty_ppm)
		KP_SET(counts, COUNTS, unsampled_ns,
		       windows.eligible_ns > sampled_ns ? windows.eligible_ns - sampled_ns : 0);
	if (!atomic_load(&slot->issued_known))
		return;
	missed = edges -
		 kp_live_edges_recorded(atomic_load(&slot->kernels_issued), out, edges, delivered);
	KP_SET(counts, COUNTS, kernels_out_of_window, out + missed);
	if (windows.asked->duty_ppm)
		KP_SET(counts, COUNTS, kernels_unsampled,
		       atomic_load(&slot->kernels_unsampled) + missed);
}

uint64_t kp_windows_number(void)
{
	uint64_t number;

	pthread_mutex_lock(&windows.lock);
	number = windows.number;
	pthread_mutex_unlock(&windows.lock);
	return number;
}

bool kp_windows_has_duty(void)
{
	return windows.asked && windows.asked->duty_ppm;
}

const char *kp_windows_note(void)
{
	return windows.note;
}

void kp_windows_count_outside(struct kp_live_slot *slot, uint64_t kernels, unsigned before,
			      unsigned now)
{
	if (before != now || (now & KP_RECORDING_MASK) == KP_RECORDING_SWITCHING) {
		atomic_fetch_add_explicit(&slot->kernels_at_edges, kernels, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&slot->kernels_out_of_window, kernels, memory_order_relaxed);
	if (atomic_load_explicit(&windows.sampling, memory_order_relaxed))
		atomic_fetch_add_explicit(&slot->kernels_unsampled, kernels, memory_order_relaxed);
}
