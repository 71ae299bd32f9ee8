/* The tables of a plan while rules are read. Private to ab_rules*.c. */
#ifndef KP_ANALYZERS_AB_RULES_PARTS_H
#define KP_ANALYZERS_AB_RULES_PARTS_H

#include "analyzers/ab_expression.h"
#include "analyzers/ab_rules.h"
#include "analyzers/rules_yaml.h"

struct kp_ab_rules {
	struct kp_arena *arena; /* of what is said about rules */
#define KP_AB_RULES_MEMBER(member, type)                                                           \
	type *member;                                                                              \
	size_t member##_count, member##_capacity;
	KP_AB_TABLES(KP_AB_RULES_MEMBER)
#undef KP_AB_RULES_MEMBER
	const char *abouts[KP_AB_RULES_MOST]; /* by rule; NULL: nothing */
};

/* Where reading is: one rule. */
struct kp_ab_reading {
	struct kp_rules_yaml yaml;
	struct kp_ab_rules *rules;
	const char *folder;
	struct kp_ab_scope scope;
	struct kp_ab_rule rule; /* not in its table yet, which may move */
	struct kp_ab_expression expression;
	/* Of a sequence: its members, and the names of its buffers; `written`, as bits. */
	struct kp_ab_scope_member members[KP_AB_MEMBERS_MOST];
	const char *buffers[KP_AB_BUFFERS_MOST];
	uint32_t buffer_count, written;
	/* Of what is recognised: its operands' names, inputs first; NULL: there is none. */
	const char *operands[KP_AB_OPERANDS_MOST];
};

#define KP_AB_LETS_MOST 32

/* A text's number. Errors: KP_NO_MEMORY. */
enum kp_status kp_ab_rules_put_text(struct kp_ab_rules *rules, const char *text, uint32_t *out);
/* An expression of a node, compiled. Errors: KP_INVALID, KP_NO_MEMORY. */
enum kp_status kp_ab_rules_put_code(struct kp_ab_reading *reading, int number, enum kp_ab_type type,
				    struct kp_ab_span *out);
/* A text of a node that is a path, relative to the folder; likewise. */
enum kp_status kp_ab_rules_put_path(struct kp_ab_reading *reading, int number, uint32_t *out);

/*
 * ab_rules.c: parts of reading->rule, or its scope; number 0: nothing is said. Errors: KP_INVALID,
 * KP_NO_MEMORY.
 */
enum kp_status kp_ab_rules_read_pattern(struct kp_ab_reading *reading, int number, bool is_regex);
enum kp_status kp_ab_rules_read_count(struct kp_ab_reading *reading, int number, long most,
				      uint32_t *out);
enum kp_status kp_ab_rules_read_parameters(struct kp_ab_reading *reading, int number);
enum kp_status kp_ab_rules_read_lets(struct kp_ab_reading *reading, int number,
				     struct kp_ab_let *lets);
enum kp_status kp_ab_rules_read_when(struct kp_ab_reading *reading, int number);
enum kp_status kp_ab_rules_read_flag(struct kp_ab_reading *reading, int number, uint32_t *out);

/* ab_sequence.c: «sequence:», and, behind the data, what else is said of one. Likewise. */
enum kp_status kp_ab_rules_read_sequence(struct kp_ab_reading *reading, int number);
struct kp_ab_sequence_keys {
	int keep, elide, row_local, hold_us;
};
enum kp_status kp_ab_rules_end_sequence(struct kp_ab_reading *reading, const yaml_node_t *node,
					const struct kp_ab_sequence_keys *said);
/* ab_recognise.c: «recognise:» and «unseen:», which is 0 where it is not there. Likewise. */
enum kp_status kp_ab_rules_read_recognised(struct kp_ab_reading *reading, int number, int unseen);
/* ab_rules_data.c: a list of data. Likewise. */
enum kp_status kp_ab_rules_read_data(struct kp_ab_reading *reading, int number,
				     enum kp_ab_role role);
/* ab_rules_module.c: «module:»; 0: it is not there. Errors: KP_INVALID. */
enum kp_status kp_ab_rules_read_module(struct kp_ab_reading *reading, int number);

/* ab_rules_replace.c: names, by enum kp_ab_builtin. */
extern const char *const kp_ab_rules_builtins[KP_AB_BUILTIN_COUNT];
/* «replace:». Errors: KP_INVALID, KP_NO_MEMORY. */
enum kp_status kp_ab_rules_read_replace(struct kp_ab_reading *reading, int number);

#endif
