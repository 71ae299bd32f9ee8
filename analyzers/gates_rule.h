/* A rule of gates.h, parsed: private to gates*.c. */
#ifndef KP_ANALYZERS_GATES_RULE_H
#define KP_ANALYZERS_GATES_RULE_H

#include <regex.h>
#include <stdint.h>

#include "analyzers/gates.h"

/* Kinds of figures, and bits of them. */
enum kp_gate_kind {
	KP_GATE_PCT = 1,
	KP_GATE_TIME = 2, /* ns */
	KP_GATE_RATE = 4, /* GB/s */
	KP_GATE_COUNT = 8
};

/* X(NAME, name, about) */
#define KP_GATE_SUBJECTS(X)                                                                        \
	X(TOTAL, "total", "everything")                                                            \
	X(GPU, "gpu", "each GPU: the one that is worst; gpu(N): that one")                         \
	X(OPERATOR, "operator", "operator(NAME)")                                                  \
	X(KERNEL, "kernel", "kernel(NAME) or kernel(/REGEX/): all that fit, together")             \
	X(SLOWER, "slower", "by how much the verdict is slower, else 0")                           \
	X(FASTER, "faster", "by how much the verdict is faster, else 0")                           \
	X(INCONCLUSIVE, "inconclusive", "that the verdict is")

enum kp_gate_subject {
#define KP_GATE_SUBJECT_ROW(NAME, name, about) KP_GATE_##NAME,
	KP_GATE_SUBJECTS(KP_GATE_SUBJECT_ROW)
#undef KP_GATE_SUBJECT_ROW
		KP_GATE_SUBJECT_COUNT
};

/* Bits of subjects. */
#define KP_GATE_OF_TOTAL (1U << KP_GATE_TOTAL)
#define KP_GATE_OF_GPU (1U << KP_GATE_GPU)
#define KP_GATE_OF_ROWS (1U << KP_GATE_OPERATOR | 1U << KP_GATE_KERNEL)

/*
 * X(NAME, name, subjects, kinds in reports, kinds in comparisons): which figures there are. No
 * kinds: there is none.
 */
#define KP_GATE_FIELDS(X)                                                                          \
	X(SHARE, "share", KP_GATE_OF_ROWS, KP_GATE_PCT, KP_GATE_PCT)                               \
	X(TIME, "time", KP_GATE_OF_ROWS | KP_GATE_OF_TOTAL, KP_GATE_TIME,                          \
	  KP_GATE_TIME | KP_GATE_PCT)                                                              \
	X(CALLS, "calls", KP_GATE_OF_ROWS | KP_GATE_OF_TOTAL, KP_GATE_COUNT,                       \
	  KP_GATE_COUNT | KP_GATE_PCT)                                                             \
	X(AVERAGE, "average", KP_GATE_OF_ROWS, KP_GATE_TIME, KP_GATE_TIME | KP_GATE_PCT)           \
	X(BANDWIDTH, "bandwidth", KP_GATE_OF_ROWS, KP_GATE_RATE, KP_GATE_RATE | KP_GATE_PCT)       \
	X(BUSY, "busy", KP_GATE_OF_TOTAL | KP_GATE_OF_GPU, KP_GATE_TIME | KP_GATE_PCT,             \
	  KP_GATE_TIME | KP_GATE_PCT)                                                              \
	X(IDLE, "idle", KP_GATE_OF_TOTAL | KP_GATE_OF_GPU, KP_GATE_TIME | KP_GATE_PCT,             \
	  KP_GATE_TIME | KP_GATE_PCT)                                                              \
	X(SPAN, "span", KP_GATE_OF_TOTAL | KP_GATE_OF_GPU, KP_GATE_TIME, 0)                        \
	X(ITERATION, "iteration", KP_GATE_OF_TOTAL, KP_GATE_TIME, KP_GATE_TIME | KP_GATE_PCT)      \
	X(LENGTH, "length", KP_GATE_OF_TOTAL, 0, KP_GATE_TIME | KP_GATE_PCT)

enum kp_gate_field {
#define KP_GATE_FIELD_ROW(NAME, name, subjects, report, diff) KP_GATE_FIELD_##NAME,
	KP_GATE_FIELDS(KP_GATE_FIELD_ROW)
#undef KP_GATE_FIELD_ROW
		KP_GATE_FIELD_COUNT
};

enum kp_gate_order { KP_GATE_ABOVE, KP_GATE_FROM, KP_GATE_BELOW, KP_GATE_UPTO };

struct kp_gate {
	char *rule;
	enum kp_gate_subject subject;
	char *name; /* of an operator or a kernel; else NULL */
	bool has_regex;
	regex_t regex;
	bool has_gpu;
	uint64_t gpu;
	enum kp_gate_field field;
	bool compares; /* false: a verdict that must not be */
	enum kp_gate_order order;
	enum kp_gate_kind kind;
	double value; /* of the kind's unit */
};

/* What a rule looks at. */
struct kp_gate_figure {
	double value;      /* in the unit of the rule's kind; NaN: none; infinite: from nothing */
	char comment[256]; /* "": none; else what there is to say of it */
	char lacks[128];   /* "": nothing; else what is missing, so that the figure is not known */
};

/* Whether a kernel is one that the rule means. Names may be NULL. */
bool kp_gate_fits(const struct kp_gate *gate, const char *mangled, const char *full,
		  const char *shortened);
/* Compares a figure, and puts it in words; `arena` holds them. Errors: KP_NO_MEMORY. */
enum kp_status kp_gate_settle(const struct kp_gate *gate, const struct kp_gate_figure *figure,
			      struct kp_arena *arena, struct kp_gate_outcome *out);

#endif
