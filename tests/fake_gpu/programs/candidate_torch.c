/*
 * Replacements for the sequences of prog_torch, as a user's library has them: the same bits as the
 * kernels in whose place they run. Device memory is host memory here.
 */
#include <stdint.h>

#include <cuda.h>

#include "tests/fake_gpu/common/image.h"
#include "tests/fake_gpu/programs/torch_kernels.h"
#include "tests/fake_gpu/programs/torch_values.h"

#define ENTRY(name)                                                                                \
	__attribute__((visibility("default"))) int name(const int64_t *arguments, uint32_t count,  \
							void *stream);                             \
	int name(const int64_t *arguments, uint32_t count, void *stream)

static float *at(const int64_t *argument)
{
	return (float *)(uintptr_t)*argument;
}

static void norm_row(const float *x, const void *weight, void *y, int64_t from, int64_t columns,
		     float eps)
{
	float squares[TORCH_ELEMENTS], rstd;

	for (int64_t i = 0; i < columns; i++)
		squares[i] = x[i] * x[i];
	rstd = torch_rsqrt(torch_mean(squares, columns, 1.0f / (float)columns) + 1 * eps);
	for (int64_t i = 0; i < columns; i++)
		bf16_store(y, from + i, torch_round(x[i] * rstd) * bf16_load(weight, i));
}

/* (a, a's row, b or NULL, b's row, weight, y, sum or NULL, rows, columns, eps as a double's bits,
 * what the weight of a wrong one is off) */
static void compute_norm(const uint32_t grid[3], void **p)
{
	const int64_t *v = p[0];
	float x[TORCH_ELEMENTS];
	double eps;

	(void)grid;
	memcpy(&eps, &v[9], sizeof(eps));
	for (int64_t row = 0; row < v[7] && v[8] <= TORCH_ELEMENTS; row++) {
		for (int64_t i = 0; i < v[8]; i++) {
			x[i] = bf16_load(at(&v[0]), row * v[1] + i);
			if (v[2])
				x[i] = torch_round(
					torch_add(x[i], bf16_load(at(&v[2]), row * v[3] + i), 1));
			if (v[2] && v[6])
				bf16_store(at(&v[6]), row * v[8] + i, x[i]);
		}
		norm_row(x, at(&v[4]), at(&v[5]), row * v[8], v[8], (float)eps + (float)v[10]);
	}
}

/* (gate, its row, up, its row, y, rows, columns) */
static void compute_gate(const uint32_t grid[3], void **p)
{
	const int64_t *v = p[0];

	(void)grid;
	for (int64_t i = 0; i < v[5] * v[6]; i++) {
		int64_t row = i / v[6], column = i % v[6];
		float gate = bf16_load(at(&v[0]), row * v[1] + column);

		bf16_store(at(&v[4]), i,
			   torch_round(torch_silu(gate)) *
				   bf16_load(at(&v[2]), row * v[3] + column));
	}
}

static int launch(size_t which, const int64_t *arguments, uint32_t count, CUstream stream)
{
	static const struct kp_fake_kernel kernels[] = {
		{.name = "torch_fused_norm",
		 .duration_ns = 100,
		 .compute = compute_norm,
		 .parameter_count = 1,
		 .parameter_bytes = {88}},
		{.name = "torch_fused_gate",
		 .duration_ns = 100,
		 .compute = compute_gate,
		 .parameter_count = 1,
		 .parameter_bytes = {88}},
	};
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 2, kernels};
	static CUmodule module;
	int64_t values[11] = {0};
	void *parameters[] = {values};
	CUfunction function;

	memcpy(values, arguments, count * sizeof(*values));
	if ((!module && cuModuleLoadData(&module, &image) != CUDA_SUCCESS) ||
	    cuModuleGetFunction(&function, module, kernels[which].name) != CUDA_SUCCESS)
		return 1;
	return (int)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

ENTRY(norm)
{
	return count == 11 ? launch(0, arguments, count, stream) : 1;
}

ENTRY(gate)
{
	return count == 7 ? launch(1, arguments, count, stream) : 1;
}
