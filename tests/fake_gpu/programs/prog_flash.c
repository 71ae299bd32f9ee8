/*
 * Launches as FlashAttention-2 makes them in PyTorch 2.11, whose parameters are one struct by
 *value:
 *
 *	prog_flash ROUNDS
 *
 * In each of two layouts ROUNDS launches that compute, and others that each differ in one field. It
 * prints how many others a layout has.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tests/fake_gpu/common/bf16.h"
#include "tests/fake_gpu/programs/one_kernel.h"

static CUstream stream;

static void *make(size_t count, float step)
{
	CUdeviceptr memory;

	check(cuMemAlloc(&memory, count * 2), "cuMemAlloc");
	for (size_t i = 0; i < count; i++)
		bf16_store((void *)memory, (int64_t)i, step * (float)((i * 37) % 61) - 20 * step);
	return (void *)memory;
}

/* ---- what it computes ---- */

/* A field of FlashAttention-2's struct. */
static int64_t field(const unsigned char *of, unsigned offset, unsigned bytes)
{
	int64_t value = 0;

	memcpy(&value, of + offset, bytes);
	return value;
}

/* One row of scores of a query head, and what comes of it. */
static void attend_row(const unsigned char *of, int64_t b, int64_t h, int64_t i)
{
	int64_t heads = field(of, 96, 4), queries = field(of, 180, 4), keys = field(of, 184, 4);
	int64_t head = field(of, 192, 4), group = h / field(of, 104, 4);
	int64_t end = field(of, 441, 1) ? i + keys - queries + 1 : keys;
	int64_t q = b * field(of, 24, 8) + i * field(of, 48, 8) + h * field(of, 72, 8);
	int64_t out = b * field(of, 128, 8) + i * field(of, 136, 8) + h * field(of, 144, 8);
	double sum = 0, sums[256] = {0};

	for (int64_t j = 0; j < end; j++) {
		int64_t k = b * field(of, 32, 8) + j * field(of, 56, 8) + group * field(of, 80, 8);
		int64_t v = b * field(of, 40, 8) + j * field(of, 64, 8) + group * field(of, 88, 8);
		double score = 0;

		for (int64_t d = 0; d < head; d++)
			score += (double)bf16_load((void *)field(of, 0, 8), q + d) *
				 (double)bf16_load((void *)field(of, 8, 8), k + d);
		sum += exp(score);
		for (int64_t d = 0; d < head; d++)
			sums[d] += exp(score) * (double)bf16_load((void *)field(of, 16, 8), v + d);
	}
	for (int64_t d = 0; d < head; d++)
		bf16_store((void *)field(of, 112, 8), out + d, (float)(sums[d] / sum));
	((float *)field(of, 160, 8))[(b * heads + h) * queries + i] = (float)log(sum);
}

static void attention(const uint32_t grid[3], void **arguments)
{
	const unsigned char *of = arguments[0];

	if (field(of, 160, 8) == 0 || field(of, 192, 4) > 256)
		return; /* one that differs */
	for (int64_t i = 0; i < field(of, 180, 4); i++)
		for (int64_t h = 0; h < grid[2]; h++)
			for (int64_t b = 0; b < grid[1]; b++)
				attend_row(of, b, h, i);
}

/* ---- what it is launched with ---- */

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, QUERIES = 8, KEYS = 8, HEAD = 16 };
enum { PARAMETERS = 472 };

struct number {
	unsigned offset, bytes;
	int64_t value;
};

