/*
 * What the two halves of the windows' state machine share: windows.c, which switches, in any
 * thread, and windows_worker.c, which sees to time. For them alone.
 */
#ifndef KP_INJECT_WINDOWS_STATE_H
#define KP_INJECT_WINDOWS_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "inject/detach.h"
#include "inject/duty.h"
#include "inject/window_settings.h"
#include "inject/windows.h"

/*
 * CLOSED → OPENING (under --duty) → OPEN → ENDING → CLOSED. Records are on in all but the first.
 * ENDING: CUPTI is to be detached; the window may have ended already (lapsed).
 */
enum kp_window_phase { KP_WINDOW_CLOSED, KP_WINDOW_OPENING, KP_WINDOW_OPEN, KP_WINDOW_ENDING };

struct kp_windows_state {
	struct kp_inject *inject;
	const struct kp_cupti *cupti;
	const struct kp_window_settings *asked;
	_Atomic bool switching, again; /* a thread is in settle; another one has come */
	_Atomic bool deferred;         /* a stream was being captured: the worker tries again */
	_Atomic bool failed;           /* CUPTI refuses for good */
	_Atomic bool attached;
	_Atomic bool controlled;
	_Atomic bool flush; /* a window has ended */
	_Atomic int reason; /* of the latest event */
	_Atomic int phase;  /* by the thread that switches; from OPENING on, by its begin */
	/* of the window; by the thread that switches */
	pthread_mutex_t begin_lock; /* OPENING to OPEN */
	_Atomic uint64_t opened_ns; /* when records were on: from here on it may begin */
	_Atomic int begin_reason, end_reason;
	_Atomic uint64_t on_cost_ns, first_launch_ns;
	_Atomic uint64_t end_asked_ns; /* from here on it may end */
	_Atomic bool lapsed;
	_Atomic bool names_kept; /* so that the worker may take records after a detaching */
	bool hurried;            /* worker */
	_Atomic bool cut_due;    /* what was cut off is to be counted, before records go on */
	uint64_t delivered;      /* worker: kernels, as of its last turn */
	bool finished;           /* worker: the program has ended, or becomes another */
	bool interrupted;        /* worker: in that, a thread was in the midst of switching */
	unsigned refusals;       /* by the thread that switches */
	/* the schedule of --duty; worker, but for the first */
	_Atomic bool duty_open;
	struct kp_duty duty;
	uint64_t next_ns;
	const char *note;
	char note_text[256];
};
extern struct kp_windows_state kp_windows;

/* The phase now. */
enum kp_window_phase kp_windows_phase(void);
/* Whether records are on. */
bool kp_windows_recording_now(void);
/* Something has happened: brings records into line with what is wanted. errno is kept. */
void kp_windows_apply(enum kp_window_reason reason);
void kp_windows_apply_again(void);
/* What detaching calls. */
extern const struct kp_detach_events kp_windows_events;

/* For the thread that switches. */
void kp_windows_open_up(enum kp_window_reason reason);
void kp_windows_leave_open(enum kp_window_phase next);
void kp_windows_end(enum kp_window_reason reason);
void kp_windows_lapse(void);
void kp_windows_switch_off(enum kp_window_reason reason);
/* What the last window cost. */
void kp_windows_measured(uint64_t off_cost_ns);
/* Why CUPTI stayed attached, once. */
void kp_windows_explain(const char *why);
/* A window that may begin does. Any thread. */
void kp_windows_try_to_begin(bool synchronising);

#endif
