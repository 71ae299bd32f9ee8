/* Which process of the recording samples a GPU; see counters_owner.h. */
#include "inject/counters_owner.h"

#include <stdatomic.h>
#include <stdio.h>

#include "inject/driver.h"
#include "inject/state.h"

#define GPUS 64

static struct {
	_Atomic(struct kp_live *) live; /* mapped with the first claim, for good */
	_Atomic uint64_t claimed[GPUS]; /* by device: the hash of its identity; 0: not claimed */
} owner;

/* FNV-1a of the GPU's identity; never 0. */
static uint64_t hash_of(const struct kp_text *uuid)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < uuid->length; i++)
		hash = (hash ^ (uint8_t)uuid->bytes[i]) * 0x100000001b3ULL;
	return hash ? hash : 1;
}

static struct kp_live *live(void)
{
	struct kp_live *mapped = atomic_load(&owner.live);

	if (!mapped) {
		mapped = kp_live_map(kp_inject.settings.live_path);
		atomic_store(&owner.live, mapped);
	}
	return mapped;
}

bool kp_owner_claim(uint32_t device, uint32_t *pid, char *reason, size_t size)
{
	struct kp_device_info info = {0};
	uint32_t found;

	*pid = 0;
	kp_driver_describe(device, &info);
	if (KP_HAS(&info, DEVICE, mig) && info.mig) {
		snprintf(reason, size,
			 "this is a slice of a GPU (MIG), which has no counters of its own; switch "
			 "MIG off");
		return false;
	}
	if (device >= GPUS || !KP_HAS(&info, DEVICE, uuid) || !live())
		return true;
	found = kp_live_claim(live(), hash_of(&info.uuid), (uint32_t)kp_inject.pid);
	if (found == 0)
		return true;
	if (found == (uint32_t)kp_inject.pid) {
		atomic_store(&owner.claimed[device], hash_of(&info.uuid));
		return true;
	}
	*pid = found;
	snprintf(reason, size,
		 "process %u of this recording samples this GPU for all of them; its samples are "
		 "in the trace, too",
		 found);
	return false;
}

void kp_owner_release(uint32_t device)
{
	uint64_t gpu = device < GPUS ? atomic_exchange(&owner.claimed[device], 0) : 0;

	if (gpu)
		kp_live_release(live(), gpu, (uint32_t)kp_inject.pid);
}

void kp_owner_forget(void)
{
	for (size_t i = 0; i < GPUS; i++)
		atomic_store(&owner.claimed[i], 0);
}
