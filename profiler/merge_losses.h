/* What merged traces had lost already: it stays lost, and the new trace says so. */
#ifndef KP_PROFILER_MERGE_LOSSES_H
#define KP_PROFILER_MERGE_LOSSES_H

#include "trace/reader.h"
#include "trace/writer.h"

/*
 * Gives what could not be read of a process to its new writer, once all that could is written: its
 * counts, a gap in its numbering for each chunk, and a note. Errors: KP_NO_MEMORY, KP_IO.
 */
enum kp_status kp_merge_losses_put(const struct kp_reader *reader, const struct kp_process *process,
				   struct kp_writer *writer);
/* What the traces had lost, in a sentence; false: nothing. */
bool kp_merge_losses_describe(const struct kp_reader *reader, char *out, size_t size);
/* What was in them more than once, likewise. */
bool kp_merge_copies_describe(const struct kp_reader *reader, char *out, size_t size);

#endif
