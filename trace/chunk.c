/* Chunk headers, checksums and compression; see chunk.h. */
#include "trace/chunk.h"

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The header is copied as it is: kprof builds for little-endian machines, which all CUDA hosts are.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the trace format is little-endian");

/* Below this, compressing costs more than it saves. */
#define MIN_COMPRESS_BYTES 128

static uint64_t header_hash(const struct kp_chunk_header *header)
{
	return XXH3_64bits(header, offsetof(struct kp_chunk_header, header_hash));
}

bool kp_chunk_parse(const uint8_t bytes[KP_CHUNK_HEADER_BYTES], struct kp_chunk_header *out)
{
	if (memcmp(bytes, KP_CHUNK_MAGIC, sizeof(out->magic)) != 0)
		return false;
	memcpy(out, bytes, sizeof(*out));
	return out->header_hash == header_hash(out) && out->stored_bytes <= KP_CHUNK_MAX_BYTES &&
	       out->raw_bytes <= KP_CHUNK_MAX_BYTES && out->record_count <= KP_CHUNK_MAX_RECORDS &&
	       ((out->flags & KP_CHUNK_ZSTD) || out->stored_bytes == out->raw_bytes);
}

enum kp_status kp_chunk_seal(struct kp_chunk_header *header, const struct kp_buffer *payload,
			     void *compressor, struct kp_buffer *out)
{
	size_t bound = ZSTD_compressBound(payload->length);
	size_t stored = payload->length;
	uint8_t *body;

	if (payload->length > KP_CHUNK_MAX_BYTES)
		return KP_INVALID;
	kp_buffer_clear(out);
	if (!kp_buffer_reserve(out, KP_CHUNK_HEADER_BYTES + bound))
		return KP_NO_MEMORY;
	body = out->bytes + KP_CHUNK_HEADER_BYTES;
	header->flags = 0;
	if (compressor && payload->length >= MIN_COMPRESS_BYTES) {
		size_t n = ZSTD_compress2(compressor, body, bound, payload->bytes, payload->length);

		if (!ZSTD_isError(n) && n < payload->length) {
			stored = n;
			header->flags = KP_CHUNK_ZSTD;
		}
	}
	if (!(header->flags & KP_CHUNK_ZSTD) && stored)
		memcpy(body, payload->bytes, stored);
	memcpy(header->magic, KP_CHUNK_MAGIC, sizeof(header->magic));
	header->major = KP_CHUNK_MAJOR;
	header->minor = KP_CHUNK_MINOR;
	header->stored_bytes = (uint32_t)stored;
	header->raw_bytes = (uint32_t)payload->length;
	header->payload_hash = XXH3_64bits(body, stored);
	header->header_hash = header_hash(header);
	memcpy(out->bytes, header, sizeof(*header));
	out->length = KP_CHUNK_HEADER_BYTES + stored;
	return KP_OK;
}

enum kp_status kp_chunk_open(const struct kp_chunk_header *header, const uint8_t *stored,
			     void *decompressor, struct kp_buffer *raw, struct kp_cursor *out)
{
	size_t n;

	if (XXH3_64bits(stored, header->stored_bytes) != header->payload_hash)
		return KP_CORRUPT;
	if (!(header->flags & KP_CHUNK_ZSTD)) {
		*out = kp_cursor_over(stored, header->stored_bytes);
		return KP_OK;
	}
	kp_buffer_clear(raw);
	if (!kp_buffer_reserve(raw, (size_t)header->raw_bytes + 1))
		return KP_NO_MEMORY;
	n = ZSTD_decompressDCtx(decompressor, raw->bytes, header->raw_bytes, stored,
				header->stored_bytes);
	if (ZSTD_isError(n) || n != header->raw_bytes)
		return KP_CORRUPT;
	raw->length = n;
	*out = kp_cursor_over(raw->bytes, n);
	return KP_OK;
}
