/*
 * Bytes in and out: a growing buffer, little-endian integers, LEB128 varints and zigzag.
 *
 * A buffer that could not grow remembers it in `failed` and ignores further appends, so that
 * encoders check once, at the end. A cursor never reads past its end: it sets `failed` and yields
 * 0.
 */
#ifndef KP_TRACE_CODEC_H
#define KP_TRACE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kp_buffer {
	uint8_t *bytes;
	size_t length, capacity;
	bool failed;
};

struct kp_cursor {
	const uint8_t *at, *end;
	bool failed;
};

/* Makes room for `more` bytes beyond the length. False (and failed) without memory. */
bool kp_buffer_reserve(struct kp_buffer *buffer, size_t more);
void kp_buffer_put(struct kp_buffer *buffer, const void *bytes, size_t length);
void kp_buffer_put_u32(struct kp_buffer *buffer, uint32_t value);
/* Overwrites four bytes that are already there. */
void kp_buffer_patch_u32(struct kp_buffer *buffer, size_t offset, uint32_t value);
void kp_buffer_clear(struct kp_buffer *buffer);
void kp_buffer_fini(struct kp_buffer *buffer);

/* The longest varint: 64 bits, seven a byte. */
#define KP_VARINT_MAX_BYTES 10

static inline void kp_buffer_put_varint(struct kp_buffer *buffer, uint64_t value)
{
	if (buffer->failed || (buffer->capacity - buffer->length < KP_VARINT_MAX_BYTES &&
			       !kp_buffer_reserve(buffer, KP_VARINT_MAX_BYTES)))
		return;
	while (value >= 0x80) {
		buffer->bytes[buffer->length++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	buffer->bytes[buffer->length++] = (uint8_t)value;
}

static inline uint64_t kp_zigzag(uint64_t difference)
{
	return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t kp_unzigzag(uint64_t coded)
{
	return (coded >> 1) ^ (0 - (coded & 1));
}

static inline struct kp_cursor kp_cursor_over(const uint8_t *bytes, size_t length)
{
	return (struct kp_cursor){bytes, bytes + length, false};
}

static inline size_t kp_cursor_left(const struct kp_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* A varint of any length; fails where there is none. */
static inline uint64_t kp_cursor_long_varint(struct kp_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->failed = true;
	cursor->at = cursor->end;
	return 0;
}

static inline uint64_t kp_cursor_varint(struct kp_cursor *cursor)
{
	const uint8_t *at = cursor->at;

	if (cursor->end - at >= 2) { /* most take one byte or two */
		if (!(at[0] & 0x80)) {
			cursor->at = at + 1;
			return at[0];
		}
		if (!(at[1] & 0x80)) {
			cursor->at = at + 2;
			return (at[0] & 0x7fU) | (uint64_t)at[1] << 7;
		}
	}
	return kp_cursor_long_varint(cursor);
}

static inline uint32_t kp_cursor_u32(struct kp_cursor *cursor)
{
	const uint8_t *at = cursor->at;

	if (kp_cursor_left(cursor) < 4) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	cursor->at += 4;
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* The next `length` bytes as a cursor of their own; an empty failed one if there are fewer. */
static inline struct kp_cursor kp_cursor_take(struct kp_cursor *cursor, size_t length)
{
	struct kp_cursor part = {cursor->at, cursor->at, true};

	if (length > kp_cursor_left(cursor)) {
		cursor->failed = true;
		return part;
	}
	cursor->at += length;
	part.end = cursor->at;
	part.failed = false;
	return part;
}

#endif
