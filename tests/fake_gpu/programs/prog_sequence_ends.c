/*
 * Launches that rules may hold, behind the ends of contexts and modules:
 *
 *	prog_sequence_ends destroy|reset|release|unused|modules COUNT
 *
 * «destroy», «reset», «release»: a context ends in that way, with a stream that is being captured;
 * the rounds are played in the next one. «unused»: between them the primary context is reset, which
 * nobody has. «modules»: between them the code goes and comes again. It prints what was right.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __CUDA_API_VERSION_INTERNAL /* functions by the names that the driver has */
#include <cuda.h>

#include "tests/fake_gpu/programs/sequence_game.h"
#include "tests/fake_gpu/programs/sequence_kernels.h"

static CUcontext context;
static CUmodule module;
static CUfunction functions[KERNELS];
static CUstream stream;
static CUdeviceptr x, t, u, y;
static float known[WORDS];
static void *volatile place; /* for what is never given back */

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "prog_sequence_ends: %s: error %d\n", what, (int)result);
	exit(3);
}

static void load(void)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, KERNELS, sequence_kernels};

	check(cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (int i = 0; i < KERNELS; i++)
		check(cuModuleGetFunction(&functions[i], module, sequence_kernels[i].name),
		      "cuModuleGetFunction");
}

static void begin(bool primary)
{
	if (primary) {
		check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
		check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	} else {
		check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
	}
	load();
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(cuMemAlloc_v2(&x, BYTES), "cuMemAlloc");
	check(cuMemAlloc_v2(&t, BYTES), "cuMemAlloc");
	check(cuMemAlloc_v2(&u, BYTES), "cuMemAlloc");
	check(cuMemAlloc_v2(&y, BYTES), "cuMemAlloc");
	for (int i = 0; i < WORDS; i++)
		known[i] = (float)i;
	check(cuMemcpyHtoD_v2(x, known, BYTES), "cuMemcpyHtoD");
}

static void launch(int kernel, void **arguments)
{
	check(cuLaunchKernel(functions[kernel], 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL),
	      "cuLaunchKernel");
}

/* Whether what comes out of a round is right. */
static bool play_round(uint32_t salt)
{
	float wanted[WORDS], first[WORDS], got[WORDS];
	uint64_t bytes = BYTES;
	void *for_first[] = {&t, &x, &bytes, &salt};
	void *for_second[] = {&u, &t, &x, &bytes, &salt};
	void *for_third[] = {&y, &u, &bytes, &salt};

	launch(FIRST, for_first);
	launch(SECOND, for_second);
	launch(THIRD, for_third);
	check(cuMemcpyDtoHAsync_v2(got, y, BYTES, stream), "cuMemcpyDtoHAsync");
	check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	sequence_mix_all(first, known, NULL, BYTES, salt);
	sequence_mix_all(wanted, first, known, BYTES, salt);
	sequence_mix_all(wanted, wanted, NULL, BYTES, salt);
	for (int i = 0; i < WORDS; i++)
		if (wanted[i] != got[i])
			return false;
	return true;
}

/* With a stream in the midst of a capture. */
static void end_captured(const char *how)
{
	bool primary = strcmp(how, "destroy") != 0;

	begin(primary);
	check(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
	      "cuStreamBeginCapture");
	if (!primary)
		check(cuCtxDestroy_v2(context), "cuCtxDestroy");
	else if (strcmp(how, "reset") == 0)
		check(cuDevicePrimaryCtxReset_v2(0), "cuDevicePrimaryCtxReset");
	else
		check(cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease");
	begin(primary);
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0, right = 0;
	const char *how = argc == 3 ? argv[1] : "";
	bool unused = strcmp(how, "unused") == 0, modules = strcmp(how, "modules") == 0;

	if (count < 1)
		return 2;
	check(cuInit(0), "cuInit");
	if (unused || modules)
		begin(false);
	else
		end_captured(how);
	for (long i = 0; i < count; i++) {
		right += play_round((uint32_t)i);
		if (unused)
			check(cuDevicePrimaryCtxReset_v2(0), "cuDevicePrimaryCtxReset");
		if (modules) {
			check(cuModuleUnload(module), "cuModuleUnload");
			load();
			place = malloc(100 + (size_t)i * 8); /* so that functions stand elsewhere */
		}
	}
	printf("%ld\n", right);
	return 0;
}
