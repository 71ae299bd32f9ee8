/* Finding chunks in damaged bytes and mending their checksums; see chunks.h. */
#include "chunks.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/chunk.h"

static bool header_at(const uint8_t *bytes, size_t size, size_t offset,
		      struct kp_chunk_header *header)
{
	if (size < sizeof(*header) || offset > size - sizeof(*header) ||
	    memcmp(bytes + offset, KP_CHUNK_MAGIC, sizeof(header->magic)) != 0)
		return false;
	memcpy(header, bytes + offset, sizeof(*header));
	return true;
}

size_t fuzz_find_chunks(const uint8_t *bytes, size_t size, struct fuzz_chunk *out)
{
	struct kp_chunk_header header;
	size_t count = 0, offset = 0;

	while (offset < size && count < FUZZ_MAX_CHUNKS) {
		size_t length = sizeof(header);

		if (!header_at(bytes, size, offset, &header)) {
			offset++;
			continue;
		}
		if (header.stored_bytes <= size - offset - sizeof(header))
			length += header.stored_bytes;
		out[count++] = (struct fuzz_chunk){offset, length};
		offset += length;
	}
	return count;
}

static void mend_chunk(uint8_t *bytes, size_t length)
{
	struct kp_chunk_header header;

	memcpy(&header, bytes, sizeof(header));
	header.payload_hash = XXH3_64bits(bytes + sizeof(header), length - sizeof(header));
	header.header_hash = XXH3_64bits(&header, offsetof(struct kp_chunk_header, header_hash));
	memcpy(bytes, &header, sizeof(header));
}

void fuzz_mend_chunks(uint8_t *bytes, size_t size)
{
	struct fuzz_chunk chunks[FUZZ_MAX_CHUNKS];
	size_t count = fuzz_find_chunks(bytes, size, chunks);

	for (size_t i = 0; i < count; i++)
		mend_chunk(bytes + chunks[i].offset, chunks[i].length);
}
