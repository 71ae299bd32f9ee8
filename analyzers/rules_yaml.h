/*
 * Reading YAML documents of rules with libyaml: every error has a line and says what is wrong.
 * Private to operators*.c.
 */
#ifndef KP_ANALYZERS_RULES_YAML_H
#define KP_ANALYZERS_RULES_YAML_H

#include <stdbool.h>

#include <yaml.h>

#include "analyzers/operators.h"
#include "trace/arena.h"

struct kp_rules_yaml {
	yaml_document_t document;
	struct kp_arena *arena;       /* of what is copied */
	struct kp_rules_error *error; /* what went wrong first */
	size_t text_count;            /* texts of lists so far: aliases can make many of few */
};

/* Errors: KP_INVALID (error is filled), KP_NO_MEMORY. Without an error yaml_document_delete frees.
 */
enum kp_status kp_rules_yaml_load(struct kp_rules_yaml *yaml, const char *text, size_t length);

/* Says what is wrong at a node; returns KP_INVALID. */
enum kp_status kp_rules_yaml_fail(struct kp_rules_yaml *yaml, const yaml_node_t *node,
				  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* NULL: there is none of that number, or it is no mapping, no list. */
const yaml_node_t *kp_rules_yaml_mapping(struct kp_rules_yaml *yaml, int number);
const yaml_node_t *kp_rules_yaml_list(struct kp_rules_yaml *yaml, int number);
size_t kp_rules_yaml_count(const yaml_node_t *list);

/* The text of a scalar that is not empty, copied into the arena. Errors: KP_INVALID, KP_NO_MEMORY.
 */
enum kp_status kp_rules_yaml_text(struct kp_rules_yaml *yaml, int number, const char **out);

/* A list of such texts, or a single one; *count > 0. Errors as above. */
enum kp_status kp_rules_yaml_texts(struct kp_rules_yaml *yaml, int number, const char ***out,
				   size_t *count);

/* What a key of a mapping is for. */
struct kp_rules_key {
	const char *name; /* NULL ends a table */
	bool required;
};

/*
 * The values of a mapping by the rows of `keys`; 0 where a key is missing. Errors: KP_INVALID for
 * a key that is not in the table, is there twice, or is required and missing (`what` is what the
 * mapping stands for).
 */
enum kp_status kp_rules_yaml_values(struct kp_rules_yaml *yaml, int number, const char *what,
				    const struct kp_rules_key *keys, int *values);

#endif
