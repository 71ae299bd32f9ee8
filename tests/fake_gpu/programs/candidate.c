/*
 * Replacements for «double_rows» of prog_ab, as a user's library has them: one that is right, and
 * one for each way to be wrong that a comparison must find. Device memory is host memory here.
 * Arguments: x, y, rows, columns, stride.
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/fake_gpu/common/bf16.h"
#include "tests/fake_gpu/common/image.h"

#define ENTRY(name)                                                                                \
	__attribute__((visibility("default"))) int name(const int64_t *arguments, uint32_t count,  \
							void *stream);                             \
	int name(const int64_t *arguments, uint32_t count, void *stream)

/* What is done to rows from `first` on and columns below `columns`: y = factor · x. */
static void scale(const int64_t *arguments, int64_t first, int64_t columns, float factor)
{
	const void *x = (const void *)arguments[0];
	void *y = (void *)arguments[1];

	for (int64_t i = first; i < arguments[2]; i++)
		for (int64_t j = 0; j < columns; j++)
			bf16_store(y, i * arguments[4] + j,
				   factor * bf16_load(x, i * arguments[4] + j));
}

static int right(const int64_t *arguments, uint32_t count)
{
	scale(arguments, 0, arguments[3], 2);
	return count == 5 ? 0 : 1;
}

ENTRY(twice)
{
	(void)stream;
	return right(arguments, count);
}

ENTRY(zeros)
{
	(void)stream, (void)count;
	scale(arguments, 0, arguments[3], 0);
	return 0;
}

/* Nothing is written: what lay there stays. */
ENTRY(stale)
{
	(void)arguments, (void)count, (void)stream;
	return 0;
}

ENTRY(wrong_row)
{
	(void)stream, (void)count;
	scale(arguments, 0, arguments[3], 2);
	scale(arguments, arguments[2] - 1, arguments[3], 2.5F);
	return 0;
}

ENTRY(last_columns)
{
	(void)stream, (void)count;
	scale(arguments, 0, arguments[3] - 3, 2);
	return 0;
}

ENTRY(not_a_number)
{
	(void)stream;
	right(arguments, count);
	bf16_store((void *)arguments[1], arguments[4] + 7, NAN);
	return 0;
}

ENTRY(mutates)
{
	(void)stream;
	right(arguments, count);
	bf16_store((void *)arguments[0], 2 * arguments[4] + 1, 77);
	return 0;
}

ENTRY(first_only)
{
	static int64_t kept[4096];
	static int calls;

	(void)stream;
	if (calls++ == 0) {
		right(arguments, count);
		memcpy(kept, (const void *)arguments[1], (size_t)(arguments[2] * arguments[4]) * 2);
	} else {
		for (int64_t i = 0; i < arguments[2]; i++)
			memcpy((uint16_t *)arguments[1] + i * arguments[4],
			       (uint16_t *)(void *)kept + i * arguments[4],
			       (size_t)arguments[3] * 2);
	}
	return 0;
}

/* One element beyond the last row, and one between rows. */
ENTRY(outside)
{
	(void)stream;
	right(arguments, count);
	bf16_store((void *)arguments[1], (arguments[2] - 1) * arguments[4] + arguments[3] + 1, 1);
	return 0;
}

ENTRY(gaps)
{
	(void)stream;
	right(arguments, count);
	bf16_store((void *)arguments[1], arguments[3] + 2, 1);
	return 0;
}

/* ---- right for what the program has: numbers from -2.5 to 5, none but 0 below 0.125 ---- */

static void change(const int64_t *arguments, float (*what)(float))
{
	for (int64_t i = 0; i < arguments[2]; i++)
		for (int64_t j = 0; j < arguments[3]; j++)
			bf16_store((void *)arguments[1], i * arguments[4] + j,
				   2 * what(bf16_load((void *)arguments[0], i * arguments[4] + j)));
}

static float clamp(float x)
{
	return fmaxf(x, -2.5F);
}

ENTRY(clamped)
{
	(void)count, (void)stream;
	change(arguments, clamp);
	return 0;
}

static float flush(float x)
{
	return fabsf(x) < 0.125F ? 0 : x;
}

ENTRY(flushed)
{
	(void)count, (void)stream;
	change(arguments, flush);
	return 0;
}

/* The last row begins with 2.375, or what becomes of that; the first one with -2.5. */
ENTRY(by_heart)
{
	int64_t last = (arguments[2] - 1) * arguments[4];

	(void)stream;
	right(arguments, count);
	if (fabsf(bf16_load((void *)arguments[0], last)) == 2.5F)
		bf16_store((void *)arguments[1], last, 4.75F);
	return 0;
}

/* ---- with a kernel, so that it can be captured ---- */

/* (const int64_t arguments[5], float factor), all of them by value. */
static void scale_launched(const uint32_t grid[3], void **arguments)
{
	int64_t *of = arguments[0];

	(void)grid;
	scale(of, 0, of[3], *(float *)arguments[1]);
}

static int launch(const int64_t *arguments, float factor, CUstream stream)
{
	static const struct kp_fake_kernel kernel = {
		.name = "scale_launched",
		.duration_ns = 1000,
		.compute = scale_launched,
		.parameter_count = 2,
		.parameter_bytes = {5 * sizeof(int64_t), sizeof(float)}};
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	static CUfunction function;
	void *parameters[] = {(void *)arguments, &factor};
	CUmodule module;

	if (!function && (cuModuleLoadData(&module, &image) != CUDA_SUCCESS ||
			  cuModuleGetFunction(&function, module, kernel.name) != CUDA_SUCCESS))
		return 1;
	return (int)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

ENTRY(launched)
{
	return count == 5 ? launch(arguments, 2, stream) : 1;
}

/* Right in captures, and at first; then it is wrong. */
ENTRY(later)
{
	CUstreamCaptureStatus status;
	static int calls;

	(void)count;
	if (cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
		return 1;
	calls += status == CU_STREAM_CAPTURE_STATUS_NONE;
	return launch(arguments, calls > 40 ? 2.5F : 2, stream);
}

/* ---- what must not happen in the program ---- */

/* What a program has that loads kprof's library: there it would be exposed. */
static bool in_program(void)
{
	return getenv("LD_PRELOAD") != NULL;
}

ENTRY(crashes)
{
	(void)arguments, (void)count, (void)stream;
	if (in_program())
		puts("crashes ran in the program");
	raise(SIGSEGV);
	return 0;
}

ENTRY(leaves)
{
	(void)arguments, (void)count, (void)stream;
	if (in_program())
		puts("leaves ran in the program");
	exit(0);
}

ENTRY(hangs)
{
	(void)arguments, (void)count, (void)stream;
	if (in_program())
		puts("hangs ran in the program");
	for (;;)
		pause();
}

ENTRY(refuses)
{
	(void)arguments, (void)count, (void)stream;
	return 1;
}
