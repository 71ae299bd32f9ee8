/* What the launcher asked for about hardware counters, from the environment. */
#ifndef KP_INJECT_COUNTERS_SETTINGS_H
#define KP_INJECT_COUNTERS_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/control.h"

struct kp_counters_settings {
	enum kp_counter_mode mode; /* KPROF_COUNTERS: auto, on; else off */
	enum kp_counter_set set;   /* KPROF_COUNTER_SET */
	size_t metrics;            /* of the set, see KP_COUNTER_SETS */
	unsigned drain_ms;         /* likewise; less at short intervals */
	uint64_t interval_ns; /* KPROF_COUNTER_INTERVAL_NS, or the set's; never below the least */
};

/* Reads the environment, which the program may change later. */
void kp_counters_settings_read(struct kp_counters_settings *out);

#endif
