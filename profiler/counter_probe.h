/*
 * Whether the hardware counters of this machine can be sampled, as the collector's library finds in
 * a process of its own: what CUDA leaves behind, or a call that hangs, does not touch this one.
 */
#ifndef KP_PROFILER_COUNTER_PROBE_H
#define KP_PROFILER_COUNTER_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#define KP_COUNTER_PROBE_GPUS 64

struct kp_counter_finding {
	int device; /* -1: all of them */
	bool works;
	char text[400]; /* the chip and what is sampled, or why not, with the remedy */
};

struct kp_counter_probe {
	struct kp_counter_finding findings[KP_COUNTER_PROBE_GPUS];
	size_t count;   /* 0: there is no GPU, or no driver */
	bool timed_out; /* there was no answer in time */
};

/* Asks the library at `path`. False where it could not be asked. */
bool kp_counter_probe(const char *path, struct kp_counter_probe *out);

#endif
