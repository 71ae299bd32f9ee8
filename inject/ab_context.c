/* Code and memory in the program's contexts; see ab_context.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_context.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/ab_graph.h"
#include "inject/ab_state.h"

#define MODULE_BYTES_MOST ((size_t)256 << 20)
#define LINE_BYTES 256U
#define TOLD_BYTES 64U

enum state { EMPTY, MAKING, READY, FAILED, GONE };

static struct kp_ab_context contexts[KP_AB_CONTEXTS_MOST];
static _Atomic uint32_t streams; /* changes with each stream that goes */

void kp_ab_streams_changed(void)
{
	atomic_fetch_add_explicit(&streams, 1, memory_order_relaxed);
}

/* ---- memory ---- */

uint64_t kp_ab_context_memory(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			      size_t bytes)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr memory = 0;
	bool good;

	if (bytes > KP_AB_MEMORY_MOST)
		return 0;
	good = atomic_fetch_add(&context->taken, bytes) <= KP_AB_MEMORY_MOST - bytes &&
	       driver->exchange_capture_mode(&mode) == CUDA_SUCCESS;
	if (good) {
		good = driver->memory(&memory, bytes) == CUDA_SUCCESS;
		driver->exchange_capture_mode(&mode);
	}
	if (!good)
		atomic_fetch_sub(&context->taken, bytes);
	return good ? memory : 0;
}

static size_t rounded(size_t bytes)
{
	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

bool kp_ab_context_workspace(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			     CUstream stream, size_t bytes, uint64_t *out)
{
	uint32_t i = 0, now = atomic_load(&streams);

	*out = 0;
	bytes = rounded(bytes);
	if (bytes == 0)
		return true;
	/* What a stream that went left running may still use the memory of its handle. */
	while (i < context->workspace_count &&
	       (context->workspaces[i].stream != stream || context->workspaces[i].streams != now))
		i++;
	if (i == KP_AB_WORKSPACES)
		return false;
	if (i == context->workspace_count || context->workspaces[i].bytes < bytes) {
		uint64_t memory = kp_ab_context_memory(context, driver, 2 * bytes);

		if (!memory)
			return false;
		context->workspaces[i].stream = stream;
		context->workspaces[i].streams = now;
		context->workspaces[i].memory = memory;
		context->workspaces[i].bytes = 2 * bytes;
		if (i == context->workspace_count)
			context->workspace_count++;
	}
	*out = context->workspaces[i].memory;
	return true;
}

uint64_t kp_ab_context_take(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			    size_t bytes, size_t *got)
{
	for (uint32_t i = 0; i < context->spare_count; i++) {
		const struct kp_ab_spare spare = context->spares[i];

		if (spare.bytes < bytes || spare.bytes > 4 * rounded(bytes) ||
		    (spare.behind && driver->query(spare.behind) != CUDA_SUCCESS))
			continue;
		context->spares[i] = context->spares[--context->spare_count];
		*got = spare.bytes;
		return spare.memory;
	}
	*got = rounded(bytes);
	return kp_ab_context_memory(context, driver, *got);
}

void kp_ab_context_give(struct kp_ab_context *context, uint64_t memory, size_t bytes,
			CUevent behind)
{
	if (context->spare_count < KP_AB_SPARES)
		context->spares[context->spare_count++] =
			(struct kp_ab_spare){memory, bytes, behind};
}

/* Results in the device, and memory of the host's own to which they come. */
static bool make_results(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			 struct kp_ab_slot *slot)
{
	size_t bytes = sizeof(struct kp_ab_result) + TOLD_BYTES;
	int error = errno;
	void *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = error;
	if (host == MAP_FAILED)
		return false;
	slot->device = kp_ab_context_memory(context, driver, bytes);
	if (!slot->device || driver->pin(host, bytes, 0) != CUDA_SUCCESS) { /* in relaxed mode */
		munmap(host, bytes);
		errno = error;
		return false;
	}
	slot->host = host;
	slot->told = (const volatile uint32_t *)((const char *)host + sizeof(struct kp_ab_result));
	return true;
}

struct kp_ab_slot *kp_ab_context_slot(struct kp_ab_context *context,
				      const struct kp_ab_driver *driver, size_t bytes)
{
	for (size_t i = 0; i < KP_AB_SLOTS; i++) {
		struct kp_ab_slot *slot = &context->slots[i];
		uint32_t expected = 0;

		if (!atomic_compare_exchange_strong(&slot->busy, &expected, 1))
			continue;
		if (!slot->host && !make_results(context, driver, slot))
			return NULL; /* it stays busy: there is no memory */
		if (slot->memory_bytes < bytes) {
			slot->memory = kp_ab_context_memory(context, driver, bytes + bytes / 4);
			slot->memory_bytes = slot->memory ? bytes + bytes / 4 : 0;
		}
		if (slot->memory_bytes >= bytes)
			return slot;
		atomic_store(&slot->busy, 0);
		return NULL;
	}
	return NULL;
}

/* ---- code ---- */

/* The bytes of a file, with a NUL behind them, mapped for good; NULL: it cannot be read. */
static void *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	char *bytes = MAP_FAILED;
	size_t length = 0;
	ssize_t got;

	if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0 &&
	    (size_t)about.st_size < MODULE_BYTES_MOST)
		bytes = mmap(NULL, (size_t)about.st_size + 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (bytes != MAP_FAILED && length < (size_t)about.st_size &&
	       (got = read(fd, bytes + length, (size_t)about.st_size - length)) > 0)
		length += (size_t)got;
	if (fd >= 0)
		close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* A kernel of the user's; NULL: it cannot be loaded, and the rule says so. */
static CUfunction load_module(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule,
			      const struct kp_ab_driver *driver)
{
	void *bytes = map_file(plan->texts + rule->file), *library, *kernel;
	CUfunction function = NULL;

	if (!bytes || driver->library_load(&library, bytes, NULL, NULL, 0, NULL, NULL, 0) ||
	    driver->library_kernel(&kernel, library, plan->texts + rule->symbol) ||
	    driver->kernel_function(&function, kernel))
		return NULL;
	return function;
}

static bool load_code(struct kp_ab_context *context, const struct kp_ab_plan *plan,
		      const struct kp_candidates *candidates, const struct kp_ab_driver *driver)
{
	const struct kp_kernels_driver for_kernels = kp_ab_driver_for_kernels(driver);
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int error = errno, driver_error;
	bool good;

	if (driver->exchange_capture_mode(&mode) != CUDA_SUCCESS)
		return false;
	good = candidates->create(&for_kernels, &context->set, &driver_error) == KP_OK;
	for (uint32_t i = 0; good && i < plan->header->rules.count; i++)
		if (plan->rules[i].replace == KP_AB_REPLACE_MODULE)
			context->functions[i] = load_module(plan, &plan->rules[i], driver);
	driver->exchange_capture_mode(&mode);
	errno = error;
	return good;
}

static struct kp_ab_context *make(CUcontext handle, const struct kp_ab_plan *plan,
				  const struct kp_candidates *candidates,
				  const struct kp_ab_driver *driver)
{
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++) {
		struct kp_ab_context *context = &contexts[i];
		uint32_t expected = EMPTY;
		bool good;

		if (!atomic_compare_exchange_strong(&context->state, &expected, MAKING))
			continue;
		atomic_store(&context->handle, handle);
		good = load_code(context, plan, candidates, driver);
		atomic_store(&context->state, good ? READY : FAILED);
		return good ? context : NULL;
	}
	return NULL;
}

