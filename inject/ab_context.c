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
#include "inject/floats.h"

#define MODULE_BYTES_MOST ((size_t)256 << 20)
#define LINE_BYTES 256U
#define TOLD_BYTES 64U

/* DOUBTED: READY, but perhaps about to go. */
enum state { EMPTY, MAKING, READY, DOUBTED, FAILED, GONE };

static struct kp_ab_context contexts[KP_AB_CONTEXTS_MOST];
static _Atomic uint32_t streams_gone;
/* Of these, such as were not looked for in the workspaces, one of which they may still work in. */
static _Atomic uint32_t streams_missed;

uint32_t kp_ab_streams_gone(void)
{
	return atomic_load(&streams_gone);
}

/* ---- memory ---- */

uint64_t kp_ab_context_memory(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			      size_t bytes)
{
	CUstreamCaptureMode mode;
	CUdeviceptr memory = 0;
	bool good;

	if (bytes > KP_AB_MEMORY_MOST)
		return 0;
	good = atomic_fetch_add(&context->taken, bytes) <= KP_AB_MEMORY_MOST - bytes &&
	       kp_ab_driver_relax(driver, &mode);
	if (good) {
		good = driver->memory(&memory, bytes) == CUDA_SUCCESS;
		kp_ab_driver_restore(driver, &mode);
	}
	if (!good)
		atomic_fetch_sub(&context->taken, bytes);
	return good ? memory : 0;
}

static size_t rounded(size_t bytes)
{
	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* What one name means in each thread is a stream of its own in each: so threads are numbered. */
static uint64_t key_of(CUstream stream)
{
	static _Atomic uint64_t threads;
	static _Thread_local uint64_t number __attribute__((tls_model("initial-exec")));

	if (stream == CU_STREAM_LEGACY)
		return 0; /* as without a name */
	if (stream != CU_STREAM_PER_THREAD)
		return (uintptr_t)stream;
	if (!number)
		number = atomic_fetch_add(&threads, 1) << 1 | 1; /* no address */
	return number;
}

/* That of a stream; NULL: there is none, or work of a stream that has gone may still be in it. */
static struct kp_ab_workspace *find_workspace(struct kp_ab_context *context, uint64_t stream)
{
	uint32_t missed = atomic_load(&streams_missed);

	for (uint32_t i = 0; i < context->workspace_count; i++)
		if (context->workspaces[i].stream == stream &&
		    context->workspaces[i].missed == missed)
			return &context->workspaces[i];
	return NULL;
}

bool kp_ab_context_workspace(struct kp_ab_context *context, const struct kp_ab_driver *driver,
			     CUstream stream, size_t bytes, uint64_t *out)
{
	struct kp_ab_workspace taken = {.stream = key_of(stream),
					.missed = atomic_load(&streams_missed)};
	struct kp_ab_workspace *found;
	CUstreamCaptureMode mode;

	*out = 0;
	bytes = rounded(bytes);
	if (bytes == 0)
		return true;
	found = find_workspace(context, taken.stream);
	if (!found && context->workspace_count == KP_AB_WORKSPACES)
		return false;
	if (!found || found->bytes < bytes) {
		if (!kp_ab_driver_relax(driver, &mode))
			return false;
		taken.memory = kp_ab_context_take(context, driver, 2 * bytes, &taken.bytes);
		kp_ab_driver_restore(driver, &mode);
		if (!taken.memory)
			return false;
		found = found ? found : &context->workspaces[context->workspace_count++];
		*found = taken;
	}
	*out = found->memory;
	return true;
}

/* Events of memory that is nobody's any more; several pieces may be behind one. */
static void end_event(struct kp_ab_context *context, const struct kp_ab_driver *driver,
		      CUevent event)
{
	for (uint32_t i = 0; i < context->spare_count; i++)
		if (context->spares[i].behind == event)
			return;
	if (event)
		driver->destroy_event(event);
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
		end_event(context, driver, spare.behind);
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
	CUstreamCaptureMode mode;
	int error = errno, driver_error;
	bool good;

	if (!kp_ab_driver_relax(driver, &mode))
		return false;
	good = candidates->create(&for_kernels, &context->set, &driver_error) == KP_OK;
	for (uint32_t i = 0; good && i < plan->header->rules.count; i++)
		if (plan->rules[i].replace == KP_AB_REPLACE_MODULE)
			context->functions[i] = load_module(plan, &plan->rules[i], driver);
	kp_ab_driver_restore(driver, &mode);
	errno = error;
	return good;
}

static struct kp_ab_context *make(CUcontext handle, uint64_t id, const struct kp_ab_plan *plan,
				  const struct kp_candidates *candidates,
				  const struct kp_ab_driver *driver)
{
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++) {
		struct kp_ab_context *context = &contexts[i];
		uint32_t expected = EMPTY;
		bool good;

		if (!atomic_compare_exchange_strong(&context->state, &expected, MAKING))
			continue;
		context->id = id;
		atomic_store(&context->handle, handle);
		good = driver->device(&context->device) == CUDA_SUCCESS &&
		       load_code(context, plan, candidates, driver);
		atomic_store(&context->state, good ? READY : FAILED);
		return good ? context : NULL;
	}
	return NULL;
}

struct kp_ab_context *kp_ab_context_get(const struct kp_ab_plan *plan,
					const struct kp_candidates *candidates,
					const struct kp_ab_driver *driver)
{
	unsigned long long id = 0;
	CUcontext handle = NULL;

	if (driver->context(&handle) != CUDA_SUCCESS || !handle ||
	    driver->context_id(NULL, &id) != CUDA_SUCCESS)
		return NULL;
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++) {
		uint32_t state = atomic_load(&contexts[i].state);

		if (state == EMPTY || state == GONE || atomic_load(&contexts[i].handle) != handle)
			continue;
		if (state == MAKING || contexts[i].id == id)
			return state == READY ? &contexts[i] : NULL;
		/* One that went unseen, as green contexts do. */
		kp_ab_graphs_context_gone(handle);
		atomic_store(&contexts[i].state, GONE);
	}
	return make(handle, id, plan, candidates, driver);
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

