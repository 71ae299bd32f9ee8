/*
 * Records on their way into order, in bounded memory: what does not fit is sorted and put aside in
 * a file without a name, and all of it is merged in the end.
 *
 * A record begins with start_ns and end_ns (both u64). The order is by start, the longer first
 * where they start together, then by the bytes: it does not depend on the order of adding.
 * Not thread-safe.
 */
#ifndef KP_PROFILER_SPOOL_H
#define KP_PROFILER_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

/* The memory that one spool takes, about; sorting takes as much again. */
#define KP_SPOOL_BYTES ((size_t)16 << 20)

struct kp_spool {
	size_t stride;
	const char *folder; /* for the file; borrowed */
	char *records;
	size_t count, capacity;
	int fd; /* -1: nothing was put aside */
	struct kp_spool_run {
		uint64_t first, count; /* records of the file */
	} * runs;
	size_t run_count, run_capacity;
	uint64_t aside; /* records in the file */
};

/* Takes the records in order. */
typedef enum kp_status kp_spool_sink(void *context, const void *record);

void kp_spool_init(struct kp_spool *spool, size_t stride, const char *folder);
/* Errors: KP_NO_MEMORY, KP_IO (errno). */
enum kp_status kp_spool_add(struct kp_spool *spool, const void *record);
/* Gives all of it to `sink`. Errors: KP_NO_MEMORY, KP_IO (errno), the sink's. */
enum kp_status kp_spool_drain(struct kp_spool *spool, kp_spool_sink *sink, void *context);
void kp_spool_fini(struct kp_spool *spool);

#endif
