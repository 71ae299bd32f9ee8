/*
 * The floor that kprof is measured against: CUPTI's kernel records and nothing else.
 *
 * An injection library (CUDA_INJECTION64_PATH) that enables CONCURRENT_KERNEL, hands out buffers of
 * 8 MiB and throws them away when they come back. It takes the same libcupti as kprof would, by
 * kprof's own search. At the end it says on stderr how many bytes of records came, so that a run in
 * which nothing was recorded is not taken for a fast one. A measuring device, not a tool: where it
 * fails it says so and the program runs bare.
 *
 * Threading: CUPTI calls back from any thread; the count is atomic.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "inject/cupti.h"
#include "inject/hooks.h"

#define BUFFER_BYTES (8U << 20)
#define ALIGNMENT 64

__attribute__((visibility("default"))) int InitializeInjection(void);

static struct kp_cupti cupti;
static _Atomic unsigned long long bytes_seen;

/* kprof looks CUPTI's functions up past its own hooks; here there are none. */
void *kp_hooks_lookup(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid_bytes)
{
	(void)context;
	(void)stream;
	(void)size;
	atomic_fetch_add(&bytes_seen, valid_bytes);
	free(buffer);
}

static void finish(void)
{
	cupti.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	fprintf(stderr, "raw_cupti: %llu bytes of records, CUPTI %u, %s\n",
		atomic_load(&bytes_seen), cupti.version, cupti.path);
}

static bool bind_cupti(void)
{
	const char *only = getenv("KPROF_CUPTI");
	char path[PATH_MAX];

	for (unsigned i = 0; kp_cupti_candidate(i, only ? only : "", path); i++)
		if (kp_cupti_bind(&cupti, path))
			return true;
	return false;
}

int InitializeInjection(void)
{
	static _Atomic bool started;
	CUptiResult result;

	if (atomic_exchange(&started, true))
		return 1;
	if (!bind_cupti()) {
		fputs("raw_cupti: no libcupti\n", stderr);
		return 1;
	}
	result = cupti.ActivityRegisterCallbacks(request, complete);
	if (result == CUPTI_SUCCESS)
		result = cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (result == CUPTI_SUCCESS)
		atexit(finish);
	else
		fprintf(stderr, "raw_cupti: %s\n", kp_cupti_word(&cupti, result));
	return 1;
}
