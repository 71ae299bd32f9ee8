/*
 * Faults that the fake libcuda and libcupti are told to show, read from the variable KP_FAKE.
 * The table is faults.def. Read once, immutable afterwards; usable from any thread.
 */
#ifndef KP_FAKE_GPU_FAULTS_H
#define KP_FAKE_GPU_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct kp_fake_faults {
#define X(name, bare, what) uint64_t name;
#include "tests/fake_gpu/common/faults.def"
#undef X
};

/* The faults of this process. A KP_FAKE that cannot be read ends the process with a message. */
const struct kp_fake_faults *kp_fake_faults(void);

/*
 * Parses one list of faults, `text` = NULL for none. Returns false and leaves the offending item in
 * *bad (borrowed from `text`) where a name is unknown or a value is not a number.
 */
bool kp_fake_faults_parse(const char *text, struct kp_fake_faults *out, const char **bad);

/* Whether the `count`-th thing (1, 2, …) is one of every `every` (0: never). */
static inline bool kp_fake_every(uint64_t count, uint64_t every)
{
	return every != 0 && count % every == 0;
}

#endif
