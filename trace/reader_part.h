/* Which part of a trace a reader delivers, and how far it is; see reader.h. */
#ifndef KP_TRACE_READER_PART_H
#define KP_TRACE_READER_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

struct kp_reader;

struct kp_reader_window {
	uint64_t begin_ns, end_ns; /* on the trace's clock; the end is not in it */
};

/* A part of the trace; the headers of chunks say which to read. Zeroed: all of it. */
struct kp_reader_part {
	uint64_t from_ns, to_ns;  /* batches that may hold a time in this window; to_ns = 0: any */
	size_t stride;            /* of the batches one in so many; 0 and 1: each */
	const uint8_t *processes; /* by index, 0: nothing of it; borrowed; NULL: all */
	/* Records alone that begin in one of these, and ranges that are open in one; borrowed, in
	 * order and disjoint; NULL: all. Processes then look as if they had been recorded in these
	 * windows alone, without calls and runs. */
	const struct kp_reader_window *windows;
	size_t window_count;
	bool ranges_alone; /* nothing but ranges */
};
/*
 * Starts again, and from now on delivers these alone. With from_ns and to_ns a batch holds records
 * outside of the window as well. What has no times that can be used is in no window. Errors:
 * KP_NO_MEMORY; then all is delivered.
 */
enum kp_status kp_reader_select(struct kp_reader *reader, const struct kp_reader_part *part);

/* How far it is: batches that have been passed, of all. */
struct kp_reader_place {
	size_t done, of;
};
struct kp_reader_place kp_reader_place(const struct kp_reader *reader);

/* From the first to the last time in the trace, as the headers of chunks say; 0: none does. Samples
 * of counters and readings of clocks go on where nothing runs: they count where there is nothing
 * else.
 */
struct kp_reader_span {
	uint64_t first_ns, last_ns;
};
struct kp_reader_span kp_reader_span(const struct kp_reader *reader);

#endif
