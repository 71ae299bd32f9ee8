/*
 * From kernel names to operators, by rules kept as data (operators.yaml says what they mean).
 *
 * Rules see the parts of a signature (signature.h), never its text: a word within somebody's
 * template arguments does not make a kernel an all-reduce. The first rule that fits decides; rules
 * that are put on top come before those beneath. Immutable while nothing is put on top, and then
 * thread-safe.
 */
#ifndef KP_ANALYZERS_OPERATORS_H
#define KP_ANALYZERS_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/status.h"

struct kp_operators;

/* The operator of kernels that no rule knows; it is always there, and its variant of this number
 * too. */
#define KP_OPERATOR_UNKNOWN ((size_t)0)
/* What stands for all of them, in a plan: no operator may be called so. */
#define KP_OPERATOR_ALL "all"

/* What a label rests on. */
enum kp_label_source {
	KP_LABEL_NONE,     /* nothing: unknown */
	KP_LABEL_NAME,     /* a built-in rule about the kernel's name */
	KP_LABEL_SEQUENCE, /* the kernels before and after it on its stream */
	KP_LABEL_USER      /* a rule that was put on top */
};

/* Kernels of one operator that belong together. */
struct kp_variant {
	size_t operator_index;
	const char *name; /* NULL: neither the rule nor the number type says more */
};

struct kp_label {
	size_t variant;      /* number of a kp_variant */
	const char *library; /* where the kernel comes from; NULL: its name does not tell */
	const char *dtype;   /* narrowest number type that its name tells; NULL: it does not tell */
	const char *step;    /* what it does within a chain, see fusions.yaml; NULL: not told */
	unsigned inputs; /* tensors that the step reads element by element; 0: it works otherwise */
	enum kp_label_source source;
	bool helper; /* does a part of the work of the kernel before it */
	/* Both as built-in rules have them, whatever a rule that was put on top says. */
	size_t named_variant;
	bool named_helper;
};

/* In words: «name», «sequence», «user rule»; NULL: KP_LABEL_NONE. */
const char *kp_label_source_name(enum kp_label_source source);

/* What is wrong with rules, for people. */
struct kp_rules_error {
	size_t line; /* from 1 */
	char text[160];
};

/* Rules from YAML text. Errors: KP_INVALID (*error says where and what), KP_NO_MEMORY. */
enum kp_status kp_operators_create(const char *yaml, size_t length, struct kp_operators **out,
				   struct kp_rules_error *error);
/* The built-in rules. Errors: KP_NO_MEMORY. */
enum kp_status kp_operators_builtin(struct kp_operators **out);
/*
 * Puts rules on top: they are asked first, and their labels have the source KP_LABEL_USER. After an
 * error only kp_operators_destroy may follow. Errors as above.
 */
enum kp_status kp_operators_add(struct kp_operators *operators, const char *yaml, size_t length,
				struct kp_rules_error *error);
/* NULL is allowed. */
void kp_operators_destroy(struct kp_operators *operators);

size_t kp_operators_count(const struct kp_operators *operators);
/* Name and one line about it; borrowed from `operators`. */
const char *kp_operators_name(const struct kp_operators *operators, size_t index);
const char *kp_operators_about(const struct kp_operators *operators, size_t index);

/* All variants that a label can have. */
size_t kp_operators_variant_count(const struct kp_operators *operators);
struct kp_variant kp_operators_variant(const struct kp_operators *operators, size_t number);

/*
 * The label of a kernel by its demangled, escaped name (kp_demangle). Its strings are borrowed from
 * `operators`. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_operators_match(const struct kp_operators *operators, const char *full,
				  struct kp_label *out);

#endif
