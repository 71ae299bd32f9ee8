/* Which processes share a clock: those of one start of one host. Pure. */
#ifndef KP_ANALYZERS_BOOTS_H
#define KP_ANALYZERS_BOOTS_H

#include "trace/reader.h"

/* What the wall clock is ahead of the trace's; false where it is not known. */
bool kp_clock_offset(const struct kp_process *process, uint64_t *offset_ns);
/*
 * Whether two processes ran on one host, and since it was started last: their offsets then agree to
 * much less than a minute.
 */
bool kp_same_boot(const struct kp_process *a, const struct kp_process *b);

#endif
