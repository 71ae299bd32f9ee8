/* The windows' time: ends at doors, the schedule of --duty, delay and duration; see windows.h. */
#include <string.h>
#include <time.h>

#include "inject/boards.h"
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

/* How long an end waits for a door of any kind before it is one without. */
#define DOOR_PATIENCE_NS (KP_DUTY_PATIENCE_NS + 100000000ULL)
/* How long «kprof ctl stop» waits for all that. */
#define CONTROL_PATIENCE_NS (DOOR_PATIENCE_NS + 100000000ULL)
/* How long the end waits for a thread that switches: looks of 0.1 ms and more. */
#define SWITCH_LOOKS 5000
#define STEP_MS 5
#define RETRY_MS 10

/* ---- the worker: ends ---- */

static void conclude_detached(uint64_t cost_ns)
{
	atomic_store(&kp_windows.attached, false);
	atomic_store(&kp_windows.cut_due, true); /* before anyone may switch on again */
	atomic_store(&kp_windows.phase, KP_WINDOW_CLOSED);
	kp_kept_names_keep(false);
	kp_window_list_put(cost_ns, true);
	kp_windows_measured(cost_ns);
}

/*
 * Why not; NULL: it was done, or will be in the next turn. Names are kept first, then what came
 * before that is taken, which also shows whether the hooks see all.
 */
static const char *ask_for_door(void)
{
	const char *obstacle;

	if (!kp_windows.names_kept) {
		kp_windows.names_kept = kp_kept_names_keep(true);
		atomic_store(&kp_windows.flush, kp_windows.names_kept);
		return NULL;
	}
	if (atomic_load(&kp_windows.flush))
		return NULL;
	if (kp_window_counts_surpass(kp_windows.inject->slot, kp_windows.delivered,
				     kp_hooks_graph_uncounted()))
		kp_hooks_lose_count();
	obstacle = kp_detach_obstacle(kp_windows.cupti);
	if (!obstacle && kp_detach_progress() == KP_DETACH_NONE &&
	    kp_detach_watch(kp_windows.cupti, &kp_windows_events) != CUPTI_SUCCESS)
		obstacle = "another profiler uses it in this process";
	kp_windows.hurried = false;
	if (!obstacle)
		kp_detach_request();
	return obstacle;
}

/* Moves an end on, by the thread that switches. */
static void move_end(uint64_t now_ns)
{
	uint64_t asked_ns = atomic_load(&kp_windows.end_asked_ns);
	enum kp_window_reason reason = (enum kp_window_reason)atomic_load(&kp_windows.end_reason);
	const char *obstacle;

	switch (kp_detach_progress()) {
	case KP_DETACH_NONE:
	case KP_DETACH_WATCHING:
		obstacle = ask_for_door();
		if (obstacle) {
			kp_windows_explain(obstacle);
			kp_windows_switch_off(reason);
		}
		break;
	case KP_DETACH_PENDING:
		if (!kp_windows.hurried && kp_duty_may(asked_ns, now_ns, false))
			kp_windows.hurried = kp_detach_hurry();
		if (!atomic_load(&kp_windows.lapsed) && now_ns >= asked_ns + DOOR_PATIENCE_NS)
			kp_windows_lapse();
		break;
	case KP_DETACH_DONE:
		conclude_detached(kp_detach_conclude());
		break;
	case KP_DETACH_REFUSED:
		kp_windows_explain("CUPTI refuses to be detached");
		kp_detach_conclude();
		kp_windows_switch_off(reason);
		break;
	}
}

/* Returns when it wants to be called again. */
static uint64_t tick_end(uint64_t now_ns)
{
	bool lapsed;

	if (kp_windows_phase() != KP_WINDOW_ENDING)
		return UINT64_MAX;
	if (!atomic_exchange(&kp_windows.switching, true)) {
		if (kp_windows_phase() == KP_WINDOW_ENDING)
			move_end(now_ns);
		atomic_store(&kp_windows.switching, false);
		if (atomic_load(&kp_windows.again) || kp_windows_phase() == KP_WINDOW_CLOSED)
			kp_windows_apply_again();
	}
	/* A step rings the bell; before it there is nothing to do once all doors are open. */
	lapsed = atomic_load(&kp_windows.lapsed) && kp_windows.hurried;
	return kp_windows_phase() == KP_WINDOW_ENDING && !lapsed ? now_ns + STEP_MS * 1000000ULL
								 : UINT64_MAX;
}

