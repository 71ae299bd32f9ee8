/* Whether memory is this GPU's alone, as the driver says; remembered by allocation. */
#ifndef KP_INJECT_AB_SEQUENCE_MEMORY_H
#define KP_INJECT_AB_SEQUENCE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/ab_context.h"

/* All of the bytes lie in one allocation of this device's memory. With the lock of sequences. */
bool kp_ab_sequence_memory_is_own(CUcontext context, uint64_t address, uint64_t bytes);
/*
 * Memory of that handle is mapped. True: it may be in two places from now on, and what is written
 * to one address may be read from another. Any thread, like the rest.
 */
bool kp_ab_sequence_memory_maps(uint64_t handle);
/* The handle can be mapped no more; the next one may be equal to it. */
void kp_ab_sequence_memory_releases(uint64_t handle);
/* In a forked child. */
void kp_ab_sequence_memory_forget(void);
/* Memory may go, and other come in its place. */
void kp_ab_sequence_memory_changes(void);

#endif
