/*
 * What is left to do when the program has ended: read the slots of the shared mapping, append what
 * killed processes could not write any more, and pass on what collectors had to say.
 */
#ifndef KP_PROFILER_AFTERMATH_H
#define KP_PROFILER_AFTERMATH_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/recording.h"

struct kp_aftermath {
	size_t processes;  /* that took a slot: they used CUDA */
	size_t killed;     /* of these, ended without their collector's knowing */
	size_t running;    /* of these, still running */
	uint64_t slotless; /* processes that found no free slot */
};

/*
 * Waits a moment for processes that are just ending, appends counts for the killed ones to the
 * trace, and prints the collectors' messages, each once.
 */
void kp_aftermath_settle(struct kp_recording *recording, struct kp_aftermath *out);

#endif