bool kp_windows_control(bool on, void (*take)(void))
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until_ns = kp_clock_now() + CONTROL_PATIENCE_NS;

	if (kp_standby_is_on()) {
		kp_standby_keep(on);
		/* Who watched may have gone while it recorded. */
		if (kp_boards_watched() || !kp_standby_leave())
			return true;
	}
	atomic_store(&kp_windows.controlled, true);
	atomic_store(&kp_windows.failed, false);
	kp_windows.refusals = 0;
	kp_window_gates_control(on ? KP_WINDOW_ALWAYS : KP_WINDOW_NEVER);
	kp_windows_apply(KP_WINDOW_BY_CTL);
	while (!on && kp_windows_phase() == KP_WINDOW_ENDING && !atomic_load(&kp_windows.lapsed) &&
	       kp_clock_now() < until_ns) {
		if (kp_windows_wants_flush())
			take();
		tick_end(kp_clock_now());
		nanosleep(&pause, NULL);
	}
	return !on || kp_windows.asked->duty_ppm || atomic_load(&kp_windows.deferred) ||
	       kp_windows_recording_now();
}

void kp_windows_unwatched(void (*take)(void))
{
	if (kp_standby_leave())
		kp_windows_control(false, take);
}

/* ---- the worker: the schedule of --duty ---- */

static void plan_next(uint64_t now_ns)
{
	kp_windows.next_ns = kp_duty_next(&kp_windows.duty, now_ns);
}

static bool is_running(void)
{
	enum kp_window_phase phase = kp_windows_phase();

	return phase == KP_WINDOW_OPENING || phase == KP_WINDOW_OPEN;
}

static uint64_t tick_duty(uint64_t now_ns)
{
	uint64_t end_ns;

	if (!atomic_load(&kp_windows.duty_open)) {
		if (now_ns < kp_windows.next_ns)
			return kp_windows.next_ns;
		atomic_store(&kp_windows.duty_open, true);
		kp_windows_apply(KP_WINDOW_BY_DUTY);
	}
	if (!is_running() && atomic_load(&kp_windows.deferred))
		return now_ns + RETRY_MS * 1000000ULL;
	kp_windows_try_to_begin(false);
	end_ns = atomic_load(&kp_windows.opened_ns) + kp_windows.duty.window_ns;
	if (is_running() && !kp_duty_may(end_ns, now_ns, true))
		return kp_windows_phase() == KP_WINDOW_OPENING ? now_ns + STEP_MS * 1000000ULL
							       : end_ns;
	plan_next(now_ns);
	atomic_store(&kp_windows.duty_open, false);
	kp_windows_apply(KP_WINDOW_BY_DUTY);
	return kp_windows.next_ns;
}

/* ---- the worker ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Delay and duration. */
static uint64_t tick_time(uint64_t now_ns)
{
	uint64_t begin_ns = kp_window_gates_begin_ns(), until_ns = kp_window_gates_until_ns();

	if (now_ns < begin_ns)
		return begin_ns;
	if (begin_ns && !until_ns && !kp_windows_recording_now() && !kp_window_gates_held())
		kp_windows_apply(KP_WINDOW_BY_DELAY);
	until_ns = kp_window_gates_until_ns();
	if (until_ns && now_ns < until_ns)
		return until_ns;
	if (until_ns && kp_window_gates_expire())
		kp_windows_apply(KP_WINDOW_BY_DURATION);
	return UINT64_MAX;
}

unsigned kp_windows_tick(unsigned most_ms, uint64_t delivered)
{
	uint64_t now_ns = kp_clock_now(), next_ns = now_ns + most_ms * 1000000ULL;

	if (!kp_windows.asked) /* nothing was started */
		return most_ms;
	if (atomic_exchange(&kp_windows.cut_due, false))
		kp_window_counts_cut(kp_windows.inject->slot, delivered);
	kp_windows.delivered = delivered;
	next_ns = earlier(next_ns, tick_time(now_ns));
	if (atomic_exchange(&kp_windows.deferred, false)) {
		kp_windows_apply_again();
		next_ns = earlier(next_ns, now_ns + RETRY_MS * 1000000ULL);
	}
	if (kp_windows.asked->duty_ppm)
		next_ns = earlier(next_ns, tick_duty(now_ns));
	next_ns = earlier(next_ns, tick_end(now_ns));
	now_ns = kp_clock_now();
	/* Rounded up: a wait of 0 ms would be busy, and early. */
	return next_ns > now_ns ? (unsigned)((next_ns - now_ns + 999999) / 1000000) : 1;
}