struct kp_ab_context *kp_ab_context_get(const struct kp_ab_plan *plan,
					const struct kp_candidates *candidates,
					const struct kp_ab_driver *driver)
{
	CUcontext handle = NULL;

	if (driver->context(&handle) != CUDA_SUCCESS || !handle)
		return NULL;
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++) {
		uint32_t state = atomic_load(&contexts[i].state);

		if (state == GONE || atomic_load(&contexts[i].handle) != handle)
			continue;
		if (state != EMPTY)
			return state == READY ? &contexts[i] : NULL;
	}
	return make(handle, plan, candidates, driver);
}

struct kp_ab_context *kp_ab_context_find(CUcontext handle)
{
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++)
		if (atomic_load(&contexts[i].state) == READY &&
		    atomic_load(&contexts[i].handle) == handle)
			return &contexts[i];
	return NULL;
}

struct kp_ab_context *kp_ab_context_at(size_t i)
{
	return atomic_load(&contexts[i].state) == READY ? &contexts[i] : NULL;
}

void kp_ab_context_gone(CUcontext handle)
{
	bool locked = kp_ab_is_on() && pthread_mutex_trylock(&kp_ab.rare) == 0;

	kp_ab_graphs_context_gone(handle);
	for (size_t i = 0; locked && i < KP_AB_CONTEXTS_MOST; i++)
		if (atomic_load(&contexts[i].state) == READY &&
		    (!handle || atomic_load(&contexts[i].handle) == handle))
			kp_ab_times_harvest(&contexts[i]);
	if (locked)
		pthread_mutex_unlock(&kp_ab.rare);
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++)
		if (atomic_load(&contexts[i].state) != EMPTY &&
		    (!handle || atomic_load(&contexts[i].handle) == handle))
			atomic_store(&contexts[i].state, GONE);
}

void kp_ab_contexts_forget(void)
{
	memset(contexts, 0, sizeof(contexts));
}
