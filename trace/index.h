/*
 * The index of a trace's files: where each chunk stands, by its header alone.
 *
 * Scanning trusts a header whose checksum fits, and goes on where the header says the chunk ends.
 * If no header stands there, the chunk is taken as torn and the scan looks for the next header byte
 * by byte, so that one broken write in the middle of a file costs one chunk.
 */
#ifndef KP_TRACE_INDEX_H
#define KP_TRACE_INDEX_H

#include "trace/chunk.h"
#include "trace/reader.h"

struct kp_index_entry {
	struct kp_chunk_header header;
	uint64_t offset; /* of the payload; 0: torn, it is not whole */
	uint32_t file;   /* number of the file */
	uint32_t copy;   /* number of another entry of the same chunk, plus 1; 0: none */
};

struct kp_index {
	struct kp_index_entry *entries; /* in order of file and offset */
	size_t count, capacity;
	struct kp_damage damage; /* damaged_bytes, torn_tail */
};

/*
 * Scans one open file of `size` bytes. Errors: KP_IO (errno), KP_NO_MEMORY. A file without a single
 * readable chunk adds no entries; that is for the caller to judge.
 */
enum kp_status kp_index_scan(struct kp_index *index, int fd, uint64_t size, uint32_t file);
void kp_index_fini(struct kp_index *index);

/* Reads exactly `length` bytes at `offset`. Errors: KP_IO (errno; 0 if the file ends before). */
enum kp_status kp_read_at(int fd, void *out, size_t length, uint64_t offset);

#endif
