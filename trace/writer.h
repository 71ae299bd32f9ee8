/*
 * Writes the trace of one process: buffers records, interns names, and appends whole chunks to a
 * file opened with O_APPEND, so that several processes may share one file.
 *
 * Not thread-safe: one thread owns a writer. Nothing here locks, logs or exits; a failed write is
 * counted, remembered, and does not stop later ones. Numbers that interning returns are valid for
 * this process only.
 *
 * A writer numbers its chunks from the moment it has written the process record, so the collector
 * writes that first; a writer that never does may append (counts, say) on behalf of a process.
 */
#ifndef KP_TRACE_WRITER_H
#define KP_TRACE_WRITER_H

#include <stdint.h>

#include "trace/host_call.h"
#include "trace/launch_run.h"
#include "trace/library_call.h"
#include "trace/library_launch.h"
#include "trace/records.h"
#include "trace/status.h"

struct kp_writer;

/* What could not be written, because the file could not take it. */
struct kp_writer_loss {
	uint64_t launches, memops, ranges, samples, clocks, host_calls, runs, library_launches;
	int first_errno; /* 0: no write failed */
};

/*
 * A writer on `fd` (opened O_APPEND; borrowed, not closed) for the process with the random identity
 * `process`. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_writer_create(int fd, uint64_t process, struct kp_writer **out);
/*
 * Asks `fd_of` for the descriptor before each chunk, because the program may have closed it or made
 * it another file's. Where it gives -1, the chunk is lost and counted.
 */
void kp_writer_set_source(struct kp_writer *writer, int (*fd_of)(void *context), void *context);
/* Frees without writing: call kp_writer_flush first. NULL is allowed. */
void kp_writer_destroy(struct kp_writer *writer);

/* Strings longer than this are cut. */
#define KP_STRING_MAX_BYTES (1U << 16)

/* The number of a string, equal for equal bytes. Errors: KP_NO_MEMORY. */
enum kp_status kp_writer_intern(struct kp_writer *writer, const char *bytes, size_t length,
				uint32_t *out);
/* The number of a launch configuration, equal for equal contents. Errors: KP_NO_MEMORY. */
enum kp_status kp_writer_config(struct kp_writer *writer, const struct kp_launch_config *config,
				uint32_t *out);

/* The number of a library's call, equal for equal contents. Errors: KP_NO_MEMORY. */
enum kp_status kp_writer_library_call(struct kp_writer *writer, const struct kp_library_call *call,
				      uint32_t *out);
/* One node of a graph; its call has a number. Errors: KP_NO_MEMORY. */
enum kp_status kp_writer_library_node(struct kp_writer *writer, const struct kp_library_node *node);

/* Buffer one record; a full buffer is written. Errors: KP_IO (the records of it are lost). */
enum kp_status kp_writer_launch(struct kp_writer *writer, const struct kp_launch *launch);
enum kp_status kp_writer_memop(struct kp_writer *writer, const struct kp_memop *memop);
enum kp_status kp_writer_range(struct kp_writer *writer, const struct kp_range *range);
enum kp_status kp_writer_host(struct kp_writer *writer, const struct kp_host_call *call);
enum kp_status kp_writer_run(struct kp_writer *writer, const struct kp_launch_run *run);
enum kp_status kp_writer_library(struct kp_writer *writer, const struct kp_library_launch *launch);

enum kp_status kp_writer_clocks(struct kp_writer *writer, const struct kp_clocks *clocks);
/*
 * Writes samples of one session, in order of begin_ns, at once; the session's record has been
 * written. Errors: KP_NO_MEMORY, KP_IO (those that are lost are counted).
 */
enum kp_status kp_writer_samples(struct kp_writer *writer, const struct kp_counter_sample *samples,
				 size_t count);

/* Write one descriptive record at once, as a chunk of its own. Errors: KP_NO_MEMORY, KP_IO. */
enum kp_status kp_writer_process(struct kp_writer *writer, const struct kp_process_info *info);
enum kp_status kp_writer_device(struct kp_writer *writer, const struct kp_device_info *info);
enum kp_status kp_writer_clock(struct kp_writer *writer, const struct kp_clock_info *info);
enum kp_status kp_writer_counts(struct kp_writer *writer, const struct kp_counts *counts);
enum kp_status kp_writer_note(struct kp_writer *writer, enum kp_note_level level, const char *text);
enum kp_status kp_writer_window(struct kp_writer *writer, const struct kp_window_info *window);
enum kp_status kp_writer_counters(struct kp_writer *writer,
				  const struct kp_counters_info *counters);
enum kp_status kp_writer_end(struct kp_writer *writer, const struct kp_end *end);

/* Leaves out so many numbers of chunks, for those that were lost where this trace comes from. */
void kp_writer_skip(struct kp_writer *writer, uint64_t chunks);
/* Write all that is buffered. Errors: KP_IO. */
enum kp_status kp_writer_flush(struct kp_writer *writer);
/* What has been lost to failed writes so far. */
struct kp_writer_loss kp_writer_loss(const struct kp_writer *writer);

#endif
