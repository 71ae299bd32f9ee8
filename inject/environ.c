/* Environments for programs that kprof does not enter; see environ.h. Async-signal-safe. */
#include "inject/environ.h"

#include <string.h>

#define PRELOAD "LD_PRELOAD="
#define OWN_NAME "libkprof_inject.so"

static const char *const injections[] = {"CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH="};

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

const char *kp_environ_find(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

size_t kp_environ_room(char *const *environment)
{
	size_t bytes = sizeof(char *);

	for (; environment && *environment; environment++) {
		bytes += sizeof(char *);
		if (begins(*environment, PRELOAD))
			bytes += strlen(*environment) + 1;
	}
	return bytes;
}

/* Whether a path of `length` bytes is that of kprof's library. */
static bool is_own(const char *path, size_t length)
{
	size_t own = strlen(OWN_NAME);

	return length >= own && memcmp(path + length - own, OWN_NAME, own) == 0 &&
	       (length == own || path[length - own - 1] == '/');
}

const char *kp_environ_library(char *const *environment, size_t *bytes)
{
	const char *at = kp_environ_find(environment, "LD_PRELOAD");

	while (at && *at) {
		*bytes = strcspn(at, " :");
		if (at[0] == '/' && is_own(at, *bytes))
			return at;
		at += *bytes;
		at += strspn(at, " :");
	}
	return NULL;
}

static bool injects(const char *variable)
{
	for (size_t i = 0; i < sizeof(injections) / sizeof(injections[0]); i++)
		if (begins(variable, injections[i]) &&
		    is_own(variable + strlen(injections[i]),
			   strlen(variable) - strlen(injections[i])))
			return true;
	return false;
}

/* Copies LD_PRELOAD without kprof's library; false: nothing else was in it. */
static bool copy_preload(const char *variable, char *out)
{
	const char *at = variable + strlen(PRELOAD);
	size_t used = strlen(PRELOAD), first = used;

	memcpy(out, PRELOAD, used);
	while (*at) {
		size_t separators = strspn(at, " :");
		size_t length = strcspn(at + separators, " :");

		if (!is_own(at + separators, length)) {
			size_t skipped = used == first ? separators : 0;

			memcpy(out + used, at + skipped, separators + length - skipped);
			used += separators + length - skipped;
		}
		at += separators + length;
	}
	out[used] = '\0';
	return used > first;
}

char **kp_environ_without(char *const *environment, bool all, void *room)
{
	char **copy = room, **at = copy;
	size_t count = 1;
	char *text;

	for (char *const *from = environment; from && *from; from++)
		count++;
	text = (char *)(copy + count);
	for (; environment && *environment; environment++) {
		if (all && injects(*environment))
			continue;
		if (!begins(*environment, PRELOAD)) {
			*at++ = *environment;
		} else if (copy_preload(*environment, text)) {
			*at++ = text;
			text += strlen(text) + 1;
		}
	}
	*at = NULL;
	return copy;
}
