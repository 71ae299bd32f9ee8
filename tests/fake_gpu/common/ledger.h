/*
 * Counters of what really happened, shared with the test through a file that outlives the process.
 *
 * The file that KP_FAKE_LEDGER names holds one little-endian 64-bit number a row of ledger.def; all
 * processes of a test add to it. Without the variable the counters stay in the process. Lock-free.
 */
#ifndef KP_FAKE_GPU_LEDGER_H
#define KP_FAKE_GPU_LEDGER_H

#include <stdint.h>

enum kp_fake_counter {
#define X(name, what) KP_FAKE_##name,
#include "tests/fake_gpu/common/ledger.def"
#undef X
	KP_FAKE_COUNTER_COUNT
};

/* Adds `amount` to a counter. */
void kp_fake_count(enum kp_fake_counter counter, uint64_t amount);
/* A counter's value now. */
uint64_t kp_fake_counted(enum kp_fake_counter counter);

#endif
