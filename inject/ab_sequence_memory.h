/* Whether memory is this GPU's alone, as the driver says; remembered by allocation. */
#ifndef KP_INJECT_AB_SEQUENCE_MEMORY_H
#define KP_INJECT_AB_SEQUENCE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/ab_context.h"

/* All of the bytes lie in one allocation of this device's memory. With the lock of sequences. */
bool kp_ab_sequence_memory_is_own(CUcontext context, uint64_t address, uint64_t bytes);
/* Memory may go, and other come in its place. Any thread. */
void kp_ab_sequence_memory_changes(void);

#endif
