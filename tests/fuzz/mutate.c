/*
 * A mutator that knows the shape of a trace: behind checksums and compression, blind mutations
 * would never reach the decoders. Most inputs it makes have sound checksums and damaged contents.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "chunks.h"
#include "trace/chunk.h"

/* libFuzzer's interface. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *left, size_t left_size, const uint8_t *right,
				 size_t right_size, uint8_t *out, size_t out_size,
				 unsigned int seed);

/* An input under mutation. */
struct mutation {
	uint8_t *data;
	size_t size, max_size;
	struct fuzz_chunk chunks[FUZZ_MAX_CHUNKS];
	size_t count;
	unsigned int random;
};

#define PAYLOAD_MAX_BYTES (256U << 10)

static unsigned int draw(struct mutation *m, size_t below)
{
	m->random = m->random * 1664525U + 1013904223U;
	return below ? (m->random >> 8) % (unsigned int)below : 0;
}

/* Puts `length` bytes in the place of `removed` bytes at `offset`, if they fit. */
static bool splice(struct mutation *m, size_t offset, size_t removed, const uint8_t *bytes,
		   size_t length)
{
	if (m->size - removed + length > m->max_size)
		return false;
	memmove(m->data + offset + length, m->data + offset + removed, m->size - offset - removed);
	memcpy(m->data + offset, bytes, length);
	m->size = m->size - removed + length;
	return true;
}

static void mutate_blindly(struct mutation *m)
{
	m->size = LLVMFuzzerMutate(m->data, m->size, m->max_size);
}

static void mutate_and_mend(struct mutation *m)
{
	mutate_blindly(m);
	fuzz_mend_chunks(m->data, m->size);
}

/* The payload of a chunk in `raw`, decompressed; false where it cannot be had. */
static bool unpack(const struct kp_chunk_header *header, const uint8_t *stored, size_t length,
		   struct kp_buffer *raw)
{
	size_t n = length;

	if (!kp_buffer_reserve(raw, PAYLOAD_MAX_BYTES))
		return false;
	if (header->flags & KP_CHUNK_ZSTD) {
		n = ZSTD_decompress(raw->bytes, PAYLOAD_MAX_BYTES, stored, length);
		if (ZSTD_isError(n))
			return false;
	} else if (n <= PAYLOAD_MAX_BYTES) {
		memcpy(raw->bytes, stored, n);
	} else {
		return false;
	}
	raw->length = n;
	return true;
}

/* Mutates what a chunk holds, decompressed, and seals it again. */
static void mutate_payload(struct mutation *m)
{
	const struct fuzz_chunk *chunk = &m->chunks[draw(m, m->count)];
	ZSTD_CCtx *compressor = draw(m, 4) == 0 ? ZSTD_createCCtx() : NULL;
	struct kp_buffer raw = {0}, sealed = {0};
	struct kp_chunk_header header;

	memcpy(&header, m->data + chunk->offset, sizeof(header));
	if (unpack(&header, m->data + chunk->offset + sizeof(header),
		   chunk->length - sizeof(header), &raw)) {
		raw.length = LLVMFuzzerMutate(raw.bytes, raw.length, PAYLOAD_MAX_BYTES);
		if (kp_chunk_seal(&header, &raw, compressor, &sealed) == KP_OK)
			splice(m, chunk->offset, chunk->length, sealed.bytes, sealed.length);
	}
	kp_buffer_fini(&raw);
	kp_buffer_fini(&sealed);
	ZSTD_freeCCtx(compressor);
}

/* Mutates the header of a chunk, magic and checksums excepted. */
static void mutate_header(struct mutation *m)
{
	const struct fuzz_chunk *chunk = &m->chunks[draw(m, m->count)];
	const size_t first = offsetof(struct kp_chunk_header, kind);
	const size_t length = offsetof(struct kp_chunk_header, payload_hash) - first;

	LLVMFuzzerMutate(m->data + chunk->offset + first, length, length);
	fuzz_mend_chunks(m->data, m->size);
}

static void repeat_chunk(struct mutation *m)
{
	const struct fuzz_chunk from = m->chunks[draw(m, m->count)];
	const struct fuzz_chunk to = m->chunks[draw(m, m->count)];
	uint8_t *copy = malloc(from.length);

	if (!copy)
		return;
	memcpy(copy, m->data + from.offset, from.length);
	splice(m, to.offset, 0, copy, from.length);
	free(copy);
}

static void remove_chunk(struct mutation *m)
{
	const struct fuzz_chunk *chunk = &m->chunks[draw(m, m->count)];

	splice(m, chunk->offset, chunk->length, m->data, 0);
}

static void cut_tail(struct mutation *m)
{
	m->size -= draw(m, m->size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static void (*const ways[])(struct mutation *) = {
		mutate_payload, mutate_payload,  mutate_payload, mutate_payload, mutate_payload,
		mutate_payload, mutate_header,   mutate_header,  repeat_chunk,   remove_chunk,
		cut_tail,       mutate_and_mend, mutate_blindly,
	};
	static struct mutation m;

	m = (struct mutation){.data = data, .size = size, .max_size = max_size, .random = seed};
	m.count = fuzz_find_chunks(data, size, m.chunks);
	if (m.count == 0)
		mutate_and_mend(&m);
	else
		ways[draw(&m, sizeof(ways) / sizeof(ways[0]))](&m);
	return m.size;
}

/* A chunk of the right input at a place in the left one, as of a process of the left one. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *left, size_t left_size, const uint8_t *right,
				 size_t right_size, uint8_t *out, size_t out_size,
				 unsigned int seed)
{
	static struct mutation m;
	struct fuzz_chunk theirs[FUZZ_MAX_CHUNKS];
	size_t their_count = fuzz_find_chunks(right, right_size, theirs);
	struct fuzz_chunk at;
	const struct fuzz_chunk *from;

	m = (struct mutation){.data = out, .max_size = out_size, .random = seed};
	m.size = left_size < out_size ? left_size : out_size;
	memcpy(out, left, m.size);
	m.count = fuzz_find_chunks(out, m.size, m.chunks);
	if (m.count == 0 || their_count == 0)
		return m.size;
	at = m.chunks[draw(&m, m.count)];
	from = &theirs[draw(&m, their_count)];
	if (splice(&m, at.offset, 0, right + from->offset, from->length)) {
		const size_t process = offsetof(struct kp_chunk_header, process);

		memcpy(out + at.offset + process, out + at.offset + from->length + process,
		       sizeof(uint64_t));
		fuzz_mend_chunks(out, m.size);
	}
	return m.size;
}
