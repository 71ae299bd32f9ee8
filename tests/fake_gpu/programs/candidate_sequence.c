/*
 * Replacements for the sequences of prog_sequence, as a user's library has them. Device memory is
 * host memory here.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include <cuda.h>

#include "tests/fake_gpu/common/image.h"
#include "tests/fake_gpu/programs/sequence_kernels.h"

#define ENTRY(name)                                                                                \
	__attribute__((visibility("default"))) int name(const int64_t *arguments, uint32_t count,  \
							void *stream);                             \
	int name(const int64_t *arguments, uint32_t count, void *stream)

/* (x, w, t, u, y, bytes, salts of the three, whether «maybe» is there, what is added to the last)
 */
static void compute_three(const uint32_t grid[3], void **a)
{
	const float *x = *(float **)a[0], *w = *(float **)a[1];
	float *t = *(float **)a[2], *u = *(float **)a[3], *y = *(float **)a[4];
	uint64_t bytes = *(uint64_t *)a[5];

	(void)grid;
	sequence_mix_all(t, x, NULL, bytes, *(uint32_t *)a[6]);
	if (*(uint64_t *)a[9])
		sequence_mix_all(t, t, NULL, bytes, 3);
	sequence_mix_all(u, t, w, bytes, *(uint32_t *)a[7]);
	sequence_mix_all(y, u, NULL, bytes, *(uint32_t *)a[8] + *(uint32_t *)a[10]);
}

/* The same, but t and u are left as they are. */
static void compute_last(const uint32_t grid[3], void **a)
{
	float t[64], u[64], *t_at = t, *u_at = u;
	void *arguments[11];

	if (*(uint64_t *)a[5] > sizeof(t))
		return;
	memcpy(arguments, a, sizeof(arguments));
	arguments[2] = (void *)&t_at;
	arguments[3] = (void *)&u_at;
	compute_three(grid, arguments);
}

/* (x, bytes) */
static void compute_two(const uint32_t grid[3], void **a)
{
	float *x = *(float **)a[0];

	(void)grid;
	sequence_mix_all(x, x, NULL, *(uint64_t *)a[1], 5);
	sequence_mix_all(x, x, NULL, *(uint64_t *)a[1], 6);
}

/* (out, in, bytes, salt) */
static void compute_one(const uint32_t grid[3], void **a)
{
	(void)grid;
	sequence_mix_all(*(float **)a[0], *(float **)a[1], NULL, *(uint64_t *)a[2],
			 *(uint32_t *)a[3]);
}

static const struct kp_fake_kernel kernels[] = {
	{.name = "seq_fused",
	 .duration_ns = 100,
	 .compute = compute_three,
	 .parameter_count = 11,
	 .parameter_bytes = {8, 8, 8, 8, 8, 8, 4, 4, 4, 8, 4},
	 .reads = 3,
	 .writes = 28},
	{.name = "seq_fused_last",
	 .duration_ns = 100,
	 .compute = compute_last,
	 .parameter_count = 11,
	 .parameter_bytes = {8, 8, 8, 8, 8, 8, 4, 4, 4, 8, 4},
	 .reads = 3,
	 .writes = 16},
	{.name = "seq_fused_in_place",
	 .duration_ns = 100,
	 .compute = compute_two,
	 .parameter_count = 2,
	 .parameter_bytes = {8, 8},
	 .reads = 1,
	 .writes = 1},
	{.name = "seq_fused_one",
	 .duration_ns = 100,
	 .compute = compute_one,
	 .parameter_count = 4,
	 .parameter_bytes = {8, 8, 8, 4},
	 .reads = 2,
	 .writes = 1},
};

static int launch(size_t which, void **parameters, CUstream stream)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 4, kernels};
	static CUmodule module;
	CUfunction function;

	if ((!module && cuModuleLoadData(&module, &image) != CUDA_SUCCESS) ||
	    cuModuleGetFunction(&function, module, kernels[which].name) != CUDA_SUCCESS)
		return 1;
	return (int)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static int launch_three(size_t which, const int64_t *a, uint32_t more, CUstream stream)
{
	uint32_t salts[3] = {(uint32_t)a[6], (uint32_t)a[7], (uint32_t)a[8]};
	void *parameters[] = {(void *)&a[0], (void *)&a[1], (void *)&a[2], (void *)&a[3],
			      (void *)&a[4], (void *)&a[5], &salts[0],     &salts[1],
			      &salts[2],     (void *)&a[9], &more};

	return launch(which, parameters, stream);
}

ENTRY(three)
{
	return count == 10 ? launch_three(0, arguments, 0, stream) : 1;
}

/* t and u are not written. */
ENTRY(three_last)
{
	return count == 10 ? launch_three(1, arguments, 0, stream) : 1;
}

/* What comes out last is wrong. */
ENTRY(three_wrong)
{
	return count == 10 ? launch_three(0, arguments, 2000, stream) : 1;
}

/* It cannot be launched. */
ENTRY(three_refuses)
{
	(void)arguments, (void)count, (void)stream;
	return 1;
}

ENTRY(two)
{
	void *parameters[] = {(void *)&arguments[0], (void *)&arguments[1]};

	return count == 2 ? launch(2, parameters, stream) : 1;
}

static int launch_single(const int64_t *a, uint32_t count, CUstream stream)
{
	void *parameters[] = {(void *)&a[0], (void *)&a[1], (void *)&a[2], (void *)&a[3]};

	return count == 4 ? launch(3, parameters, stream) : 1;
}

ENTRY(one)
{
	return launch_single(arguments, count, stream);
}

/* A signal comes in its midst. */
ENTRY(one_signals)
{
	raise(SIGUSR1);
	return launch_single(arguments, count, stream);
}
