/*
 * kprof ab --check-output: what CMD prints with its own kernels, and what with others in their
 * place, kept in two files and compared by a command of the user's. CMD runs twice. One at a time.
 */
#ifndef KP_PROFILER_ARMS_H
#define KP_PROFILER_ARMS_H

#include <limits.h>
#include <stdbool.h>

struct kp_arms {
	char original[PATH_MAX + 16], replaced[PATH_MAX + 16]; /* files */
	int standard; /* kprof's standard output, while CMD's goes to a file; -1 */
};

/* X(NAME, key): what came of it. */
#define KP_ARMS_VERDICTS(X)                                                                        \
	X(UNKNOWN, "not compared")                                                                 \
	X(SAME, "agrees")                                                                          \
	X(DIFFERENT, "differs")
enum kp_arms_verdict {
#define KP_ARMS_ENUM(NAME, key) KP_ARMS_##NAME,
	KP_ARMS_VERDICTS(KP_ARMS_ENUM)
#undef KP_ARMS_ENUM
		KP_ARMS_VERDICT_COUNT
};
/* NULL: nothing was compared. */
const char *kp_arms_verdict_key(enum kp_arms_verdict verdict);

/* Files in `folder`; CMD runs as it is, its output into the first. False, said: it failed. */
bool kp_arms_begin(struct kp_arms *arms, const char *folder, char **argv);
/* From here to kp_arms_release the standard output is the second file. False: said. */
bool kp_arms_redirect(struct kp_arms *arms);
/* The standard output is as before, and gets what came. False: said. */
bool kp_arms_release(struct kp_arms *arms);
/*
 * Runs «sh -c COMMAND» with both files behind it: ended with 0, they agree; with 1, they differ.
 * False, said: it ended otherwise. What it prints goes to stderr.
 */
bool kp_arms_compare(const struct kp_arms *arms, const char *command,
		     enum kp_arms_verdict *verdict);
void kp_arms_end(struct kp_arms *arms);

#endif
