/* Whose memory it is; see ab_sequence_memory.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_memory.h"

#include <pthread.h>

#include "inject/ab_alone.h"
#include "inject/ab_state.h"

#define ALLOCATIONS 64U
#define HANDLES_LOG2 14
#define HANDLES ((size_t)1 << HANDLES_LOG2)

struct allocation {
	CUcontext context;
	uint64_t at, bytes; /* 0: nothing */
	bool is_own;
};

static struct allocation allocations[ALLOCATIONS];
static uint32_t next;
static uint32_t seen; /* the count below, when they were looked up */
static _Atomic uint32_t changes;

/* Handles that were mapped and not released: where they hash to or, behind one another, next. */
static struct {
	pthread_mutex_t lock;
	uint64_t table[HANDLES]; /* 0: nothing */
	size_t count;
} mapped = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kp_ab_sequence_memory_changes(void)
{
	atomic_fetch_add(&changes, 1);
}

static bool ask(CUcontext context, uint64_t address, struct allocation *out)
{
	unsigned type = 0, managed = 1;
	int device = -1;
	CUdevice current = -2;
	CUdeviceptr at = 0;
	size_t bytes = 0;

	if (kp_ab.driver.range(&at, &bytes, address) != CUDA_SUCCESS)
		return false;
	*out = (struct allocation){context, at, bytes, false};
	out->is_own = kp_ab.driver.pointer(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
			      CUDA_SUCCESS &&
		      kp_ab.driver.pointer(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) ==
			      CUDA_SUCCESS &&
		      kp_ab.driver.pointer(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) ==
			      CUDA_SUCCESS &&
		      kp_ab.driver.device(&current) == CUDA_SUCCESS &&
		      type == CU_MEMORYTYPE_DEVICE && !managed && device == current;
	return true;
}

static const struct allocation *find(CUcontext context, uint64_t address)
{
	uint32_t now = atomic_load(&changes);

	for (uint32_t i = 0; now == seen && i < ALLOCATIONS; i++)
		if (address - allocations[i].at < allocations[i].bytes &&
		    allocations[i].context == context)
			return &allocations[i];
	if (now != seen)
		for (uint32_t i = 0; i < ALLOCATIONS; i++)
			allocations[i].bytes = 0;
	seen = now;
	next = (next + 1) % ALLOCATIONS;
	allocations[next].bytes = 0;
	return ask(context, address, &allocations[next]) ? &allocations[next] : NULL;
}

bool kp_ab_sequence_memory_is_own(CUcontext context, uint64_t address, uint64_t bytes)
{
	const struct allocation *found = find(context, address);

	return found && found->is_own && address - found->at < found->bytes &&
	       bytes <= found->bytes - (address - found->at);
}

/* ---- handles ---- */

static size_t home_of(uint64_t handle)
{
	return (size_t)(handle * 0x9e3779b97f4a7c15U >> (64 - HANDLES_LOG2));
}

/* Where it is, or nothing is yet. With the lock. */
static size_t find_handle(uint64_t handle)
{
	size_t at = home_of(handle);

	while (mapped.table[at] && mapped.table[at] != handle)
		at = (at + 1) % HANDLES;
	return at;
}

/* What is behind it moves up, unless that would be before its home. With the lock. */
static void take_out(size_t hole)
{
	for (size_t at = (hole + 1) % HANDLES; mapped.table[at]; at = (at + 1) % HANDLES) {
		size_t far = (at - home_of(mapped.table[at])) % HANDLES;

		if (far >= (at - hole) % HANDLES) {
			mapped.table[hole] = mapped.table[at];
			hole = at;
		}
	}
	mapped.table[hole] = 0;
	mapped.count--;
}

bool kp_ab_sequence_memory_maps(uint64_t handle)
{
	struct kp_ab_alone alone;
	bool again;
	size_t at;

	kp_ab_alone_begins(&alone);
	pthread_mutex_lock(&mapped.lock);
	at = find_handle(handle);
	again = mapped.table[at] == handle || mapped.count >= HANDLES / 4 * 3;
	if (!again) {
		mapped.table[at] = handle;
		mapped.count++;
	}
	pthread_mutex_unlock(&mapped.lock);
	kp_ab_alone_ends(&alone);
	return again;
}

void kp_ab_sequence_memory_releases(uint64_t handle)
{
	struct kp_ab_alone alone;
	size_t at;

	kp_ab_alone_begins(&alone);
	pthread_mutex_lock(&mapped.lock);
	at = find_handle(handle);
	if (mapped.table[at])
		take_out(at);
	pthread_mutex_unlock(&mapped.lock);
	kp_ab_alone_ends(&alone);
}

void kp_ab_sequence_memory_forget(void)
{
	mapped.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
