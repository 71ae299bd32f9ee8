/*
 * Trials: replacements of the user's are first exposed in a process of kprof's own, on copies of
 * the data of a live launch, since a fault in one would end the program's context.
 *
 * A file beside the plan (its name with KP_AB_TRIALS_SUFFIX), which the launcher makes and every
 * process maps. A process of the program takes a place for a rule and a shape, writes the launch to
 * the place's own file (the same name, a dot and the place's number), and asks; a process of the
 * launcher (profiler/trier.h) answers. Nobody in the program waits for that.
 */
#ifndef KP_TRACE_AB_TRIALS_H
#define KP_TRACE_AB_TRIALS_H

#include <stdatomic.h>
#include <stdint.h>

#include "trace/ab_plan.h"

#define KP_AB_TRIALS_SUFFIX ".trials"
#define KP_AB_TRIALS_MAGIC 0x4c41495254424bULL
#define KP_AB_TRIALS_MOST 64U
/* Shapes of a rule that are tried; after them it is trusted with others. */
#define KP_AB_TRIALS_OF_RULE 8U
/* Of all that a launch is given. */
#define KP_AB_TRIAL_BYTES_MOST ((uint64_t)256 << 20)

/* X(NAME, key, what it means, whether it is the replacement that is wrong) */
#define KP_AB_TRIAL_FAULTS(X)                                                                      \
	X(NONE, "none", "it did no harm", false)                                                   \
	X(CRASHED, "crashed", "its process crashed", true)                                         \
	X(HANGS, "hangs", "it did not end within the limit", true)                                 \
	X(GPU, "gpu", "the GPU reported a fault", true)                                            \
	X(OUTSIDE, "outside", "it wrote outside of what the rule declares", true)                  \
	X(INPUTS, "inputs", "it changed its inputs", true)                                         \
	X(REFUSED, "refused", "it could not be launched", false)                                   \
	X(NOT_LOADED, "not_loaded", "its code could not be loaded", false)                         \
	X(NO_DRIVER, "no_driver", "the driver could not be used by another process", false)        \
	X(NO_MEMORY, "no_memory", "there was no memory for it", false)                             \
	X(TOO_LARGE, "too_large", "its data is more than can be copied", false)                    \
	X(NO_DATA, "no_data", "the program's data could not be copied", false)

enum kp_ab_trial_fault {
#define KP_AB_TRIAL_FAULT_ENUM(NAME, key, what, wrong) KP_AB_TRIAL_##NAME,
	KP_AB_TRIAL_FAULTS(KP_AB_TRIAL_FAULT_ENUM)
#undef KP_AB_TRIAL_FAULT_ENUM
		KP_AB_TRIAL_FAULT_COUNT
};

/* FREE, TAKEN by a process of the program, ASKED, then one of the last two. */
enum kp_ab_trial_state {
	KP_AB_TRIAL_FREE,
	KP_AB_TRIAL_TAKEN,
	KP_AB_TRIAL_ASKED,
	KP_AB_TRIAL_PASSED,
	KP_AB_TRIAL_FAILED
};

struct kp_ab_trial {
	_Atomic uint32_t state; /* what follows is set before it is TAKEN */
	uint32_t rule;
	uint64_t shape;
};

struct kp_ab_trials_file {
	uint64_t magic;
	_Atomic uint32_t taken; /* places; may exceed how many there are */
	_Atomic uint32_t asked; /* a futex: steps with each that is asked for */
	struct kp_ab_trial trials[KP_AB_TRIALS_MOST];
};

/* ---- the file of a launch ---- */

#define KP_AB_TRIAL_MAGIC 0x4841434e554c424bULL
#define KP_AB_TRIAL_VERSION 1U
#define KP_AB_TRIAL_REGIONS_MOST (KP_AB_TENSORS_MOST + KP_AB_ARGUMENTS_MOST)
/* Regions lie at multiples of that within the file. */
#define KP_AB_TRIAL_ALIGNED 256U
/* The role of memory that an argument points to and the rule does not declare. */
#define KP_AB_TRIAL_UNDECLARED 3U

/* Memory of the program's, as it was before the launch. */
struct kp_ab_trial_region {
	uint64_t address, bytes;
	uint64_t offset; /* in the file */
	uint32_t role;   /* enum kp_ab_role, or KP_AB_TRIAL_UNDECLARED */
	uint32_t reserved;
};

struct kp_ab_trial_head {
	uint64_t magic;
	uint32_t version, rule;
	uint64_t bytes;   /* of the file */
	int32_t place[3]; /* of the GPU: domain, bus, device on PCI */
	uint32_t region_count;
	uint32_t grid[3], block[3], shared_bytes, reserved;
	int64_t values[KP_AB_ARGUMENTS_MOST]; /* in order; pointers are the program's */
	struct kp_ab_trial_region regions[KP_AB_TRIAL_REGIONS_MOST];
};

#endif
