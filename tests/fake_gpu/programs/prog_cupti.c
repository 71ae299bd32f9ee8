/*
 * A program that is a CUPTI client itself, as programs with a built-in profiler are: it takes its
 * records by CUPTI's activity API before it uses CUDA, and says how many it got.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>
#include <cupti.h>

#include "tests/fake_gpu/common/image.h"

#define LAUNCHES 12
#define BUFFER_BYTES 65536

/* X(name without the prefix): the functions of CUPTI that this program uses. */
#define FUNCTIONS(X)                                                                               \
	X(Subscribe)                                                                               \
	X(ActivityRegisterCallbacks)                                                               \
	X(ActivityEnable)                                                                          \
	X(ActivityFlushAll)                                                                        \
	X(ActivityGetNextRecord)

static struct {
#define MEMBER(name) __typeof__(cupti##name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

static int records;

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*bytes = BUFFER_BYTES;
	*max_records = 0;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid_bytes)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (cupti.ActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
		records += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(buffer);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void require(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_cupti: %s: error %d\n", what, result);
	exit(3);
}

static void bind(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	require(library ? 0 : -1, "libcupti.so.13");
#define BIND(name)                                                                                 \
	*(void **)&cupti.name = dlsym(library, "cupti" #name);                                     \
	require(cupti.name ? 0 : -1, #name);
	FUNCTIONS(BIND)
#undef BIND
}

int main(void)
{
	struct kp_fake_kernel kernel = {.name = "own_client", .duration_ns = 500};
	struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUpti_SubscriberHandle subscriber;
	CUfunction function;
	CUcontext context;
	CUmodule module;

	bind();
	require((int)cupti.Subscribe(&subscriber, callback, NULL), "cuptiSubscribe");
	require((int)cupti.ActivityRegisterCallbacks(request, complete),
		"cuptiActivityRegisterCallbacks");
	require((int)cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
		"cuptiActivityEnable");
	require((int)cuInit(0), "cuInit");
	require((int)cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	require((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	require((int)cuModuleLoadData(&module, &image), "cuModuleLoadData");
	require((int)cuModuleGetFunction(&function, module, kernel.name), "cuModuleGetFunction");
	for (int i = 0; i < LAUNCHES; i++)
		require((int)cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
			"cuLaunchKernel");
	require((int)cuCtxSynchronize(), "cuCtxSynchronize");
	require((int)cupti.ActivityFlushAll(0), "cuptiActivityFlushAll");
	printf("%d launches, %d records of my own\n", LAUNCHES, records);
	return 0;
}
