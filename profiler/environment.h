/*
 * The environment that kprof gives to the program: how the collector gets in, and where it writes.
 *
 * What the user has set there stays: LD_PRELOAD is kept behind kprof's own library, and injection
 * variables of other tools are left alone.
 */
#ifndef KP_PROFILER_ENVIRONMENT_H
#define KP_PROFILER_ENVIRONMENT_H

#include <stdbool.h>

#include "trace/status.h"

struct kp_environment {
	const char *library; /* absolute path of libkprof_inject.so */
	const char *trace;   /* absolute path of the trace */
	const char *live;    /* absolute path of the shared mapping; see trace/live.h */
	const char *board;   /* path of the room of a watcher, who keeps nothing; NULL: none */
	bool preload;        /* false: the program's loader cannot take it */
	bool redact;         /* secrets in command lines */
	bool clocks;         /* read them, by NVML */
};

/* Says, a line each, which of the user's variables stand in the way. Before the program starts. */
void kp_environment_warn(const struct kp_environment *environment);
/* Sets the variables in this process. Errors: KP_NO_MEMORY. */
enum kp_status kp_environment_apply(const struct kp_environment *environment);

#endif
