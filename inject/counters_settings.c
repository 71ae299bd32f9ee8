/* What the launcher asked for about hardware counters; see counters_settings.h. */
#include "inject/counters_settings.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t metrics;
	uint64_t default_us, least_us;
	unsigned drain_ms;
} sets[] = {
#define ROW(NAME, name, metrics, default_us, least_us, drain_ms)                                   \
	{#name, metrics, default_us, least_us, drain_ms},
	KP_COUNTER_SETS(ROW)
#undef ROW
};
#define SET_COUNT (sizeof(sets) / sizeof(sets[0]))
/* Drained after so many samples at least: the hardware's buffer holds some 19,000. */
#define DRAIN_SAMPLES 4000

static enum kp_counter_mode mode_of(const char *text)
{
	if (text && strcmp(text, "on") == 0)
		return KP_COUNTERS_ON;
	return text && strcmp(text, "auto") == 0 ? KP_COUNTERS_AUTO : KP_COUNTERS_OFF;
}

static unsigned drain_of(unsigned drain_ms, uint64_t interval_ns)
{
	uint64_t few_ns = drain_ms * 1000000ULL / DRAIN_SAMPLES; /* from here on they are fewer */

	return interval_ns < few_ns ? (unsigned)(DRAIN_SAMPLES * interval_ns / 1000000) : drain_ms;
}

void kp_counters_settings_read(struct kp_counters_settings *out)
{
	const char *set = getenv("KPROF_COUNTER_SET");
	const char *interval = getenv("KPROF_COUNTER_INTERVAL_NS");

	out->mode = mode_of(getenv("KPROF_COUNTERS"));
	out->set = KP_COUNTER_SET_MEMORY;
	for (size_t i = 0; set && i < SET_COUNT; i++)
		if (strcmp(set, sets[i].name) == 0)
			out->set = (enum kp_counter_set)i;
	out->metrics = sets[out->set].metrics;
	out->interval_ns = interval ? strtoull(interval, NULL, 10) : 0;
	if (out->interval_ns == 0)
		out->interval_ns = sets[out->set].default_us * 1000;
	if (out->interval_ns < sets[out->set].least_us * 1000)
		out->interval_ns = sets[out->set].least_us * 1000;
	out->drain_ms = drain_of(sets[out->set].drain_ms, out->interval_ns);
}
