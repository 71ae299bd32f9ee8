/* The environment that kprof gives to the program; see environment.h. Not thread-safe: setenv. */
#include "profiler/environment.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/say.h"

/*
 * Variables by which the driver and NVTX load a tool, and what it means that the user has set one:
 * where `chain` names a variable, kprof takes the place and starts the other tool itself.
 */
static const struct {
	const char *name, *chain, *consequence;
} injections[] = {
	{"CUDA_INJECTION64_PATH", "KPROF_CHAIN",
	 "kprof starts it first and then itself; if it uses CUPTI, kprof stands aside"},
	{"NVTX_INJECTION64_PATH", NULL,
	 "kprof keeps it, so NVTX ranges go there and not into the trace"},
};

#define INJECTION_COUNT (sizeof injections / sizeof *injections)

/* The loader separates the names in LD_PRELOAD by these; it knows no way to quote them. */
static bool fits_preload(const char *library)
{
	return strpbrk(library, " :") == NULL;
}

/* Another tool's value of a variable; NULL: not set, or kprof's own. */
static const char *foreign_value(const char *name, const char *library)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, library) != 0 ? value : NULL;
}

void kp_environment_warn(const struct kp_environment *environment)
{
	if (environment->preload && !fits_preload(environment->library))
		kp_say("warning: the path %s holds a space or a colon, which LD_PRELOAD cannot "
		       "carry: kprof starts with the driver only; install it elsewhere",
		       environment->library);
	for (size_t i = 0; i < INJECTION_COUNT; i++) {
		const char *value = foreign_value(injections[i].name, environment->library);
		if (value)
			kp_say("warning: %s is set to %s: %s", injections[i].name, value,
			       injections[i].consequence);
	}
}

/* Whether `list` has the library among its names already, as under a kprof that runs kprof. */
static bool has_library(const char *list, const char *library)
{
	size_t length = strlen(library);

	for (const char *at = list; *at; at += strcspn(at, " :"), at += *at != '\0') {
		if (strcspn(at, " :") == length && strncmp(at, library, length) == 0)
			return true;
	}
	return false;
}

static bool set_preload(const char *library)
{
	const char *list = getenv("LD_PRELOAD");

	if (!list || !*list)
		return setenv("LD_PRELOAD", library, 1) == 0;
	if (has_library(list, library))
		return true;
	size_t size = strlen(library) + strlen(list) + 2;
	char *both = malloc(size);
	if (!both)
		return false;
	snprintf(both, size, "%s:%s", library, list);
	bool done = setenv("LD_PRELOAD", both, 1) == 0;
	free(both);
	return done;
}

enum kp_status kp_environment_apply(const struct kp_environment *environment)
{
	bool done = true;

	if (environment->preload && fits_preload(environment->library))
		done &= set_preload(environment->library);
	for (size_t i = 0; i < INJECTION_COUNT; i++) {
		const char *value = foreign_value(injections[i].name, environment->library);
		if (value && !injections[i].chain)
			continue;
		if (value)
			done &= setenv(injections[i].chain, value, 1) == 0;
		done &= setenv(injections[i].name, environment->library, 1) == 0;
	}
	done &= setenv("KPROF_TRACE", environment->trace, 1) == 0;
	done &= setenv("KPROF_LIVE", environment->live, 1) == 0;
	done &= setenv("KPROF_REDACT", environment->redact ? "1" : "0", 1) == 0;
	done &= setenv("KPROF_CLOCKS", environment->clocks ? "1" : "0", 1) == 0;
	if (environment->board) {
		done &= setenv("KPROF_BOARD", environment->board, 1) == 0;
		done &= setenv("KPROF_STANDBY", "1", 1) == 0;
	} else {
		unsetenv("KPROF_BOARD"); /* of a kprof top around this one */
		unsetenv("KPROF_STANDBY");
	}
	return done ? KP_OK : KP_NO_MEMORY;
}
