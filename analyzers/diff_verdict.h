/* Verdicts of a comparison, and what makes two sides incomparable; part of diff.h. */
#ifndef KP_ANALYZERS_DIFF_VERDICT_H
#define KP_ANALYZERS_DIFF_VERDICT_H

/*
 * X(NAME, key). By the interval of the change of the typical length:
 *   no difference   all of it lies within the margin, on either side of 0
 *   faster, slower  else, 0 is not in it
 *   inconclusive    else
 */
#define KP_VERDICTS(X)                                                                             \
	X(FASTER, "faster")                                                                        \
	X(SLOWER, "slower")                                                                        \
	X(SAME, "no difference")                                                                   \
	X(UNDECIDED, "inconclusive")                                                               \
	X(NOT_COMPARABLE, "not comparable")

enum kp_verdict {
#define KP_VERDICT_ROW(NAME, key) KP_VERDICT_##NAME,
	KP_VERDICTS(KP_VERDICT_ROW)
#undef KP_VERDICT_ROW
		KP_VERDICT_COUNT
};
const char *kp_verdict_name(enum kp_verdict verdict);

/* X(NAME, key, words): why two sides are not comparable. */
#define KP_DIFF_REASONS(X)                                                                         \
	X(GPU, "other_gpu", "they ran on different GPUs")                                          \
	X(CLOCKS, "other_clocks", "the GPUs' clocks differed")                                     \
	X(THROTTLED, "throttled", "clocks were held down on one side")                             \
	X(COMMAND, "other_command", "the commands differ")                                         \
	X(WINDOWS, "other_windows", "they were recorded in different windows")                     \
	X(FILTER, "other_filter", "kernels were left out by different patterns")                   \
	X(MISSING, "missing_records", "records are missing")                                       \
	X(RANGE, "no_such_range", "a run lacks the range that was named")                          \
	X(UNIT, "other_unit", "the units that are compared are not the same work")                 \
	X(REPEATED, "repeated_runs", "a recording is there twice on one side")                     \
	X(KERNELS, "no_kernels", "one side ran no kernel")                                         \
	X(FEW, "too_few_iterations", "there are too few iterations, or runs, for an interval")

enum kp_diff_reason {
#define KP_DIFF_REASON_ROW(NAME, key, words) KP_DIFF_##NAME,
	KP_DIFF_REASONS(KP_DIFF_REASON_ROW)
#undef KP_DIFF_REASON_ROW
		KP_DIFF_REASON_COUNT
};
const char *kp_diff_reason_key(enum kp_diff_reason reason);
const char *kp_diff_reason_words(enum kp_diff_reason reason);

struct kp_diff_obstacle {
	enum kp_diff_reason reason;
	const char *detail; /* one clause, with the figures of both sides */
};

#endif
