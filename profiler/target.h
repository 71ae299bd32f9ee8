/*
 * What a command is, before it is started: found or not, and whether kprof can see into it.
 *
 * The program is looked up as execvp(3) does, scripts are followed to their interpreter, and the
 * ELF header of what will really run is read. Nothing is executed. A file that changes between this
 * look and its start is started all the same: the system's own answer counts.
 */
#ifndef KP_PROFILER_TARGET_H
#define KP_PROFILER_TARGET_H

#include <limits.h>
#include <stdbool.h>

enum kp_target_kind {
	KP_TARGET_TRACEABLE,     /* dynamically linked, of this machine and libc; or unknown */
	KP_TARGET_STATIC,        /* no dynamic loader: no preload */
	KP_TARGET_OTHER_CLASS,   /* 32-bit */
	KP_TARGET_OTHER_MACHINE, /* of another processor */
	KP_TARGET_OTHER_LIBC,    /* another dynamic loader: the preload would break it */
	KP_TARGET_PRIVILEGED,    /* set-user-ID and its like: the loader ignores the preload */
	KP_TARGET_NOT_FOUND,
	KP_TARGET_NOT_EXECUTABLE
};

struct kp_target {
	enum kp_target_kind kind;
	char path[PATH_MAX];    /* what execvp would run; as given where it was not found */
	char program[PATH_MAX]; /* the ELF file that runs: `path`, or the interpreter of a script */
	bool is_script;         /* `path` begins with «#!» */
	bool is_elf;            /* `path` itself is an ELF file */
	int error;              /* errno: why it cannot be executed */
};

/* Looks at the command `name`, with the search path `search` (NULL: the system's default). */
void kp_target_inspect(const char *name, const char *search, struct kp_target *out);

/* One sentence that says why kprof cannot see into it, or why it cannot run; NULL: all is well. */
const char *kp_target_explain(const struct kp_target *target);

/* Whether the loader of this program can take kprof's preload. */
bool kp_target_takes_preload(const struct kp_target *target);

#endif
