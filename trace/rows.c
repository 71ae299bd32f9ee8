/* Rows to bytes; see rows.h. */
#include "trace/rows.h"

static size_t encode_varint(uint64_t value, uint8_t *out)
{
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		out[length++] = (uint8_t)(value | 0x80);
	out[length++] = (uint8_t)value;
	return length;
}

static size_t encode_members(const uint32_t *members, size_t count, uint8_t *out)
{
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += encode_varint(members[i], out + length);
	return length;
}

size_t kp_row_encode_config(const struct kp_launch_config *config, uint8_t *out)
{
	return encode_members((const uint32_t *)config, sizeof(*config) / sizeof(uint32_t), out);
}

size_t kp_row_encode_node(const struct kp_library_node *node, uint8_t *out)
{
	return encode_members((const uint32_t *)node, sizeof(*node) / sizeof(uint32_t), out);
}

size_t kp_row_encode_call(const struct kp_library_call *call, uint8_t *out)
{
	const uint64_t *members = (const uint64_t *)call;
	size_t length = 0;

	for (size_t i = 0; i < sizeof(*call) / sizeof(*members); i++)
		length += encode_varint(members[i], out + length);
	return length;
}
