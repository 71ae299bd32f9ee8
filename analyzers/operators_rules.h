/* Rules in memory: private to operators*.c. All of it lives in the arena. */
#ifndef KP_ANALYZERS_OPERATORS_RULES_H
#define KP_ANALYZERS_OPERATORS_RULES_H

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
	KP_RULE_WORDS,
	KP_RULE_CONDITION_COUNT
};

struct kp_operator_rule {
	size_t operator_index;
	struct kp_pattern_list conditions[KP_RULE_CONDITION_COUNT];
};

struct kp_operator_info {
	const char *name, *about;
};

struct kp_operators {
	struct kp_arena *arena;
	struct kp_operator_info *operators;
	size_t operator_count;
	struct kp_operator_rule *rules;
	size_t rule_count;
};

#endif
