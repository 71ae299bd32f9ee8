/*
 * What the kernels of prog_sequence compute, and their replacements: whole numbers in floats, so
 * that every order of reads and writes shows in all that comes behind it.
 */
#ifndef KP_FAKE_GPU_SEQUENCE_KERNELS_H
#define KP_FAKE_GPU_SEQUENCE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

static inline float sequence_mix(float a, float b, uint32_t salt)
{
	return (float)(((uint32_t)a * 31 + (uint32_t)b * 17 + salt * 7 + 1) % 65521);
}

/* out = a and b, of so many bytes. */
static inline void sequence_mix_all(float *out, const float *a, const float *b, uint64_t bytes,
				    uint32_t salt)
{
	for (size_t i = 0; i < bytes / sizeof(*out); i++)
		out[i] = sequence_mix(a[i], b ? b[i] : (float)i, salt);
}

#endif