bool kp_windows_begin_calls(void)
{
	return !kp_windows.interrupted && atomic_load(&kp_windows.attached) && kp_detach_pause();
}

void kp_windows_end_calls(void)
{
	kp_detach_unpause();
}

bool kp_windows_wants_flush(void)
{
	return atomic_exchange(&kp_windows.flush, false);
}

bool kp_windows_is_open(void)
{
	return kp_window_list_is_open();
}

/* An end that is under way is taken back, or waited for. */
static void finish_end(void)
{
	if (!kp_detach_cancel())
		kp_detach_wait();
	if (kp_detach_progress() == KP_DETACH_DONE)
		conclude_detached(kp_detach_conclude());
	else if (kp_detach_progress() == KP_DETACH_REFUSED)
		kp_detach_conclude();
	else if (kp_detach_progress() == KP_DETACH_PENDING)
		atomic_store(&kp_windows.attached, false); /* it hangs: CUPTI is left alone */
}

/* Nobody switches any more: who comes now leaves a wish that nobody reads. False: someone still
 * does. */
static bool stop_switching(void)
{
	const struct timespec pause = {.tv_nsec = 100000};

	for (unsigned looks = 0; atomic_exchange(&kp_windows.switching, true); looks++) {
		if (looks == SWITCH_LOOKS)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

void kp_windows_finish(void)
{
	if (kp_windows.finished)
		return;
	kp_windows.finished = true;
	/* A thread that a signal has interrupted in a switch, whose handler ends the program, never
	 * gets on, and may be in CUPTI: that is left alone. */
	kp_windows.interrupted = !stop_switching();
	if (kp_windows_phase() == KP_WINDOW_ENDING && !kp_windows.interrupted)
		finish_end();
	if (kp_windows_phase() != KP_WINDOW_CLOSED)
		kp_windows_leave_open(KP_WINDOW_OPEN);
	kp_window_gates_hold(kp_clock_now());
	kp_windows_end(KP_WINDOW_BY_PROGRAM);
	kp_window_list_put(0, false);
}

void kp_windows_resume(void)
{
	if (!kp_windows.finished)
		return;
	kp_windows.finished = false;
	if (kp_windows_phase() != KP_WINDOW_CLOSED && kp_standby_is_keeping())
		kp_windows_open_up(KP_WINDOW_BY_PROGRAM);
	if (!kp_windows.interrupted) /* else it is that thread's */
		atomic_store(&kp_windows.switching, false);
	kp_windows.interrupted = false;
	kp_windows_apply_again();
}

/* ---- the trace ---- */

void kp_windows_write(struct kp_writer *writer, bool open)
{
	if (atomic_load(&kp_windows.controlled))
		kp_window_list_write(writer, open);
}

void kp_windows_put_counts(struct kp_live_slot *slot, uint64_t delivered, struct kp_counts *counts)
{
	uint64_t now_ns = kp_clock_now(), out, edges, held_ns, sampled_ns, missed;

	if (!atomic_load(&kp_windows.controlled))
		return;
	if (atomic_exchange(&kp_windows.cut_due, false))
		kp_window_counts_cut(slot, delivered);
	held_ns = kp_window_gates_held_ns(now_ns);
	sampled_ns = kp_window_list_inside_ns(now_ns);
	if (kp_windows.asked->duty_ppm)
		KP_SET(counts, COUNTS, unsampled_ns,
		       held_ns > sampled_ns ? held_ns - sampled_ns : 0);
	if (!atomic_load(&slot->issued_known))
		return;
	out = atomic_load(&slot->kernels_out_of_window);
	edges = atomic_load(&slot->kernels_at_edges);
	missed = edges -
		 kp_live_edges_recorded(atomic_load(&slot->kernels_issued), out, edges, delivered);
	KP_SET(counts, COUNTS, kernels_out_of_window, out + missed);
	if (kp_windows.asked->duty_ppm)
		KP_SET(counts, COUNTS, kernels_unsampled,
		       atomic_load(&slot->kernels_unsampled) + missed);
}

uint64_t kp_windows_number(void)
{
	return kp_window_list_number();
}

bool kp_windows_has_duty(void)
{
	return kp_windows.asked && kp_windows.asked->duty_ppm;
}

const char *kp_windows_note(void)
{
	return kp_windows.note;
}
