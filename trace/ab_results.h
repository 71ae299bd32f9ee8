/*
 * What an A/B run leaves in PID.ab: lines of JSON, each complete in itself, appended as things
 * happen, so that a file that ends anywhere holds all that was before. Both sides know the names by
 * these tables; docs/rules.md says what each means.
 */
#ifndef KP_TRACE_AB_RESULTS_H
#define KP_TRACE_AB_RESULTS_H

#define KP_AB_RESULTS_VERSION 3

/* X(NAME, name): counts of a rule. A launch that is eligible is replaced or has one reason. */
#define KP_AB_COUNTS(X)                                                                            \
	X(SEEN, "seen")                                                                            \
	X(ELIGIBLE, "eligible")                                                                    \
	X(REPLACED, "replaced")                                                                    \
	X(REPLACED_CAPTURED, "replaced_captured")                                                  \
	X(SHADOWED, "shadowed")                                                                    \
	X(ELIDED, "elided")                                                                        \
	X(REISSUED, "reissued")

/* X(NAME, name, what it means): why a launch that was seen was not replaced. */
#define KP_AB_REASONS(X)                                                                           \
	X(CONDITIONS, "conditions", "the rule's conditions do not hold")                           \
	X(UNREADABLE, "unreadable", "an expression of the rule cannot be evaluated")               \
	X(UNSUPPORTED, "unsupported", "the replacement does not do this")                          \
	X(POINTER_MODE, "pointer_mode", "alpha and beta are in device memory")                     \
	X(HOLDING_OFF, "holding_off", "launches are not held: the program shows or forbids that")  \
	X(NOT_HELD, "not_held", "a launch of the sequence cannot be held")                         \
	X(SHARED_MEMORY, "shared_memory",                                                          \
	  "a launch of the sequence uses memory that others than this GPU may see")                \
	X(UNSEEN, "unseen",                                                                        \
	  "its launches were never seen on a GPU, and the rule does not allow that")               \
	X(FLOW, "flow", "the launches do not hand their data on as the sequence says")             \
	X(OVERLAP, "overlap", "what the sequence reads and writes overlaps")                       \
	X(UNWRITTEN, "unwritten", "the sequence and its replacement do not write the same")        \
	X(ALIVE, "alive", "what lies between was never seen given back: it is left alone")         \
	X(OTHER_LAUNCH, "other_launch", "another launch came in the midst of the sequence")        \
	X(OTHER_STREAM, "other_stream",                                                            \
	  "a launch of another stream or thread came in the midst of the sequence")                \
	X(OTHER_CALL, "other_call", "the program called the driver in the midst of the sequence")  \
	X(TOO_LATE, "too_late", "the next launch of the sequence did not come in time")            \
	X(LATE_ERROR, "late_error", "a launch that had been held failed")                          \
	X(NOT_LOADED, "not_loaded", "the replacement's code could not be loaded")                  \
	X(TRIAL, "trial", "it was being tried in another process first")                           \
	X(TRIAL_FAILED, "trial_failed", "it failed where it was tried, in another process")        \
	X(ADDRESS, "address",                                                                      \
	  "data that the rule declares is not in memory that the driver knows")                    \
	X(UNVERIFIED, "unverified", "its results had not been compared with the original's yet")   \
	X(SHADOW, "shadow", "the program saw the original, and the results were compared")         \
	X(CAPTURED, "captured", "captured into a graph before its results had been compared")      \
	X(GRAPH, "graph", "in a graph that cannot be copied, or where its nodes cannot be told")   \
	X(GRAPH_CHANGED, "graph_changed", "in a graph whose changes cannot be followed")           \
	X(WRONG, "wrong", "a result of the rule was wrong: it is rolled back")                     \
	X(ORIGINAL_PHASE, "original_phase", "the originals' turn, for end-to-end times")           \
	X(ORIGINAL_SAMPLE, "original_sample", "the original's turn, for its time")                 \
	X(SHADOW_MODE, "shadow_mode", "nothing is replaced in shadow mode")                        \
	X(NO_MEMORY, "no_memory", "there was no memory for the replacement")                       \
	X(FAILED, "failed", "the replacement could not be launched")                               \
	X(OFF, "off", "switched off")

enum kp_ab_count {
#define KP_AB_COUNT_ENUM(NAME, name) KP_AB_COUNT_##NAME,
	KP_AB_COUNTS(KP_AB_COUNT_ENUM)
#undef KP_AB_COUNT_ENUM
		KP_AB_COUNT_COUNT
};

enum kp_ab_reason {
#define KP_AB_REASON_ENUM(NAME, name, what) KP_AB_REASON_##NAME,
	KP_AB_REASONS(KP_AB_REASON_ENUM)
#undef KP_AB_REASON_ENUM
		KP_AB_REASON_COUNT
};

extern const char *const kp_ab_count_names[KP_AB_COUNT_COUNT];
extern const char *const kp_ab_reason_names[KP_AB_REASON_COUNT];

/* X(NAME, name, what it is): other inputs than the program's, of which one is changed. */
#define KP_AB_EXTRAS(X)                                                                            \
	X(NEGATED, "negated", "with the other sign")                                               \
	X(HALVED, "halved", "half as large")                                                       \
	X(REVERSED, "reversed", "its rows, or its columns, in reverse")

enum kp_ab_extra {
#define KP_AB_EXTRA_ENUM(NAME, name, what) KP_AB_EXTRA_##NAME,
	KP_AB_EXTRAS(KP_AB_EXTRA_ENUM)
#undef KP_AB_EXTRA_ENUM
		KP_AB_EXTRA_COUNT
};

extern const char *const kp_ab_extra_names[KP_AB_EXTRA_COUNT];

/* Worst elements of a comparison that are written. */
#define KP_AB_WORST 4

#endif
