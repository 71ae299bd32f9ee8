/* The one state, the settings and the clock; see state.h. */
#include "inject/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often a pair is read: the tightest of these counts. */
#define PAIR_READINGS 3

struct kp_inject kp_inject;

static bool copy_variable(const char *name, char out[PATH_MAX])
{
	const char *value = getenv(name);

	out[0] = '\0';
	if (!value || strlen(value) >= PATH_MAX)
		return false;
	strcpy(out, value);
	return value[0] != '\0';
}

bool kp_settings_read(struct kp_settings *out)
{
	const char *redact = getenv("KPROF_REDACT"), *clocks = getenv("KPROF_CLOCKS");

	copy_variable("KPROF_LIVE", out->live_path);
	copy_variable("KPROF_CUPTI", out->cupti_path);
	copy_variable("KPROF_CHAIN", out->chain_path);
	out->redact = !redact || strcmp(redact, "0") != 0;
	out->clocks = !clocks || strcmp(clocks, "0") != 0;
	return copy_variable("KPROF_TRACE", out->trace_path);
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t kp_clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

struct kp_clock_info kp_clock_pair(void)
{
	struct kp_clock_info info = {0};
	uint64_t width = UINT64_MAX;

	for (unsigned i = 0; i < PAIR_READINGS; i++) {
		uint64_t before = read_clock(CLOCK_MONOTONIC);
		uint64_t realtime = read_clock(CLOCK_REALTIME);
		uint64_t after = read_clock(CLOCK_MONOTONIC);

		if (after - before >= width)
			continue;
		width = after - before;
		KP_SET(&info, CLOCK, monotonic_ns, before + width / 2);
		KP_SET(&info, CLOCK, realtime_ns, realtime);
	}
	return info;
}
