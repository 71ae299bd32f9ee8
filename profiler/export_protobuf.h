/*
 * Protocol Buffers' wire format, as far as exports need it, on top of kp_buffer: messages within
 * messages are built in buffers of their own and put as bytes.
 */
#ifndef KP_PROFILER_EXPORT_PROTOBUF_H
#define KP_PROFILER_EXPORT_PROTOBUF_H

#include <string.h>

#include "trace/codec.h"

/* A whole number (uint32, uint64, enum, and int64 that is not negative). */
static inline void kp_protobuf_count(struct kp_buffer *out, uint32_t field, uint64_t value)
{
	kp_buffer_put_varint(out, (uint64_t)field << 3);
	kp_buffer_put_varint(out, value);
}

/* Bytes, a string or a message. */
static inline void kp_protobuf_bytes(struct kp_buffer *out, uint32_t field, const void *bytes,
				     size_t length)
{
	kp_buffer_put_varint(out, (uint64_t)field << 3 | 2);
	kp_buffer_put_varint(out, length);
	kp_buffer_put(out, bytes, length);
}

static inline void kp_protobuf_text(struct kp_buffer *out, uint32_t field, const char *text)
{
	kp_protobuf_bytes(out, field, text, strlen(text));
}

static inline void kp_protobuf_message(struct kp_buffer *out, uint32_t field,
				       const struct kp_buffer *message)
{
	kp_protobuf_bytes(out, field, message->bytes, message->length);
	out->failed |= message->failed;
}

static inline void kp_protobuf_double(struct kp_buffer *out, uint32_t field, double value)
{
	kp_buffer_put_varint(out, (uint64_t)field << 3 | 1);
	kp_buffer_put(out, &value, sizeof value); /* little-endian, as the machine is */
}

#endif
