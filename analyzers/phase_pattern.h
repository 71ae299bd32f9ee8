/*
 * Prefill and decode where no range tells them apart: by the attention kernels that ran.
 *
 * Some libraries have attention kernels of their own for each (FlashInfer, paged attention,
 * split-KV flash); the rules call these variants prefill and decode. From one such kernel to the
 * next of the same phase all launches of a process on a GPU are of that phase; those from one of
 * the one to one of the other are of neither. Said only where it is clear: all but a little of the
 * attention tells, and phases are stretches of many kernels, not a mixture. Not thread-safe.
 */
#ifndef KP_ANALYZERS_PHASE_PATTERN_H
#define KP_ANALYZERS_PHASE_PATTERN_H

#include <stdbool.h>

#include "analyzers/phases.h"

/* At least so many attention kernels of a phase, and so many a stretch of it; */
#define KP_PATTERN_LEAST 16
#define KP_PATTERN_STRETCH 4
/* of the time, so much may be of neither phase, or of attention that does not tell. */
#define KP_PATTERN_DOUBT 0.1

/* What a kernel says of its phase. */
enum kp_pattern_kernel {
	KP_PATTERN_PREFILL = KP_PHASE_PREFILL,
	KP_PATTERN_DECODE = KP_PHASE_DECODE,
	KP_PATTERN_OTHER = KP_PHASE_COUNT, /* nothing */
	KP_PATTERN_UNCLEAR                 /* it is attention, of either phase */
};

struct kp_pattern_sum {
	uint64_t kernels, kernel_ns, wall_ns;
	uint64_t attention, stretches;
};

/* Begins zeroed. */
struct kp_phase_pattern {
	unsigned current_plus_one; /* phase of the last kernel that told; 0: none has */
	struct kp_pattern_sum pending, phases[KP_PHASE_COUNT];
	uint64_t neither_ns, unclear_ns;
	uint64_t last_end_ns; /* of that phase */
};

/* The next kernel in order of time. */
void kp_phase_pattern_add(struct kp_phase_pattern *pattern, enum kp_pattern_kernel says,
			  uint64_t start_ns, uint64_t end_ns);
/* Whether it is clear; *out is then one sum a phase, with kernels = 0 where there is none. */
bool kp_phase_pattern_result(const struct kp_phase_pattern *pattern,
			     struct kp_pattern_sum out[KP_PHASE_COUNT]);

#endif
