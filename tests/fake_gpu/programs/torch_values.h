/*
 * What PyTorch's eager kernels compute, element by element, for prog_torch and its replacements:
 * with the same operations in the same order both come to the same bits.
 */
#ifndef KP_FAKE_GPU_TORCH_VALUES_H
#define KP_FAKE_GPU_TORCH_VALUES_H

#include <math.h>

#include "tests/fake_gpu/common/bf16.h"

static inline float torch_round(float value)
{
	uint16_t narrow;

	bf16_store(&narrow, 0, value);
	return bf16_load(&narrow, 0);
}

static inline float torch_add(float a, float b, float alpha)
{
	return a + alpha * b;
}

static inline float torch_mean(const float *values, int64_t count, float factor)
{
	float sum = 0;

	for (int64_t i = 0; i < count; i++)
		sum += values[i];
	return sum * factor;
}

static inline float torch_rsqrt(float value)
{
	return 1.0f / sqrtf(value);
}

static inline float torch_silu(float value)
{
	return value / (1.0f + expf(-value));
}

#endif
