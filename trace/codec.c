/* The growing buffer; see codec.h. */
#include "trace/codec.h"

#include <stdlib.h>

bool kp_buffer_reserve(struct kp_buffer *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	uint8_t *grown;

	if (buffer->failed)
		return false;
	if (more <= buffer->capacity - buffer->length)
		return true;
	while (capacity - buffer->length < more) {
		if (capacity > SIZE_MAX / 2) {
			buffer->failed = true;
			return false;
		}
		capacity *= 2;
	}
	grown = realloc(buffer->bytes, capacity);
	if (!grown) {
		buffer->failed = true;
		return false;
	}
	buffer->bytes = grown;
	buffer->capacity = capacity;
	return true;
}

void kp_buffer_put(struct kp_buffer *buffer, const void *bytes, size_t length)
{
	if (length == 0 || !kp_buffer_reserve(buffer, length))
		return;
	memcpy(buffer->bytes + buffer->length, bytes, length);
	buffer->length += length;
}

static void store_u32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

void kp_buffer_put_u32(struct kp_buffer *buffer, uint32_t value)
{
	uint8_t bytes[4];

	store_u32(bytes, value);
	kp_buffer_put(buffer, bytes, sizeof(bytes));
}

void kp_buffer_patch_u32(struct kp_buffer *buffer, size_t offset, uint32_t value)
{
	if (!buffer->failed && offset + 4 <= buffer->length)
		store_u32(buffer->bytes + offset, value);
}

void kp_buffer_clear(struct kp_buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
}

void kp_buffer_fini(struct kp_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct kp_buffer){0};
}
