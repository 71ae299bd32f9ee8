/* Hashes of modules; see ab_modules.h. One mutex; nothing in it waits for the driver's work. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_modules.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/ab_state.h"
#include "inject/hooks.h"
#include "trace/image_hash.h"

#define LOADED_MOST 4096U
#define SEEN_MOST 64U

/* `derived`: a module that the driver made of a library, found out by one of its kernels. */
struct loaded {
	const void *handle;
	uint64_t hash;
	bool derived;
};

struct seen {
	uint32_t rule;
	uint64_t hash;
	bool fits;
};

static _Atomic bool asked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded loaded[LOADED_MOST];
static uint32_t loaded_count;
static struct seen seen[SEEN_MOST];
static uint32_t seen_count, written;
static CUresult(CUDAAPI *function_module)(CUmodule *, CUfunction);
static CUresult(CUDAAPI *kernel_library)(void **, void *);

void kp_ab_modules_start(const struct kp_ab_plan *plan)
{
	bool asks = false;

	for (uint32_t i = 0; i < plan->header->rules.count; i++)
		asks |= plan->rules[i].module != 0;
	*(void **)&function_module = kp_hooks_driver_symbol("cuFuncGetModule");
	*(void **)&kernel_library = kp_hooks_driver_symbol("cuKernelGetLibrary");
	atomic_store(&asked, asks);
}

void kp_ab_modules_forget(void)
{
	atomic_store(&asked, false);
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	loaded_count = seen_count = written = 0;
}

/* With the lock. A handle that comes again is another module's. */
static void note(const void *handle, uint64_t hash, bool derived)
{
	uint32_t i = 0;

	while (i < loaded_count && loaded[i].handle != handle)
		i++;
	if (i == LOADED_MOST)
		return;
	loaded[i] = (struct loaded){handle, hash, derived};
	if (i == loaded_count)
		loaded_count++;
}

static void put(const void *handle, uint64_t hash)
{
	pthread_mutex_lock(&lock);
	note(handle, hash, false);
	pthread_mutex_unlock(&lock);
}

void kp_ab_modules_loaded(const void *handle, const void *image)
{
	if (atomic_load_explicit(&asked, memory_order_relaxed))
		put(handle, kp_image_hash(image));
}

void kp_ab_modules_loaded_file(const void *handle, const char *path)
{
	int error = errno, fd;
	struct stat about;
	void *bytes = MAP_FAILED;

	if (!atomic_load_explicit(&asked, memory_order_relaxed))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0)
		bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	put(handle, bytes == MAP_FAILED ? 0 : kp_image_hash_of(bytes, (size_t)about.st_size));
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)about.st_size);
	errno = error;
}

/* What the driver made of libraries goes with them. */
void kp_ab_modules_anew(void)
{
	uint32_t kept = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < loaded_count; i++)
		if (!loaded[i].derived)
			loaded[kept++] = loaded[i];
	loaded_count = kept;
	pthread_mutex_unlock(&lock);
}

/* With the lock. */
static uint64_t look_up(const void *handle)
{
	for (uint32_t i = 0; i < loaded_count; i++)
		if (loaded[i].handle == handle)
			return loaded[i].hash;
	return 0;
}

/*
 * A kernel knows its library; a function knows its module, which is one that was loaded, or one
 * that the driver made of a library: then a kernel has told of it before.
 */
uint64_t kp_ab_modules_of(CUfunction handle, CUfunction function)
{
	void *library = NULL;
	CUmodule module = NULL;
	uint64_t hash = 0;

	if (handle != function && kernel_library &&
	    kernel_library(&library, (void *)handle) != CUDA_SUCCESS)
		library = NULL;
	if (function_module && function_module(&module, function) != CUDA_SUCCESS)
		module = NULL;
	pthread_mutex_lock(&lock);
	if (library)
		hash = look_up(library);
	if (hash && module)
		note(module, hash, true);
	if (!hash && module)
		hash = look_up(module);
	pthread_mutex_unlock(&lock);
	return hash;
}

void kp_ab_modules_seen(uint32_t rule, uint64_t hash, bool fits)
{
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < seen_count && (seen[i].rule != rule || seen[i].hash != hash))
		i++;
	if (i < SEEN_MOST && i == seen_count)
		seen[seen_count++] = (struct seen){rule, hash, fits};
	pthread_mutex_unlock(&lock);
}

void kp_ab_modules_write(void)
{
	pthread_mutex_lock(&lock);
	for (; written < seen_count; written++)
		kp_ab_write("{\"module\":{\"rule\":%u,\"hash\":\"%016llx\",\"fits\":%s}}\n",
			    seen[written].rule, (unsigned long long)seen[written].hash,
			    seen[written].fits ? "true" : "false");
	pthread_mutex_unlock(&lock);
}
