/*
 * The one mutable state of the injected library, and what its parts may ask of each other.
 *
 * Rules that hold for every file here: nothing exits, aborts, raises a signal or writes to the
 * program's streams; on trouble the collector turns itself off, counts what it missed and leaves
 * one line in the live mapping and in the trace. Nothing but kp_settings_read runs before the
 * program's first CUDA call. No lock is held while CUPTI, the driver or the loader is called.
 *
 * A forked child begins anew: each file with state has a kp_<file>_forget, and the one handler of
 * pthread_atfork calls them all. They take no lock, call no CUPTI and free nothing, because the
 * child has one thread and what the others held is held for ever.
 */
#ifndef KP_INJECT_STATE_H
#define KP_INJECT_STATE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "trace/live.h"
#include "trace/records.h"

/* What the launcher asked for, from the environment. */
struct kp_settings {
	char trace_path[PATH_MAX]; /* KPROF_TRACE; empty: do nothing */
	char live_path[PATH_MAX];  /* KPROF_LIVE; may be empty */
	char cupti_path[PATH_MAX]; /* KPROF_CUPTI: this libcupti and no other; usually empty */
	char chain_path[PATH_MAX]; /* KPROF_CHAIN: the CUDA injection that the user had set */
	bool redact;               /* KPROF_REDACT, on unless "0" */
	bool clocks;               /* KPROF_CLOCKS, likewise */
};

struct kp_inject {
	struct kp_settings settings;
	pid_t pid;                 /* of the process that started the collector; others stay out */
	uint64_t process;          /* random identity in the trace */
	struct kp_live_slot *slot; /* never NULL: a private one where there is no mapping */
	_Atomic bool running;      /* the collector is on */
};

extern struct kp_inject kp_inject;

/* Reads the environment. False where kprof did not start this program. */
bool kp_settings_read(struct kp_settings *out);

/* The mapping at the path; NULL where there is none of the right size and kind. Async-signal-safe.
 */
struct kp_live *kp_live_map(const char *path);
/* That in which this process, or the one that forked it, has taken a slot; NULL: there is none.
 * Async-signal-safe. */
struct kp_live *kp_live_at_hand(void);
/* Takes a slot of the live mapping, or a private one. */
void kp_live_attach(struct kp_inject *inject);
/* In a forked child: the slot is the parent's. */
void kp_live_forget(struct kp_inject *inject);
/* Leaves one line for the launcher to print; the first one stays. */
__attribute__((format(printf, 2, 3))) void kp_live_say(struct kp_inject *inject, const char *format,
						       ...);

/* The same for a finished text. Async-signal-safe. */
void kp_live_tell(struct kp_inject *inject, const char *text);

/* Whether the collector runs, and in this process. Async-signal-safe; false after vfork. */
bool kp_inject_is_on(const struct kp_inject *inject);
/* From now on a forked child begins anew. */
void kp_inject_watch_forks(void);

/* Facts of this process for the trace; texts are allocated once and live as long as the process. */
void kp_process_describe(const struct kp_settings *settings, struct kp_process_info *info);

/* Nanoseconds on the trace's clock, CLOCK_MONOTONIC. */
uint64_t kp_clock_now(void);
/* A pair of readings of the trace's clock and CLOCK_REALTIME, taken together: the tightest of some.
 */
struct kp_clock_info kp_clock_pair(void);
/* Differences of two pairs below that are errors of reading, not steps of CLOCK_REALTIME. */
#define KP_CLOCK_STEP_NS 1000000LL

#endif
