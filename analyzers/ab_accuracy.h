/*
 * Whether a candidate's results are the original's, from what a comparison of every element has
 * found; docs/ab.md says how. It may be off from the original by what its rule tolerates, or by
 * little more than the original is from itself. Pure; the collector acts on it.
 */
#ifndef KP_ANALYZERS_AB_ACCURACY_H
#define KP_ANALYZERS_AB_ACCURACY_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, key, what it means): the first that holds. */
#define KP_AB_FAULTS(X)                                                                            \
	X(NONE, "none", "it is right, as far as was seen")                                         \
	X(STREAM, "stream", "it worked on another stream than the launch's")                       \
	X(INPUTS, "inputs", "inputs were changed")                                                 \
	X(INCOMPLETE, "incomplete", "not every element was compared")                              \
	X(OUTSIDE, "outside", "something was written outside of the output")                       \
	X(MASK, "mask", "NaN or infinity where the original has none, or none where it has")       \
	X(MISMATCH, "mismatch", "elements are off by more than is tolerated")                      \
	X(TRUTH, "truth", "it is further off from float64 than the original is, by far")           \
	X(RMS, "rms", "the whole is off by more than is tolerated")

enum kp_ab_fault {
#define KP_AB_FAULT_ENUM(NAME, key, what) KP_AB_FAULT_##NAME,
	KP_AB_FAULTS(KP_AB_FAULT_ENUM)
#undef KP_AB_FAULT_ENUM
		KP_AB_FAULT_COUNT
};

/* Of one output in one comparison. NaN: not known. */
struct kp_ab_figures {
	bool other_stream, inputs_changed;
	uint64_t expected, elements; /* declared; compared */
	uint64_t finite;             /* of both; what follows is of these */
	uint64_t outside;            /* words that were written outside */
	uint64_t mask_different, mismatches;
	double rms;           /* of the differences */
	double rms_original;  /* of the original's elements */
	double noise_rms;     /* of the original's second run against its first */
	double rms_tolerated; /* rms over rms_original */
	/* Of so many elements in float64: rms of what they are, and of what both are off from that;
	 * 0 elements: not known. The unit: half of a last place, of a number from 1 to 2. */
	uint64_t truth_elements;
	double truth_rms, truth_rms_original, truth_rms_candidate, truth_unit;
};

struct kp_ab_accuracy_verdict {
	enum kp_ab_fault fault;
	bool says_little; /* nothing is wrong, but all elements are 0, or none is finite */
};

struct kp_ab_accuracy_verdict kp_ab_accuracy(const struct kp_ab_figures *figures);
const char *kp_ab_fault_key(enum kp_ab_fault fault);

#endif
