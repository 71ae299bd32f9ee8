/* Reading a part of a trace, and how far a reader is; a part of reader.h. */
#ifndef KP_TRACE_READER_PART_H
#define KP_TRACE_READER_PART_H

#include <stddef.h>
#include <stdint.h>

struct kp_reader;

/* Some of the batches, chosen by the headers of their chunks. Zeroed: all of them. */
struct kp_reader_part {
	uint64_t from_ns, to_ns; /* what may hold a time in this window; to_ns = 0: any */
	size_t stride;           /* of the batches one in so many; 0 and 1: each */
};
/*
 * Starts again, and from now on delivers these alone. A batch holds records outside of the window
 * as well; those whose times cannot be used are in no window.
 */
void kp_reader_select(struct kp_reader *reader, const struct kp_reader_part *part);

/* How far it is: batches that have been passed, of all. */
struct kp_reader_place {
	size_t done, of;
};
struct kp_reader_place kp_reader_place(const struct kp_reader *reader);

/* From the first to the last time in the trace, as the headers of all chunks say; 0: none does. */
struct kp_reader_span {
	uint64_t first_ns, last_ns;
};
struct kp_reader_span kp_reader_span(const struct kp_reader *reader);

#endif
