/*
 * What a command is, before it is started: found or not, and whether kprof can see into it.
 *
 * The program is looked up as execvp(3) does, scripts are followed to their interpreter, and the
 * ELF header of what will really run is read (trace/program.h). Nothing is executed. A file that
 * changes between this look and its start is started all the same: the system's own answer counts.
 */
#ifndef KP_PROFILER_TARGET_H
#define KP_PROFILER_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "trace/program.h"

enum kp_target_state { KP_TARGET_FOUND, KP_TARGET_NOT_FOUND, KP_TARGET_NOT_EXECUTABLE };

struct kp_target {
	enum kp_target_state state;
	char path[PATH_MAX];       /* what execvp would run; as given where it was not found */
	struct kp_program program; /* what kind of program it is; traceable where not found */
	int error;                 /* errno: why it cannot be executed */
};

/* Looks at the command `name`, with the search path `search` (NULL: the system's default). */
void kp_target_inspect(const char *name, const char *search, struct kp_target *out);

/* One sentence that says why kprof cannot see into it, or why it cannot run; NULL: all is well. */
const char *kp_target_explain(const struct kp_target *target);

#endif
