/* Whose memory it is; see ab_sequence_memory.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_memory.h"

#include "inject/ab_state.h"

#define ALLOCATIONS 64U

struct allocation {
	CUcontext context;
	uint64_t at, bytes; /* 0: nothing */
	bool is_own;
};

static struct allocation allocations[ALLOCATIONS];
static uint32_t next;
static uint32_t seen; /* the count below, when they were looked up */
static _Atomic uint32_t changes;

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
