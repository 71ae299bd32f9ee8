/* Options about hardware counters; see counter_options.h. Not thread-safe: setenv. */
#include "profiler/counter_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/counter_probe.h"
#include "profiler/say.h"
#include "trace/control.h"

const char *const kp_counter_set_names[] = {
#define NAME(NAME, name, metrics, default_us, least_us, drain_ms) #name,
	KP_COUNTER_SETS(NAME)
#undef NAME
		NULL,
};

static const unsigned least_us[] = {
#define LEAST(NAME, name, metrics, default_us, least_us, drain_ms) least_us,
	KP_COUNTER_SETS(LEAST)
#undef LEAST
};

static const char *const mode_names[] = {"auto", "on", "off"};

static bool check_interval(const struct kp_settings *settings)
{
	unsigned least = least_us[settings->counter_set];

	if (settings->counter_interval_us == 0 || settings->counter_interval_us >= least)
		return true;
	kp_fail("--counter-interval: with --counter-set %s it is %u microseconds at least; CUPTI "
		"cannot decode samples faster",
		kp_counter_set_names[settings->counter_set], least);
	return false;
}

/* With «on»: some GPU must let its counters be sampled. */
static bool check_machine(const char *library)
{
	struct kp_counter_probe *probe = calloc(1, sizeof *probe);
	const char *reason = "the driver does not work; see kprof doctor";
	bool works = false;

	if (!probe) {
		kp_fail("out of memory");
		return false;
	}
	if (!kp_counter_probe(library, probe))
		reason = "the collector's library cannot be asked; see kprof doctor";
	else if (probe->timed_out)
		reason = "CUPTI gives no answer; see kprof doctor";
	for (size_t i = 0; i < probe->count; i++) {
		if (i == 0)
			reason = probe->findings[i].text;
		works |= probe->findings[i].works;
	}
	if (!works)
		kp_fail("--counters on: hardware counters cannot be sampled: %s", reason);
	free(probe);
	return works;
}

bool kp_counter_options_check(const struct kp_settings *settings, const char *library)
{
	if (!check_interval(settings))
		return false;
	if (settings->counters != KP_COUNTERS_ON)
		return true;
	return kp_counter_options_export(settings) && check_machine(library);
}

/* An earlier kprof's wishes, too, end here. */
static bool export_none(void)
{
	return unsetenv("KPROF_COUNTERS") == 0 && unsetenv("KPROF_COUNTER_SET") == 0 &&
	       unsetenv("KPROF_COUNTER_INTERVAL_NS") == 0;
}

bool kp_counter_options_export(const struct kp_settings *settings)
{
	char interval_ns[24];

	/* The counters are CUPTI's, which --duty gives up between its windows: «auto» yields. */
	if (settings->counters == KP_COUNTERS_OFF ||
	    (settings->counters == KP_COUNTERS_AUTO && settings->duty_pct > 0))
		return export_none();
	snprintf(interval_ns, sizeof interval_ns, "%" PRIu64,
		 (uint64_t)llround(settings->counter_interval_us * 1e3));
	return setenv("KPROF_COUNTERS", mode_names[settings->counters], 1) == 0 &&
	       setenv("KPROF_COUNTER_SET", kp_counter_set_names[settings->counter_set], 1) == 0 &&
	       setenv("KPROF_COUNTER_INTERVAL_NS", interval_ns, 1) == 0;
}
