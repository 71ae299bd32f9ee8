/*
 * Gates of a command: the rules of --fail-on, what became of them in documents, on the standard
 * error, as JUnit's XML, and in the exit status. See gates.h for the rules.
 */
#ifndef KP_PROFILER_GATING_H
#define KP_PROFILER_GATING_H

#include "analyzers/gates.h"
#include "profiler/emit.h"
#include "profiler/options.h"

#define KP_EXIT_VIOLATED 1

/* The options --fail-on and --junit. */
extern const struct kp_option_group kp_gate_group;

/* Zeroed: no rules. */
struct kp_gating {
	struct kp_gate *gates[KP_WORDS_MAX];
	size_t count;
};

/* Parses the rules; says what is wrong and returns false. */
bool kp_gating_open(const struct kp_settings *settings, enum kp_gate_scope scope,
		    struct kp_gating *out);
void kp_gating_close(struct kp_gating *gating);
/* Judges them, where there are any; says what is wrong and returns false. */
bool kp_gating_judge_report(const struct kp_gating *gating, struct kp_report *report);
bool kp_gating_judge_diff(const struct kp_gating *gating, struct kp_diff *diff);

/* What became of the rules on one subject: the traces of a report, or of a comparison. */
struct kp_gate_suite {
	const char *name;
	const struct kp_gate_outcome *outcomes;
	size_t count;
};

/*
 * Says which rules failed, one line each, and writes the file of --junit; `kind`: "report" or
 * "diff". Returns the exit status:
 * 0, KP_EXIT_VIOLATED, or KP_EXIT_FAILURE where the file could not be written.
 */
int kp_gating_conclude(const struct kp_settings *settings, const char *kind,
		       const struct kp_gate_suite *suites, size_t count);

/* The member «gates» of a document; nothing where no rule was given. */
void kp_gating_emit(struct kp_emit *emit, const struct kp_gate_outcome *outcomes, size_t count);

/* junit.c: the suites as JUnit's XML. */
void kp_junit_print(FILE *file, const char *kind, const struct kp_gate_suite *suites, size_t count);

#endif
