/*
 * The program that «kprof top -- CMD» runs: like any under kprof, but that its output waits while
 * the screen is kprof's, and that no record is kept until it is asked for. With rules of A/B it
 * runs as under kprof ab --mode swap. Not thread-safe.
 */
#ifndef KP_PROFILER_TOP_PROGRAM_H
#define KP_PROFILER_TOP_PROGRAM_H

#include "profiler/ab_run.h"
#include "profiler/launch.h"
#include "profiler/recording.h"
#include "profiler/settings.h"

struct kp_top_program {
	const struct kp_settings *settings;
	struct kp_ab_run ab; /* of with_rules */
	struct kp_settings ab_settings;
	bool with_rules;
	struct kp_target target;
	char library[PATH_MAX];
	struct kp_recording recording;
	struct kp_launching launch;
	bool begun, recorded; /* recorded: the trace is to be kept */
	int error;            /* errno of a process that could not be made; 0: it was */
	int log;              /* where its output goes, unless to kprof's */
	bool log_is_shown;    /* afterwards */
	off_t shown;          /* of the log */
};

/* Whether rules of A/B are asked for. */
bool kp_top_program_has_rules(const struct kp_settings *settings);
/* All that can fail before it starts: 0, or the exit status after saying why. `screens`: those are
 * printed, so that the standard output is not the program's meanwhile. */
int kp_top_program_prepare(struct kp_top_program *program, const struct kp_settings *settings,
			   bool screens);
/* Starts it, watched by the room of that path; false: what is wrong is said later. */
bool kp_top_program_begin(struct kp_top_program *program, const char *room);
/* Passes signals on; true: it has ended. */
bool kp_top_program_has_ended(struct kp_top_program *program);
/* The screen is the program's: shows its output, and waits for its end. Returns the exit status. */
int kp_top_program_finish(struct kp_top_program *program);

#endif
