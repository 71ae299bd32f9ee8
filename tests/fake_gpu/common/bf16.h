/* Elements of bf16 in device memory, which is host memory here. */
#ifndef KP_FAKE_GPU_BF16_H
#define KP_FAKE_GPU_BF16_H

#include <stdint.h>
#include <string.h>

static inline float bf16_load(const void *at, int64_t i)
{
	uint32_t bits = (uint32_t)((const uint16_t *)at)[i] << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* To the nearest, ties to even. */
static inline void bf16_store(void *at, int64_t i, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	((uint16_t *)at)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