/* ---- contexts and streams that go ---- */

static bool is_there(const struct kp_ab_context *context)
{
	uint32_t state = atomic_load(&context->state);

	return state == READY || state == DOUBTED;
}

/* What is timed, before it goes with its context; only tried. */
static void harvest(struct kp_ab_context *context)
{
	CUstreamCaptureMode mode;
	struct kp_floats floats;

	if (atomic_load(&context->state) != READY || pthread_mutex_trylock(&kp_ab.rare) != 0)
		return;
	kp_floats_hold(&floats);
	if (kp_ab_driver_relax(&kp_ab.driver, &mode)) {
		kp_ab_times_harvest(context);
		kp_ab_driver_restore(&kp_ab.driver, &mode);
	}
	kp_floats_let(&floats);
	pthread_mutex_unlock(&kp_ab.rare);
}

void kp_ab_context_goes(CUcontext handle)
{
	if (!handle || !kp_ab_is_on())
		return;
	kp_ab_graphs_context_gone(handle);
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++)
		if (atomic_load(&contexts[i].state) != EMPTY &&
		    atomic_load(&contexts[i].handle) == handle) {
			harvest(&contexts[i]);
			atomic_store(&contexts[i].state, GONE);
		}
}

/* Which of a GPU's contexts is its primary one is not known: all of them may be about to go. */
static void doubt(CUdevice device)
{
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++) {
		uint32_t ready = READY;

		if (!is_there(&contexts[i]) || contexts[i].device != device)
			continue;
		harvest(&contexts[i]);
		atomic_compare_exchange_strong(&contexts[i].state, &ready, DOUBTED);
	}
}

/* Where that cannot be told, a GPU has one. */
static bool has_primary(CUdevice device)
{
	unsigned flags = 0;
	int active = 0;

	return kp_ab.driver.primary_state(device, &flags, &active) != CUDA_SUCCESS || active;
}

void kp_ab_primary_goes(CUdevice device)
{
	if (!kp_ab_is_on() || !has_primary(device))
		return;
	kp_ab_graphs_context_gone(NULL);
	doubt(device);
}

void kp_ab_primary_releases(CUdevice device)
{
	if (kp_ab_is_on())
		doubt(device);
}

/* Of a handle nothing is asked where the primary context has gone: it may be that one's. */
static bool lives_on(const struct kp_ab_context *context)
{
	unsigned long long id = 0;
	unsigned flags = 0;
	int active = 0;

	return kp_ab.driver.primary_state(context->device, &flags, &active) == CUDA_SUCCESS &&
	       active &&
	       kp_ab.driver.context_id(atomic_load(&context->handle), &id) == CUDA_SUCCESS &&
	       id == context->id;
}

void kp_ab_primary_released(CUdevice device)
{
	for (size_t i = 0; kp_ab_is_on() && i < KP_AB_CONTEXTS_MOST; i++) {
		uint32_t doubted = DOUBTED;

		if (atomic_load(&contexts[i].state) != DOUBTED || contexts[i].device != device)
			continue;
		if (lives_on(&contexts[i])) {
			atomic_compare_exchange_strong(&contexts[i].state, &doubted, READY);
			continue;
		}
		kp_ab_graphs_context_gone(atomic_load(&contexts[i].handle));
		atomic_store(&contexts[i].state, GONE);
	}
}

/* Behind what the stream still has to do. False: that cannot be told. */
static bool give_workspace(struct kp_ab_context *context, uint32_t i, CUstream stream)
{
	const struct kp_ab_workspace left = context->workspaces[i];
	CUcontext current = NULL;
	CUevent behind = NULL;

	if (kp_ab.driver.context(&current) != CUDA_SUCCESS ||
	    current != atomic_load(&context->handle) ||
	    kp_ab.driver.event(&behind, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return false;
	if (kp_ab.driver.record(behind, stream) != CUDA_SUCCESS) {
		kp_ab.driver.destroy_event(behind);
		return false;
	}
	context->workspaces[i] = context->workspaces[--context->workspace_count];
	kp_ab_context_give(context, left.memory, left.bytes, behind);
	return true;
}

/* With the mutex. False: a workspace is left that the stream may still work in. */
static bool leave_workspaces(CUstream stream)
{
	CUstreamCaptureMode mode;
	bool good = true;

	if (!kp_ab_driver_relax(&kp_ab.driver, &mode))
		return false;
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++)
		for (uint32_t j = is_there(&contexts[i]) ? contexts[i].workspace_count : 0; j; j--)
			if (contexts[i].workspaces[j - 1].stream == key_of(stream))
				good &= give_workspace(&contexts[i], j - 1, stream);
	kp_ab_driver_restore(&kp_ab.driver, &mode);
	return good;
}

void kp_ab_stream_goes(CUstream stream, bool captured)
{
	bool good = false;

	atomic_fetch_add_explicit(&streams_gone, 1, memory_order_relaxed);
	if (!kp_ab_is_on())
		return;
	if (!captured && pthread_mutex_trylock(&kp_ab.rare) == 0) {
		good = leave_workspaces(stream);
		pthread_mutex_unlock(&kp_ab.rare);
	}
	if (!good)
		atomic_fetch_add(&streams_missed, 1);
}

void kp_ab_contexts_forget(void)
{
	memset(contexts, 0, sizeof(contexts));
}
