/*
 * Findings: what a report's numbers say should be done, or left alone; each with its evidence, how
 * sure it is, a remedy, and what it would win. docs/findings.md has a chapter for each id.
 *
 * Findings are derived from a report's rows alone, and depend on nothing else. What one of them
 * says never contradicts another: findings_resolve.h holds the rules, and what they hold back is
 * kept with the reason. Ids and texts stand in findings.def.
 *
 * Time to win, in nanoseconds of the trace. A finding takes a part f of the time of its rows away:
 *   of kernel time   f × T, T being the rows' summed durations
 *   of the span      f × A, A being the time in which they alone ran (alone.h): what runs beside
 *                    others shortens nothing. Without a timeline: their part of busy time.
 * `bound` is that with the f that cannot be beaten; `likely` with what is commonly reached, and of
 * the span times the part of the time in which the GPU does not wait for launches, for a faster
 * kernel only lengthens such a wait. Where the GPU mostly waits, nothing of the span is promised.
 */
#ifndef KP_ANALYZERS_FINDINGS_H
#define KP_ANALYZERS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/arena.h"
#include "trace/status.h"

struct kp_report;

/* Rungs of the ladder, from the one to try first. X(NAME, key, words for people) */
#define KP_RUNGS(X)                                                                                \
	X(LEAVE, "leave", "leave it alone")                                                        \
	X(CHECK, "check", "look closer first")                                                     \
	X(SWITCH, "switch", "a switch that exists")                                                \
	X(LIBRARY, "library", "a library or engine that has it")                                   \
	X(TRITON, "triton", "a kernel in Triton")                                                  \
	X(KERNEL, "kernel", "a kernel of your own")

enum kp_rung {
#define KP_RUNG_ROW(NAME, key, words) KP_RUNG_##NAME,
	KP_RUNGS(KP_RUNG_ROW)
#undef KP_RUNG_ROW
};

enum kp_finding_id {
#define KP_FINDING(NAME, key, rung, title, remedy, reason) KP_FINDING_##NAME,
#include "analyzers/findings.def"
#undef KP_FINDING
	KP_FINDING_COUNT
};

/* How sure a finding is that its problem is there. */
enum kp_confidence {
	KP_CONFIDENCE_LOW,    /* names, or a guess of what would be counted, say so */
	KP_CONFIDENCE_MEDIUM, /* inferred from times and launch geometry */
	KP_CONFIDENCE_HIGH    /* measured */
};

/* One number and where it is from. */
struct kp_evidence {
	const char *what;   /* a key, ends in the unit: "kernel_share_pct", "grid_blocks" */
	double value;       /* finite */
	const char *source; /* "measured", "estimated", "inferred", "modelled", "driver", "name" */
};
#define KP_EVIDENCE_MOST 12

/* NaN: not known. bound >= likely >= 0. */
struct kp_win {
	double kernel_bound_ns, kernel_likely_ns;
	double span_bound_ns, span_likely_ns;
	/* Likewise in percent of the report's kernel time and span. */
	double kernel_bound_pct, kernel_likely_pct, span_bound_pct, span_likely_pct;
	const char *formula; /* how the two were computed, for people */
	bool once_launched;  /* the bound holds once launches keep up: until then faster kernels
				only wait longer, unless the program waits for each launch */
};

#define KP_FINDING_NOWHERE SIZE_MAX
struct kp_finding {
	enum kp_finding_id id;
	enum kp_confidence confidence;
	/* What it is about: indices into the report's tables, KP_FINDING_NOWHERE: not about one. A
	 * kernel's operator is given, too. */
	size_t operator_index, variant_index, kernel_index, gpu_index;
	const char *subject;  /* words for the same; never NULL, may be empty */
	const char *sentence; /* what was found, one sentence without its full stop */
	const char *remedy;   /* what helps, see findings_remedies.h */
	double kernel_ns, alone_ns, kernel_pct; /* of its rows; 0: it has none */
	struct kp_win win;
	struct kp_evidence evidence[KP_EVIDENCE_MOST];
	size_t evidence_count;
};

/* Why something that was found is not told. X(NAME, key) */
#define KP_HELD_REASONS(X)                                                                         \
	X(RULE, "rule")         /* another finding, `by`, says it better, or the opposite */       \
	X(SMALL, "min_gain")    /* it would win less than was asked for */                         \
	X(SILENCED, "silenced") /* by its id */

enum kp_held_reason {
#define KP_HELD_ROW(NAME, key) KP_HELD_##NAME,
	KP_HELD_REASONS(KP_HELD_ROW)
#undef KP_HELD_ROW
};

struct kp_finding_held {
	struct kp_finding finding;
	enum kp_held_reason reason;
	enum kp_finding_id by; /* with KP_HELD_RULE */
	const char *why;       /* a sentence, likewise; else NULL */
};

struct kp_findings_options {
	double min_gain_pct; /* of the span, by the bound; 0: everything is told */
	uint64_t silenced;   /* bit 1 << id */
};

struct kp_findings {
	const struct kp_finding *items; /* by likely time to win of the span, most first */
	size_t count;
	const struct kp_finding_held *held;
	size_t held_count;
};

/* The facts of an id, from findings.def; never NULL. */
const char *kp_finding_key(enum kp_finding_id id);
const char *kp_finding_title(enum kp_finding_id id);
const char *kp_finding_usual_remedy(enum kp_finding_id id);
enum kp_rung kp_finding_rung(enum kp_finding_id id);
const char *kp_finding_rung_reason(enum kp_finding_id id);
const char *kp_rung_key(enum kp_rung rung);
const char *kp_rung_words(enum kp_rung rung);
const char *kp_confidence_key(enum kp_confidence confidence);
const char *kp_held_key(enum kp_held_reason reason);
/* All keys in the order of the ids, ended by NULL. */
extern const char *const kp_finding_keys[];
/* Errors: KP_INVALID: there is no such key. */
enum kp_status kp_finding_of_key(const char *key, enum kp_finding_id *out);

/* All findings of a report, in `arena`, which owns their texts. Errors: KP_NO_MEMORY. */
enum kp_status kp_findings_find(const struct kp_report *report,
				const struct kp_findings_options *options, struct kp_arena *arena,
				struct kp_findings *out);

#endif
