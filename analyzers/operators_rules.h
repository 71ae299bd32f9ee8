/* Rules in memory: private to operators*.c and sequences.c. All of it lives in the arena. */
#ifndef KP_ANALYZERS_OPERATORS_RULES_H
#define KP_ANALYZERS_OPERATORS_RULES_H

#include <stdbool.h>

#include "analyzers/operators.h"
#include "trace/arena.h"

/* Alternatives of one condition; count = 0: the rule does not ask. */
struct kp_pattern_list {
	const char **items;
	size_t count;
};

enum kp_rule_condition {
	KP_RULE_FUNCTION,
	KP_RULE_SCOPE,
	KP_RULE_ARGUMENT,
	KP_RULE_PARAMETER,
	KP_RULE_WORDS,
	KP_RULE_CONDITION_COUNT
};

/* What a rule says where its conditions hold: of each kind there is one list of rules. */
enum kp_rule_kind {
	KP_RULE_OPERATOR,
	KP_RULE_LIBRARY,
	KP_RULE_TYPE,
	KP_RULE_STEP,
	KP_RULE_KIND_COUNT
};

struct kp_operator_rule {
	size_t operator_index; /* of KP_RULE_OPERATOR */
	const char *text; /* its variant (NULL: the number type), the library, the type, step */
	unsigned inputs;  /* of a step, see struct kp_label */
	bool helper, user;
	struct kp_pattern_list conditions[KP_RULE_CONDITION_COUNT];
};

struct kp_rule_list {
	struct kp_operator_rule *rules;
	size_t count;
};

struct kp_operator_info {
	const char *name, *about;
};

/* Kernels by their label: all of an operator, or those of one variant. */
struct kp_label_class {
	size_t operator_index;
	const char *variant; /* NULL: any */
};

struct kp_class_list {
	struct kp_label_class *items;
	size_t count;
};

#define KP_SEQUENCE_STEPS_MAX 8

struct kp_sequence {
	size_t variant; /* what all that is part of it becomes */
	struct kp_class_list steps[KP_SEQUENCE_STEPS_MAX];
	size_t step_count;
	struct kp_class_list between, then; /* then.count = 0: anything may follow */
};

struct kp_operators {
	struct kp_arena *arena;
	struct kp_operator_info *operators;
	size_t operator_count, operator_capacity;
	struct kp_variant *variants;
	size_t variant_count, variant_capacity;
	struct kp_rule_list lists[KP_RULE_KIND_COUNT];
	struct kp_sequence *sequences;
	size_t sequence_count;
	struct kp_fusion_rule *fusions; /* fusion_rules.h */
	size_t fusion_count;
};

/* Whether a label belongs to a class of the list. */
bool kp_classes_hold(const struct kp_operators *operators, const struct kp_class_list *list,
		     const struct kp_label *label);

/* The number of a variant; `variant_count` if there is none. */
size_t kp_variant_find(const struct kp_operators *operators, size_t operator_index,
		       const char *name);

/* operators_load.c: the number of an operator's variant, which there is from then on. Errors:
 * KP_NO_MEMORY; KP_INVALID: there is no such operator. */
enum kp_status kp_variant_need(struct kp_operators *operators, const char *operator_name,
			       const char *name, size_t *out);

/* operators_match.c: the first rule of each list that fits, and the first built-in one about
 * operators; NULL: none. Errors: KP_NO_MEMORY. */
enum kp_status kp_rules_match(const struct kp_operators *operators, const char *full,
			      const struct kp_operator_rule *out[KP_RULE_KIND_COUNT],
			      const struct kp_operator_rule **builtin);

#endif