static void put(unsigned char *at, const struct number *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		memcpy(at + numbers[i].offset, &numbers[i].value, numbers[i].bytes);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define ONE_AS_FLOAT 0x3f800000

/* What both layouts have. */
static void put_common(unsigned char *at)
{
	const struct number numbers[] = {
		{0, 8, (int64_t)make((size_t)BATCH * HEADS * QUERIES * HEAD, 0.015625F)},
		{8, 8, (int64_t)make((size_t)BATCH * KV_HEADS * KEYS * HEAD, 0.015625F)},
		{16, 8, (int64_t)make((size_t)BATCH * KV_HEADS * KEYS * HEAD, 0.015625F)},
		{112, 8, (int64_t)make((size_t)BATCH * HEADS * QUERIES * HEAD, 0.015625F)},
		{160, 8, (int64_t)make((size_t)BATCH * HEADS * QUERIES * 2, 1)},
		{96, 4, HEADS},
		{100, 4, KV_HEADS},
		{104, 4, HEADS / KV_HEADS},
		{128, 8, HEADS * QUERIES * HEAD},
		{136, 8, HEADS * HEAD},
		{144, 8, HEAD},
		{176, 4, BATCH},
		{180, 4, QUERIES},
		{184, 4, KEYS},
		{192, 4, HEAD},
		{216, 4, ONE_AS_FLOAT},
		{372, 4, ONE_AS_FLOAT},
	};

	memset(at, 0, PARAMETERS);
	put(at, numbers, COUNT_OF(numbers));
}

/* Causal, the heads of a token side by side; or not, the tokens of a head. bf16. */
static void put_layout(unsigned char *at, bool tokens)
{
	const struct number of_tokens[] = {
		{24, 8, HEADS * QUERIES * HEAD},
		{32, 8, KV_HEADS * KEYS * HEAD},
		{40, 8, KV_HEADS * KEYS * HEAD},
		{48, 8, HEADS * HEAD},
		{56, 8, KV_HEADS * HEAD},
		{64, 8, KV_HEADS * HEAD},
		{72, 8, HEAD},
		{80, 8, HEAD},
		{88, 8, HEAD},
		{388, 4, KEYS},
		{392, 4, 0},
		{440, 1, 1},
		{441, 1, 1},
	};
	const struct number of_heads[] = {
		{24, 8, HEADS * QUERIES * HEAD},
		{32, 8, KV_HEADS * KEYS * HEAD},
		{40, 8, KV_HEADS * KEYS * HEAD},
		{48, 8, HEAD},
		{56, 8, HEAD},
		{64, 8, HEAD},
		{72, 8, QUERIES * HEAD},
		{80, 8, KEYS * HEAD},
		{88, 8, KEYS * HEAD},
		{388, 4, -1},
		{392, 4, -1},
		{440, 1, 1},
		{441, 1, 0},
	};

	put(at, tokens ? of_tokens : of_heads, COUNT_OF(of_tokens));
}

static void attend(CUfunction function, unsigned char *struct_bytes)
{
	void *arguments[] = {struct_bytes};

	check(cuLaunchKernel(function, 1, BATCH, HEADS, 128, 1, 1, 0, stream, arguments, NULL),
	      "cuLaunchKernel");
}

static size_t flash(CUfunction function, unsigned rounds)
{
	static const struct number others[] = {
		{24, 8, 7},
		{72, 8, 7},
		{104, 4, 1},
		{120, 8, 64},
		{136, 8, 7},
		{160, 8, 0},
		{168, 8, 64},
		{192, 4, 512},
		{224, 8, 64},
		{232, 8, 64},
		{240, 8, 64},
		{248, 8, 64},
		{256, 8, 64},
		{264, 8, 64},
		{272, 8, 64},
		{328, 8, 64},
		{336, 8, 64},
		{344, 8, 64},
		{352, 8, 64},
		{372, 4, 1},
		{388, 4, 3},
		{392, 4, 3},
		{396, 4, ONE_AS_FLOAT},
		{440, 1, 2},
		{441, 1, 2},
		{444, 4, 2},
		{448, 8, 64},
		{464, 1, 1},
		{465, 1, 1},
	};
	unsigned char base[PARAMETERS], other[PARAMETERS];
	put_common(base);
	for (int layout = 0; layout < 2; layout++) {
		put_layout(base, layout == 0);
		for (unsigned i = 0; i < rounds; i++)
			attend(function, base);
		for (size_t i = 0; i < COUNT_OF(others); i++) {
			memcpy(other, base, sizeof(other));
			put(other, &others[i], 1);
			attend(function, other);
		}
	}
	return COUNT_OF(others);
}

int main(int argc, char **argv)
{
	const struct kp_fake_kernel kernel = {
		.name = "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64EN7"
			"cutlass10bfloat16_tEEEEvNS_16Flash_fwd_paramsE",
		.duration_ns = 4000,
		.compute = attention,
		.parameter_count = 1,
		.parameter_bytes = {472}};
	const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUfunction function;
	CUmodule module;

	if (argc != 2)
		return 2;
	begin_cuda();
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	check(cuModuleGetFunction(&function, module, kernel.name), "function");
	printf("%zu\n", flash(function, (unsigned)atoi(argv[1])));
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
