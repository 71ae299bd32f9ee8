/*
 * Hardware counters beside the records of kernels: who samples which GPU, from when to when.
 *
 * Sampling of a GPU begins with the program's first context there, which waits for it, so that the
 * counters see all that the program does. A thread of its own decodes the samples, some times a
 * second; the worker writes them. A GPU has one sampler at a time: of the processes of a
 * recording the first one takes it, the others say who it is. Sampling stops at the end of the
 * program; it does not depend on contexts (on an H200 it went on when the only one was reset).
 *
 * Where counters cannot be read, all else works, and the trace says why and what would help.
 * Threads: as said; what the program's threads call keeps errno.
 */
#ifndef KP_INJECT_COUNTERS_H
#define KP_INJECT_COUNTERS_H

#include <stdbool.h>

#include "inject/state.h"
#include "trace/writer.h"

struct kp_cupti;

/* Reads the settings; nothing runs yet. Once, when the collector starts. All is borrowed. */
void kp_counters_start(const struct kp_cupti *cupti);
/* Whether counters are sampled, or would be if that is possible: CUPTI must stay. */
bool kp_counters_asked(void);
/* In a forked child: nothing is sampled. */
void kp_counters_forget(void);

/* A context of a device is there. Any thread. */
void kp_counters_context_created(int device);

/*
 * Stops sampling and waits a moment for the last samples: at the end, before records are flushed
 * for the last time. Sampling goes on with kp_counters_resume. Worker only; more than once.
 */
void kp_counters_stop(void);
void kp_counters_resume(void);
/* Gives the hardware back, once everything is written: CUPTI may end its other uses with that. */
void kp_counters_close(void);

/* Writes what sessions there are and their samples: `all`, or where enough have come. Worker only.
 */
void kp_counters_write(struct kp_writer *writer, bool all);

#endif
