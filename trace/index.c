/* Scans chunk headers into an index; see index.h. */
#include "trace/index.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/vector.h"

#define WINDOW_BYTES (64U << 10)
/* A trace has a readable header within its first MiB, however damaged. */
#define BEGINNING_BYTES (1U << 20)

/* One file being scanned, with a window of its bytes. */
struct scan {
	int fd;
	uint32_t file;
	uint64_t size;
	uint64_t window_offset;
	size_t window_length;
	uint8_t window[WINDOW_BYTES];
};

enum kp_status kp_read_at(int fd, void *out, size_t length, uint64_t offset)
{
	uint8_t *at = out;

	while (length) {
		ssize_t n = pread(fd, at, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = 0;
			return KP_IO;
		}
		at += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return KP_OK;
}

static enum kp_status add_entry(struct kp_index *index, const struct kp_index_entry *entry)
{
	if (!kp_vector_grow((void **)&index->entries, index->count, &index->capacity,
			    sizeof(*index->entries)))
		return KP_NO_MEMORY;
	index->entries[index->count++] = *entry;
	return KP_OK;
}

/* Whether a good header stands at `offset`; a short rest of the file is none. */
static enum kp_status header_at(struct scan *scan, uint64_t offset, struct kp_chunk_header *out,
				bool *found)
{
	uint8_t bytes[KP_CHUNK_HEADER_BYTES];
	enum kp_status status;

	*found = false;
	if (scan->size < KP_CHUNK_HEADER_BYTES || offset > scan->size - KP_CHUNK_HEADER_BYTES)
		return KP_OK;
	status = kp_read_at(scan->fd, bytes, sizeof(bytes), offset);
	if (status == KP_OK)
		*found = kp_chunk_parse(bytes, out);
	return status;
}

/* Brings the bytes from `offset` on into the window. */
static enum kp_status slide(struct scan *scan, uint64_t offset)
{
	uint64_t left = scan->size - offset;

	scan->window_offset = offset;
	scan->window_length = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	return kp_read_at(scan->fd, scan->window, scan->window_length, offset);
}

/* The first good header at or after `from`; scan->size if there is none. */
static enum kp_status find_header(struct scan *scan, uint64_t from, uint64_t *out)
{
	const size_t magic_length = sizeof(KP_CHUNK_MAGIC) - 1;

	while (from < scan->size && scan->size - from >= KP_CHUNK_HEADER_BYTES) {
		const uint8_t *at, *hit;
		size_t left;
		struct kp_chunk_header header;
		bool found;
		enum kp_status status = slide(scan, from);

		if (status != KP_OK)
			return status;
		at = scan->window;
		left = scan->window_length;
		while ((hit = memmem(at, left, KP_CHUNK_MAGIC, magic_length))) {
			*out = scan->window_offset + (uint64_t)(hit - scan->window);
			status = header_at(scan, *out, &header, &found);
			if (status != KP_OK || found)
				return status;
			left -= (size_t)(hit + 1 - at);
			at = hit + 1;
		}
		from += scan->window_length - (magic_length - 1);
	}
	*out = scan->size;
	return KP_OK;
}

/* Whether the chunk is whole: it ends at the end of the file or before another header. */
static enum kp_status is_whole(struct scan *scan, uint64_t end, bool *whole)
{
	struct kp_chunk_header next;

	*whole = end == scan->size;
	if (*whole || end > scan->size)
		return KP_OK;
	return header_at(scan, end, &next, whole);
}

/* Where the scan goes on after a chunk that may be torn: at its end, or at a header inside it. */
static enum kp_status after_chunk(struct scan *scan, struct kp_index *index,
				  const struct kp_index_entry *entry, uint64_t *next)
{
	uint64_t end = entry->offset + entry->header.stored_bytes;
	struct kp_index_entry torn = *entry;
	bool whole;
	enum kp_status status = is_whole(scan, end, &whole);

	*next = end;
	if (status != KP_OK)
		return status;
	if (whole)
		return add_entry(index, entry);
	status = find_header(scan, entry->offset, next);
	if (status != KP_OK)
		return status;
	if (*next >= end && end <= scan->size) { /* whole, with rubbish behind it */
		*next = end;
		return add_entry(index, entry);
	}
	index->damage.damaged_bytes += *next - entry->offset + KP_CHUNK_HEADER_BYTES;
	index->damage.torn_tail |= *next == scan->size;
	torn.offset = 0;
	return add_entry(index, &torn);
}

/* A file that does not begin with a header: a trace whose beginning is damaged, or no trace. */
static enum kp_status find_beginning(struct scan *scan, uint64_t *out)
{
	uint64_t size = scan->size;
	enum kp_status status;

	if (scan->size > BEGINNING_BYTES)
		scan->size = BEGINNING_BYTES;
	status = find_header(scan, 1, out);
	if (*out == scan->size)
		*out = size;
	scan->size = size;
	return status;
}

static enum kp_status scan_file(struct kp_index *index, struct scan *scan)
{
	uint64_t at = 0;
	enum kp_status status = KP_OK;

	while (status == KP_OK && at < scan->size) {
		struct kp_index_entry entry = {.file = scan->file};
		uint64_t next = scan->size;
		bool found;

		status = header_at(scan, at, &entry.header, &found);
		if (status != KP_OK)
			break;
		if (found) {
			entry.offset = at + KP_CHUNK_HEADER_BYTES;
			status = after_chunk(scan, index, &entry, &next);
		} else {
			status =
				at ? find_header(scan, at + 1, &next) : find_beginning(scan, &next);
			if (status != KP_OK)
				break;
			index->damage.damaged_bytes += next - at;
			index->damage.torn_tail |= next == scan->size;
		}
		at = next;
	}
	return status;
}

enum kp_status kp_index_scan(struct kp_index *index, int fd, uint64_t size, uint32_t file)
{
	struct scan *scan = malloc(sizeof(*scan));
	enum kp_status status;

	if (!scan)
		return KP_NO_MEMORY;
	scan->fd = fd;
	scan->size = size;
	scan->file = file;
	status = scan_file(index, scan);
	free(scan);
	return status;
}

void kp_index_fini(struct kp_index *index)
{
	free(index->entries);
	*index = (struct kp_index){0};
}
