/* Parquet's encodings of numbers; see parquet_encode.h. */
#include "profiler/parquet_encode.h"

#define BLOCK 128 /* differences, in MINIBLOCKS of MINI each */
#define MINIBLOCKS 4
#define MINI (BLOCK / MINIBLOCKS)

unsigned kp_parquet_width(uint64_t most)
{
	return most ? 64U - (unsigned)__builtin_clzll(most) : 1;
}

/* Appends the low `width` bits of each value, the lowest first; count * width is whole bytes. */
static void pack(struct kp_buffer *out, const uint64_t *values, size_t count, unsigned width)
{
	uint64_t word = 0;
	unsigned filled = 0;

	if (!kp_buffer_reserve(out, count * width / 8 + 8))
		return;
	uint8_t *at = out->bytes + out->length;
	for (size_t i = 0; i < count && width; i++) {
		word |= values[i] << filled;
		filled += width;
		if (filled >= 64) {
			memcpy(at, &word, 8); /* little-endian, as the machine is */
			at += 8;
			filled -= 64;
			word = filled ? values[i] >> (width - filled) : 0;
		}
	}
	for (; filled > 0; filled = filled > 8 ? filled - 8 : 0) {
		*at++ = (uint8_t)word;
		word >>= 8;
	}
	out->length = (size_t)(at - out->bytes);
}

static bool all_alike(const uint32_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

void kp_parquet_hybrid(struct kp_buffer *out, const uint32_t *values, size_t count, unsigned width)
{
	uint64_t group[64];

	if (count == 0)
		return;
	if (all_alike(values, count)) {
		kp_buffer_put_varint(out, (uint64_t)count << 1);
		kp_buffer_put(out, values, (width + 7) / 8);
		return;
	}
	kp_buffer_put_varint(out, (uint64_t)(count + 7) / 8 << 1 | 1);
	for (size_t at = 0; at < count; at += 64) {
		size_t some = count - at < 64 ? count - at : 64, whole = (some + 7) / 8 * 8;

		for (size_t i = 0; i < whole; i++)
			group[i] = i < some ? values[at + i] : 0;
		pack(out, group, whole, width);
	}
}

/* One block of differences; those beyond `count` are not there. */
static void put_block(struct kp_buffer *out, uint64_t *deltas, size_t count)
{
	int64_t least = (int64_t)deltas[0];
	unsigned widths[MINIBLOCKS] = {0};
	uint8_t bytes[MINIBLOCKS];

	for (size_t i = 1; i < count; i++)
		if ((int64_t)deltas[i] < least)
			least = (int64_t)deltas[i];
	for (size_t i = 0; i < BLOCK; i++) {
		deltas[i] = i < count ? deltas[i] - (uint64_t)least : 0;
		unsigned width = deltas[i] ? kp_parquet_width(deltas[i]) : 0;
		if (width > widths[i / MINI])
			widths[i / MINI] = width;
	}
	kp_buffer_put_varint(out, kp_zigzag((uint64_t)least));
	for (size_t i = 0; i < MINIBLOCKS; i++)
		bytes[i] = (uint8_t)widths[i];
	kp_buffer_put(out, bytes, sizeof bytes);
	for (size_t i = 0; i < MINIBLOCKS; i++)
		pack(out, deltas + i * MINI, MINI, widths[i]);
}

void kp_parquet_delta(struct kp_buffer *out, const uint64_t *values, size_t count)
{
	uint64_t deltas[BLOCK] = {0};

	kp_buffer_put_varint(out, BLOCK);
	kp_buffer_put_varint(out, MINIBLOCKS);
	kp_buffer_put_varint(out, count);
	kp_buffer_put_varint(out, kp_zigzag(count ? values[0] : 0));
	for (size_t at = 1; at < count; at += BLOCK) {
		size_t some = count - at < BLOCK ? count - at : BLOCK;

		for (size_t i = 0; i < some; i++)
			deltas[i] = values[at + i] - values[at + i - 1];
		put_block(out, deltas, some);
	}
}
