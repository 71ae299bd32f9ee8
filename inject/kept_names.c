/* Copies of kernel names; see kept_names.h. */
#include "inject/kept_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS 16384 /* a power of two */
#define NAMES_MOST (SLOTS / 4 * 3)
#define CHUNK_BYTES (256U << 10) /* names are far shorter */

static struct {
	_Atomic bool keep;
	_Atomic unsigned inside; /* threads that give a buffer back */
	pthread_mutex_t lock;    /* over the rest */
	const char *names[SLOTS];
	size_t count;
	char *chunk;
	size_t used;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool kp_kept_names_enter(void)
{
	atomic_fetch_add(&kept.inside, 1);
	return atomic_load(&kept.keep);
}

void kp_kept_names_leave(void)
{
	atomic_fetch_sub(&kept.inside, 1);
}

bool kp_kept_names_keep(bool keep)
{
	atomic_store(&kept.keep, keep);
	return atomic_load(&kept.inside) == 0;
}

/* Room for so many bytes; NULL without memory. With the lock. */
static char *allocate(size_t bytes)
{
	int saved = errno;
	char *at;

	if (!kept.chunk || CHUNK_BYTES - kept.used < bytes) {
		void *chunk = bytes <= CHUNK_BYTES ? mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
						   : MAP_FAILED;

		errno = saved;
		if (chunk == MAP_FAILED)
			return NULL;
		kept.chunk = chunk;
		kept.used = 0;
	}
	at = kept.chunk + kept.used;
	kept.used += bytes;
	return at;
}

/* FNV-1a */
static size_t hash(const char *name)
{
	uint64_t value = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		value = (value ^ (unsigned char)*name) * 0x100000001b3ULL;
	return (size_t)(value ^ value >> 32);
}

/* The one copy of a name. With the lock. */
static const char *copy_of(const char *name)
{
	size_t at = hash(name) % SLOTS, bytes;
	char *copy;

	while (kept.names[at] && strcmp(kept.names[at], name) != 0)
		at = (at + 1) % SLOTS;
	if (kept.names[at])
		return kept.names[at];
	bytes = strlen(name) + 1;
	copy = kept.count < NAMES_MOST ? allocate(bytes) : NULL;
	if (!copy)
		return "(a name that was lost when CUPTI was detached)";
	memcpy(copy, name, bytes);
	kept.names[at] = copy;
	kept.count++;
	return copy;
}

void kp_kept_names_replace(const struct kp_cupti *cupti, uint8_t *bytes, size_t valid_bytes)
{
	CUpti_Activity *record = NULL;

	while (valid_bytes &&
	       cupti->ActivityGetNextRecord(bytes, valid_bytes, &record) == CUPTI_SUCCESS) {
		CUpti_ActivityKernel8 *kernel = (void *)record;

		if ((record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		     record->kind != CUPTI_ACTIVITY_KIND_KERNEL) ||
		    !kernel->name)
			continue;
		pthread_mutex_lock(&kept.lock);
		kernel->name = copy_of(kernel->name);
		pthread_mutex_unlock(&kept.lock);
	}
}

void kp_kept_names_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	kept.lock = fresh;
	atomic_store(&kept.keep, false);
	atomic_store(&kept.inside, 0);
}
