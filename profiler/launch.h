/*
 * Starts the program under kprof and waits for it: in the foreground, with its own terminal, in
 * kprof's process group, with the signal mask and dispositions that kprof itself was started with.
 *
 * While it runs, kprof takes signals synchronously and passes on those that were sent to kprof
 * alone. One launch a process; not thread-safe.
 */
#ifndef KP_PROFILER_LAUNCH_H
#define KP_PROFILER_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "profiler/environment.h"
#include "profiler/target.h"
#include "profiler/witness.h"
#include "trace/status.h"

struct kp_launched {
	pid_t pid;       /* of the program, which has ended */
	int exit_status; /* as a shell has it: 128 + n where signal n ended the program */
	int exec_error;  /* errno of a failed start; 0: it was started */
};

/*
 * Runs `argv` (ended by NULL) to its end. Errors: KP_IO (errno: no process could be made).
 * SIGPIPE and SIGXFSZ are ignored in kprof from here on, since nothing may change the exit status
 * any more.
 */
enum kp_status kp_launch_run(char **argv, const struct kp_target *target,
			     const struct kp_environment *environment, struct kp_launched *out);

/* ---- the same in steps, for who has something else to do meanwhile ---- */

/* What kprof was started with, and gives to the program. */
struct kp_inherited {
	sigset_t mask;
	struct sigaction child_action;
	sigset_t passed; /* signals that are passed on */
};

struct kp_launching {
	struct kp_launched launched;
	struct kp_inherited inherited;
	struct kp_witness witness;
	bool ended;
	int passed_on;  /* the last signal that was; 0: none */
	int streams[3]; /* descriptors that become the program's first three; -1: kprof's own */
};

/* Starts it; the caller has set `streams`. Errors: as above; kp_launch_end must follow either way.
 */
enum kp_status kp_launch_begin(struct kp_launching *launch, char **argv,
			       const struct kp_target *target,
			       const struct kp_environment *environment);
/* Passes signals on, and looks whether it has ended; `wait`: until it has. */
void kp_launch_step(struct kp_launching *launch, bool wait);
/* Keeps errno. */
void kp_launch_end(struct kp_launching *launch);

#endif
