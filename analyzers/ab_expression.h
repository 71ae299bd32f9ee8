/*
 * Compiles the expressions of A/B rules to the code of trace/ab_code.h; docs/rules.md has the
 * grammar. Names that a rule has defined («let») stand for their text.
 */
#ifndef KP_ANALYZERS_AB_EXPRESSION_H
#define KP_ANALYZERS_AB_EXPRESSION_H

#include "trace/ab_plan.h"
#include "trace/status.h"

/* A name that the rule has defined. */
struct kp_ab_let {
	const char *name, *text;
};

/* A member of a sequence, by whose name its parameters are read: «square.ptr(0)». */
struct kp_ab_scope_member {
	const char *name;
	uint32_t first_parameter, parameters;
};

enum kp_ab_type { KP_AB_INTEGER, KP_AB_FLOAT };

/* What an expression may refer to. */
struct kp_ab_scope {
	enum kp_ab_match match; /* launches or calls */
	const struct kp_ab_let *lets;
	size_t let_count;
	uint32_t row; /* 1 + that of the built-in's argument, whose choices have names; 0: none */
	const struct kp_ab_scope_member *members; /* NULL: it is not about a whole sequence */
	size_t member_count;
	/* Of what is recognised: operands by name, KP_AB_OPERANDS_MOST; NULL: there is none. */
	const char *const *operands;
};

/* The enum kp_ab_load of that name, and what it gives; KP_AB_LOAD_COUNT: there is none. */
uint32_t kp_ab_expression_load(const char *name, enum kp_ab_type *type);

#define KP_AB_EXPRESSION_OPS_MOST 256
#define KP_AB_EXPRESSION_ERROR_BYTES 128

struct kp_ab_expression {
	struct kp_ab_op ops[KP_AB_EXPRESSION_OPS_MOST];
	size_t count;
	char error[KP_AB_EXPRESSION_ERROR_BYTES];
};

/* Errors: KP_INVALID, out->error says why. A whole number becomes a float where that is wanted. */
enum kp_status kp_ab_expression_compile(const char *text, const struct kp_ab_scope *scope,
					enum kp_ab_type wanted, struct kp_ab_expression *out);

#endif
