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
	struct kp_intern numbers; /* (process, sequence) of the chunks so far, while opening */
	struct kp_damage found;   /* while opening */
	struct kp_damage reading; /* while delivering batches, since the last rewind */
	struct kp_buffer stored, raw;
	ZSTD_DCtx *decompressor;
	struct kp_batch batch; /* the current one, if it is not the caller's */
};

/* reader_part.c. Moves on to the next batch that is asked for; false: there is none. */
bool kp_reader_reach(struct kp_reader *reader);
/* Leaves out what is not asked for of a batch, whose records lie at `records`; false: all of it. */
bool kp_reader_keep(const struct kp_reader *reader, void *records, struct kp_event *event);

#endif
