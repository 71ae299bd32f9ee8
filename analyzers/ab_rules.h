/*
 * A/B rules from YAML (docs/rules.md), compiled to a plan (trace/ab_plan.h) that programs map.
 *
 * Rules of several files come one after the other; the first that fits a launch is its rule. Not
 * thread-safe.
 */
#ifndef KP_ANALYZERS_AB_RULES_H
#define KP_ANALYZERS_AB_RULES_H

#include "analyzers/operators.h"
#include "trace/ab_plan.h"

struct kp_ab_rules;

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_ab_rules_create(struct kp_ab_rules **out);
/* NULL is allowed. */
void kp_ab_rules_destroy(struct kp_ab_rules *rules);
/*
 * Adds the rules of a text. Files that they name are relative to `folder`. After an error only
 * kp_ab_rules_destroy may follow. Errors: KP_INVALID (*error says where and what), KP_NO_MEMORY.
 */
enum kp_status kp_ab_rules_add(struct kp_ab_rules *rules, const char *yaml, size_t length,
			       const char *folder, struct kp_rules_error *error);
/* Adds the rules that kprof has. Errors: KP_NO_MEMORY. */
enum kp_status kp_ab_rules_add_builtin(struct kp_ab_rules *rules);

/*
 * Rules about sequences that were never replaced on a GPU (`recognise`, and no `unseen`): whether
 * one is; to leave them out; and to let all of them be.
 */
bool kp_ab_rules_is_off(const struct kp_ab_rules *rules, size_t i);
void kp_ab_rules_leave_off(struct kp_ab_rules *rules);
void kp_ab_rules_allow_unseen(struct kp_ab_rules *rules);

size_t kp_ab_rules_count(const struct kp_ab_rules *rules);
/* What rule `i` is called, what it replaces, by what, and what it says of itself («about»). */
struct kp_ab_rule_words {
	const char *name, *matches, *by, *about;
	uint64_t module; /* that it asks for, by its hash; 0: none */
	bool builtin;    /* by a kernel of kprof's own */
	bool recognised; /* what it replaces is the kind of a sequence */
	bool off;        /* as kp_ab_rules_is_off */
};
struct kp_ab_rule_words kp_ab_rules_words(const struct kp_ab_rules *rules, size_t i);
/* Whether any of them is about several launches. */
bool kp_ab_rules_have_sequences(const struct kp_ab_rules *rules);
/* The name of a rule's data; "" beyond what it declares. */
const char *kp_ab_rules_data(const struct kp_ab_rules *rules, size_t rule, size_t data);
/*
 * Keeps the rules of these names alone, in their order, and lets them be, as above. False: *missing
 * is none's name.
 */
bool kp_ab_rules_keep(struct kp_ab_rules *rules, const char *const *names, size_t count,
		      const char **missing);

/* What a plan holds besides its rules. */
struct kp_ab_plan_settings {
	enum kp_ab_mode mode;
	uint32_t again, phase, seed;
	bool trials; /* what is the user's is tried first */
	const char *candidates, *results;
	const char *unit;  /* the range by which phases count; NULL: by launches */
	bool other_inputs; /* what may run twice is compared with other inputs, too */
};
/* The bytes of a plan; free them. Errors: KP_NO_MEMORY, KP_INVALID (too large). */
enum kp_status kp_ab_rules_plan(const struct kp_ab_rules *rules,
				const struct kp_ab_plan_settings *settings, void **out,
				size_t *length);

#endif
