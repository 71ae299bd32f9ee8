/* What a reader keeps: private to reader*.c. */
#ifndef KP_TRACE_READER_STATE_H
#define KP_TRACE_READER_STATE_H

#include <zstd.h>

#include "trace/index.h"
#include "trace/reader.h"
#include "trace/tables.h"

struct kp_reader {
	int *fds;
	size_t file_count;
	uint64_t bytes; /* of all files */
	struct kp_index index;
	size_t *batches; /* numbers of index entries that hold batches, in order of first_ns */
	size_t batch_count, next_batch;
	struct kp_reader_part part;     /* what is delivered of them */
	struct kp_window_info *windows; /* that processes show while it has windows */
	struct kp_tables tables;
	struct kp_damage found;   /* while opening */
	struct kp_damage reading; /* while delivering batches, since the last rewind */
	struct kp_buffer stored, raw;
	ZSTD_DCtx *decompressor;
	struct kp_batch batch; /* the current one, if it is not the caller's */
};

/*
 * reader.c. Loads, checks and decompresses a chunk: the first of its copies that is readable.
 * Errors: KP_IO, KP_CORRUPT, KP_NO_MEMORY.
 */
enum kp_status kp_reader_load(struct kp_reader *reader, const struct kp_index_entry *entry,
			      struct kp_cursor *payload);
/* reader_sort.c. Puts descriptive chunks into the tables and batches into their list. Errors:
 * KP_IO, KP_NO_MEMORY. */
enum kp_status kp_reader_sort(struct kp_reader *reader);
/* Counts an unreadable chunk, also for its process. */
void kp_reader_count_damaged(struct kp_reader *reader, struct kp_damage *damage,
			     const struct kp_chunk_header *header);
/* reader_part.c. Moves on to the next batch that is asked for; false: there is none. */
bool kp_reader_reach(struct kp_reader *reader);
/* Leaves out what is not asked for of a batch, whose records lie at `records`; false: all of it. */
bool kp_reader_keep(const struct kp_reader *reader, void *records, struct kp_event *event);

#endif
