/*
 * Rules that a report or a comparison must not break, written as a line of text:
 *
 *   RULE     SUBJECT [ . FIELD ] COMPARISON VALUE
 *            | slower | faster | inconclusive  (comparisons only)
 *   SUBJECT  total | operator(NAME) | kernel(NAME) | kernel(/REGEX/)
 *            | gpu | gpu(N)                  (reports only)
 *            | slower | faster               (comparisons only)
 *   COMPARISON  > | >= | < | <=
 *   VALUE    a number and its unit: %, ns, us, ms, s, GB/s, or none for counts
 *
 * The rule says what is a failure: operator(attention).share > 30% fails where it is more. Names
 * with brackets or blanks may be quoted. In a comparison a figure is the change from base to new.
 * docs/ci.md lists the fields. Pure; not thread-safe where a rule is shared.
 */
#ifndef KP_ANALYZERS_GATES_H
#define KP_ANALYZERS_GATES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/diff.h"
#include "analyzers/report.h"

enum kp_gate_scope { KP_GATE_REPORT = 1, KP_GATE_DIFF = 2 };

struct kp_gate;

#define KP_GATE_ERROR_BYTES 512
struct kp_gate_error {
	size_t column; /* from 1 */
	char text[KP_GATE_ERROR_BYTES];
};

/*
 * Parses a rule. `operators`: whose names operator(NAME) may have. Errors: KP_INVALID (*error says
 * where and what), KP_NO_MEMORY.
 */
enum kp_status kp_gate_create(const char *rule, enum kp_gate_scope scope,
			      const struct kp_operators *operators, struct kp_gate **out,
			      struct kp_gate_error *error);
/* NULL is allowed. */
void kp_gate_destroy(struct kp_gate *gate);

enum kp_gate_state { KP_GATE_PASSED, KP_GATE_VIOLATED, KP_GATE_UNKNOWN };
const char *kp_gate_state_name(enum kp_gate_state state);

/* What became of a rule. An unknown figure (not measured, not comparable) fails, too. */
struct kp_gate_outcome {
	const char *rule; /* as it was written */
	enum kp_gate_state state;
	double value;     /* in `unit`; NaN: none */
	const char *unit; /* "%", "ns", "GB/s", "" */
	const char *text; /* one line for people: the figure, and what there is to say of it */
};

/* Judges rules; *out lives in the arena of the report, or of the comparison. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_gates_judge_report(const struct kp_gate *const *gates, size_t count,
				     struct kp_report *report);
enum kp_status kp_gates_judge_diff(const struct kp_gate *const *gates, size_t count,
				   struct kp_diff *diff);

/* How many outcomes are failures. */
size_t kp_gates_failed(const struct kp_gate_outcome *outcomes, size_t count);

#endif
