/* A recursive descent over the text of an expression; see ab_expression.h. */
#include "analyzers/ab_expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NESTED_MOST 32 /* of parentheses, and of names that stand for others */
#define NAME_BYTES 64
#define LEVELS 6

struct parse {
	const struct kp_ab_scope *scope;
	struct kp_ab_expression *out;
	const char *at;
	int depth;
};

static const struct {
	const char *name;
	bool is_float, of_launches, of_calls;
} symbols[KP_AB_SYMBOL_COUNT] = {
#define ROW(NAME, name, is_float, launches, calls, what) {name, is_float, launches, calls},
	KP_AB_SYMBOLS(ROW)
#undef ROW
};

static const struct {
	const char *name;
	bool is_float;
} loads[KP_AB_LOAD_COUNT] = {
#define ROW(NAME, name, bytes, is_float) {name, is_float},
	KP_AB_LOADS(ROW)
#undef ROW
};

#define LINEAR (KP_AB_ARG_linear_skinny_activation + 1)
#define ACTIVATION (KP_AB_ARG_activation_activation + 1)

/*
 * Numbers by name: cudaDataType, cublasOperation_t and cublasComputeType_t + 1, epilogues; choices
 * of a built-in's argument, each by its own numbers.
 */
static const struct {
	const char *name;
	int64_t value;
	uint32_t row; /* as in kp_ab_scope; 0: anywhere */
} constants[] = {
	{"fp32", 1, 0},
	{"fp16", 3, 0},
	{"bf16", 15, 0},
	{"normal", 1, 0},
	{"transposed", 2, 0},
	{"conjugated", 3, 0},
	{"compute_32f", 69, 0},
	{"compute_16f", 65, 0},
	{"no_epilogue", 1, 0},
	{"bias_epilogue", 4, 0},
	{"none", 0, LINEAR},
	{"relu", 1, LINEAR},
	{"silu", 2, LINEAR},
	{"gelu_tanh", 3, LINEAR},
	{"gelu_erf", 4, LINEAR},
	{"silu", 0, ACTIVATION},
	{"gelu_tanh", 1, ACTIVATION},
	{"gelu_erf", 2, ACTIVATION},
	{"true", 1, 0},
	{"false", 0, 0},
};

/* The operators of each level, the weakest first. */
static const struct {
	const char *text;
	int level;
	enum kp_ab_op_code code;
	bool negated;
} operators[] = {
	{"||", 0, KP_AB_OP_OR, false},         {"&&", 1, KP_AB_OP_AND, false},
	{"==", 2, KP_AB_OP_EQUAL, false},      {"!=", 2, KP_AB_OP_EQUAL, true},
	{"<=", 3, KP_AB_OP_LESS_EQUAL, false}, {">=", 3, KP_AB_OP_LESS, true},
	{"<", 3, KP_AB_OP_LESS, false},        {">", 3, KP_AB_OP_LESS_EQUAL, true},
	{"+", 4, KP_AB_OP_ADD, false},         {"-", 4, KP_AB_OP_SUBTRACT, false},
	{"*", 5, KP_AB_OP_MULTIPLY, false},    {"/", 5, KP_AB_OP_DIVIDE, false},
	{"%", 5, KP_AB_OP_REMAINDER, false},
};

static bool parse_level(struct parse *parse, int level, enum kp_ab_type *type);

static __attribute__((format(printf, 2, 3))) bool fail(struct parse *parse, const char *format, ...)
{
	va_list arguments;

	if (parse->out->error[0])
		return false;
	va_start(arguments, format);
	vsnprintf(parse->out->error, sizeof(parse->out->error), format, arguments);
	va_end(arguments);
	return false;
}

static void skip_blanks(struct parse *parse)
{
	while (isspace((unsigned char)*parse->at))
		parse->at++;
}

static bool take(struct parse *parse, const char *text)
{
	skip_blanks(parse);
	if (strncmp(parse->at, text, strlen(text)) != 0)
		return false;
	parse->at += strlen(text);
	return true;
}

static bool put(struct parse *parse, struct kp_ab_op op)
{
	if (parse->out->count == KP_AB_EXPRESSION_OPS_MOST)
		return fail(parse, "an expression of more than %d steps",
			    KP_AB_EXPRESSION_OPS_MOST);
	parse->out->ops[parse->out->count++] = op;
	return true;
}

static bool put_code(struct parse *parse, enum kp_ab_op_code code)
{
	return put(parse, (struct kp_ab_op){.code = (uint8_t)code});
}

static bool put_value(struct parse *parse, int64_t value)
{
	return put(parse, (struct kp_ab_op){.code = KP_AB_OP_CONSTANT, .value = value});
}

static bool parse_number(struct parse *parse, enum kp_ab_type *type)
{
	char *end, *float_end;
	long long value;
	double real;

	errno = 0;
	value = strtoll(parse->at, &end, 0);
	if (errno)
		return fail(parse, "a number beyond 64 bits");
	real = strtod(parse->at, &float_end);
	*type = float_end > end ? KP_AB_FLOAT : KP_AB_INTEGER;
	parse->at = *type == KP_AB_FLOAT ? float_end : end;
	if (isalnum((unsigned char)*parse->at))
		return fail(parse, "«%.10s» behind a number", parse->at);
	return put_value(parse, *type == KP_AB_FLOAT ? kp_ab_bits(real) : value);
}

static bool parse_name(struct parse *parse, char name[NAME_BYTES])
{
	size_t length = 0;

	skip_blanks(parse);
	while (isalnum((unsigned char)parse->at[length]) || parse->at[length] == '_')
		length++;
	if (length == 0)
		return *parse->at ? fail(parse, "«%.10s» is not expected here", parse->at)
				  : fail(parse, "something is missing at the end");
	if (length >= NAME_BYTES)
		return fail(parse, "the name «%.20s…» is too long", parse->at);
	memcpy(name, parse->at, length);
	name[length] = '\0';
	parse->at += length;
	return true;
}

static bool parse_whole(struct parse *parse, long most, long *out)
{
	char *end;

	skip_blanks(parse);
	errno = 0;
	*out = strtol(parse->at, &end, 0);
	if (end == parse->at || errno || *out < 0 || *out > most)
		return fail(parse, "a number from 0 to %ld is expected at «%.10s»", most,
			    parse->at);
	parse->at = end;
	return true;
}

uint32_t kp_ab_expression_load(const char *name, enum kp_ab_type *type)
{
	uint32_t load = 0;

	while (load < KP_AB_LOAD_COUNT && strcmp(loads[load].name, name) != 0)
		load++;
	*type = load < KP_AB_LOAD_COUNT && loads[load].is_float ? KP_AB_FLOAT : KP_AB_INTEGER;
	return load;
}

/* TYPE(parameter) or TYPE(parameter, byte), of a member or of the one launch that there is. */
static bool parse_load(struct parse *parse, uint32_t load, const struct kp_ab_scope_member *of)
{
	long parameter, byte = 0;

	if (parse->scope->match == KP_AB_MATCH_GEMM)
		return fail(parse, "a call has no parameters: use its names");
	if (parse->scope->operands)
		return fail(parse, "what is recognised has no parameters: use its operands' names");
	if (parse->scope->members && !of)
		return fail(parse, "of which member? Say NAME.%s(…)", loads[load].name);
	if (of && of->parameters == 0)
		return fail(parse, "«%s» has no parameters", of->name);
	if (!parse_whole(parse, of ? (long)of->parameters - 1 : KP_AB_PARAMETERS_MOST - 1,
			 &parameter) ||
	    (take(parse, ",") && !parse_whole(parse, KP_AB_PARAMETER_BYTES_MOST - 1, &byte)))
		return false;
	return put(parse, (struct kp_ab_op){
				  .code = KP_AB_OP_LOAD,
				  .type = (uint8_t)load,
				  .index = (uint16_t)(parameter + (of ? of->first_parameter : 0)),
				  .value = byte});
}

static bool parse_integer(struct parse *parse)
{
	enum kp_ab_type type;

	return parse_level(parse, 0, &type) &&
	       (type == KP_AB_INTEGER || fail(parse, "a whole number is expected, not a float"));
}

static bool parse_pair(struct parse *parse, enum kp_ab_op_code code)
{
	return parse_integer(parse) &&
	       (take(parse, ",") || fail(parse, "«,» is expected at «%.10s»", parse->at)) &&
	       parse_integer(parse) && put_code(parse, code);
}

static bool parse_function(struct parse *parse, const char *name, enum kp_ab_type *type)
{
	uint32_t load = kp_ab_expression_load(name, type);
	bool good;

	if (load < KP_AB_LOAD_COUNT)
		good = parse_load(parse, load, NULL);
	else if (strcmp(name, "min") == 0)
		good = parse_pair(parse, KP_AB_OP_MIN);
	else if (strcmp(name, "max") == 0)
		good = parse_pair(parse, KP_AB_OP_MAX);
	else if (strcmp(name, "ceildiv") == 0)
		good = parse_pair(parse, KP_AB_OP_CEILDIV);
	else
		return fail(parse, "there is no function «%s»", name);
	return good && (take(parse, ")") || fail(parse, "«)» is missing at «%.10s»", parse->at));
}

/* The text that a name stands for, in its place. */
static bool parse_let(struct parse *parse, const struct kp_ab_let *let, enum kp_ab_type *type)
{
	struct parse inner = *parse;

	inner.at = let->text;
	if (++inner.depth > NESTED_MOST)
		return fail(parse, "«%s» stands for itself, or too deep", let->name);
	if (!parse_level(&inner, 0, type))
		return false;
	skip_blanks(&inner);
	return !*inner.at || fail(parse, "«%.10s» is not expected in «%s»", inner.at, let->name);
}

/* The symbol of an operand, «x», or of the step from a row of it to the next, «x_row». */
static size_t find_operand(const struct kp_ab_scope *scope, const char *name)
{
	for (size_t i = 0; scope->operands && i < KP_AB_OPERANDS_MOST; i++) {
		const char *operand = scope->operands[i];
		size_t length = operand ? strlen(operand) : 0;

		if (!operand || strncmp(name, operand, length) != 0)
			continue;
		if (!name[length])
			return KP_AB_SYMBOL_OPERAND_0 + i;
		if (strcmp(name + length, "_row") == 0)
			return KP_AB_SYMBOL_ROW_0 + i;
	}
	return KP_AB_SYMBOL_COUNT;
}

static bool put_symbol(struct parse *parse, size_t symbol, enum kp_ab_type *type)
{
	*type = symbols[symbol].is_float ? KP_AB_FLOAT : KP_AB_INTEGER;
	return put(parse, (struct kp_ab_op){.code = KP_AB_OP_SYMBOL, .index = (uint16_t)symbol});
}

/* Whether it may be used here; else *where says what it is of. */
static bool is_there(const struct kp_ab_scope *scope, size_t symbol, const char **where)
{
	bool of_launches = symbols[symbol].of_launches, of_calls = symbols[symbol].of_calls;

	*where = of_launches ? "launches" : of_calls ? "calls" : "what is recognised";
	if (scope->operands)
		return !of_launches && !of_calls;
	return scope->match == KP_AB_MATCH_GEMM ? of_calls : of_launches;
}

static bool parse_symbol(struct parse *parse, const char *name, enum kp_ab_type *type)
{
	const char *where;
	size_t operand;

	for (size_t i = 0; i < parse->scope->let_count; i++)
		if (strcmp(parse->scope->lets[i].name, name) == 0)
			return parse_let(parse, &parse->scope->lets[i], type);
	operand = find_operand(parse->scope, name);
	if (operand < KP_AB_SYMBOL_COUNT)
		return put_symbol(parse, operand, type);
	for (size_t i = 0; i < KP_AB_SYMBOL_COUNT; i++) {
		if (strcmp(symbols[i].name, name) != 0)
			continue;
		if (parse->scope->members)
			return fail(parse, "«%s» is of one launch: use it in a member's «when»",
				    name);
		if (!is_there(parse->scope, i, &where))
			return fail(parse, "«%s» is of %s", name, where);
		return put_symbol(parse, i, type);
	}
	*type = KP_AB_INTEGER;
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (strcmp(constants[i].name, name) == 0 &&
		    (constants[i].row == 0 || constants[i].row == parse->scope->row))
			return put_value(parse, constants[i].value);
	return fail(parse, "there is no «%s»", name);
}

/* Behind «NAME.»: what is read of that member. */
static bool parse_member(struct parse *parse, const char *name, enum kp_ab_type *type)
{
	const struct kp_ab_scope *scope = parse->scope;
	char what[NAME_BYTES];
	uint32_t load;
	size_t i = 0;

	while (i < scope->member_count && strcmp(scope->members[i].name, name) != 0)
		i++;
	if (!scope->members || i == scope->member_count)
		return fail(parse, "there is no member «%s»", name);
	if (!parse_name(parse, what))
		return false;
	load = kp_ab_expression_load(what, type);
	if (load == KP_AB_LOAD_COUNT || !take(parse, "("))
		return fail(parse, "TYPE(…) is expected behind «%s.»", name);
	return parse_load(parse, load, &scope->members[i]) &&
	       (take(parse, ")") || fail(parse, "«)» is missing at «%.10s»", parse->at));
}

static bool parse_prefix(struct parse *parse, enum kp_ab_type *type);

static bool parse_inner(struct parse *parse, enum kp_ab_type *type)
{
	char name[NAME_BYTES];

	if (take(parse, "("))
		return parse_level(parse, 0, type) &&
		       (take(parse, ")") || fail(parse, "«)» is missing at «%.10s»", parse->at));
	if (strncmp(parse->at, "!=", 2) != 0 && take(parse, "!"))
		return parse_prefix(parse, type) &&
		       (*type == KP_AB_INTEGER || fail(parse, "! of a float")) &&
		       put_code(parse, KP_AB_OP_NOT);
	if (take(parse, "-"))
		return parse_prefix(parse, type) &&
		       (*type == KP_AB_INTEGER || fail(parse, "- of a float")) &&
		       put_code(parse, KP_AB_OP_NEGATE);
	if (isdigit((unsigned char)*parse->at))
		return parse_number(parse, type);
	if (!parse_name(parse, name))
		return false;
	if (take(parse, "."))
		return parse_member(parse, name, type);
	return take(parse, "(") ? parse_function(parse, name, type)
				: parse_symbol(parse, name, type);
}

static bool parse_prefix(struct parse *parse, enum kp_ab_type *type)
{
	bool good;

	skip_blanks(parse);
	if (++parse->depth > NESTED_MOST)
		return fail(parse, "parentheses within more than %d others", NESTED_MOST);
	good = parse_inner(parse, type);
	parse->depth--;
	return good;
}

static size_t find_operator(struct parse *parse, int level)
{
	size_t i = 0;

	while (i < sizeof(operators) / sizeof(operators[0]) &&
	       (operators[i].level != level || !take(parse, operators[i].text)))
		i++;
	return i;
}

/* Makes both sides of one type; `split` is where the right one begins. */
static bool unify(struct parse *parse, size_t split, enum kp_ab_type left, enum kp_ab_type right)
{
	struct kp_ab_expression *out = parse->out;

	if (left == right)
		return true;
	if (right == KP_AB_INTEGER)
		return put_code(parse, KP_AB_OP_TO_FLOAT);
	if (!put_code(parse, KP_AB_OP_TO_FLOAT))
		return false;
	memmove(&out->ops[split + 1], &out->ops[split],
		(out->count - 1 - split) * sizeof(out->ops[0]));
	out->ops[split] = (struct kp_ab_op){.code = KP_AB_OP_TO_FLOAT};
	return true;
}

/* Floats can only be compared: != and >= hold for a NaN, as ! of == and < do. */
static bool put_operator(struct parse *parse, size_t which, size_t split, enum kp_ab_type left,
			 enum kp_ab_type right)
{
	enum kp_ab_op_code code = operators[which].code;

	if (left == KP_AB_FLOAT || right == KP_AB_FLOAT) {
		if (operators[which].level != 2 && operators[which].level != 3)
			return fail(parse, "«%s» of a float", operators[which].text);
		code = code - KP_AB_OP_EQUAL + KP_AB_OP_FLOAT_EQUAL;
	}
	return unify(parse, split, left, right) && put_code(parse, code) &&
	       (!operators[which].negated || put_code(parse, KP_AB_OP_NOT));
}

static bool parse_level(struct parse *parse, int level, enum kp_ab_type *type)
{
	size_t which;

	if (level == LEVELS)
		return parse_prefix(parse, type);
	if (!parse_level(parse, level + 1, type))
		return false;
	while ((which = find_operator(parse, level)) < sizeof(operators) / sizeof(operators[0])) {
		size_t split = parse->out->count;
		enum kp_ab_type right;

		if (!parse_level(parse, level + 1, &right) ||
		    !put_operator(parse, which, split, *type, right))
			return false;
		*type = KP_AB_INTEGER;
	}
	return true;
}

enum kp_status kp_ab_expression_compile(const char *text, const struct kp_ab_scope *scope,
					enum kp_ab_type wanted, struct kp_ab_expression *out)
{
	struct parse parse = {.scope = scope, .out = out, .at = text};
	enum kp_ab_type type = KP_AB_INTEGER;
	bool good;

	out->count = 0;
	out->error[0] = '\0';
	good = parse_level(&parse, 0, &type);
	skip_blanks(&parse);
	if (good && *parse.at)
		good = fail(&parse, "«%.20s» is not expected here", parse.at);
	if (good && type == KP_AB_FLOAT && wanted == KP_AB_INTEGER)
		good = fail(&parse, "a whole number is expected, not a float");
	if (good && type == KP_AB_INTEGER && wanted == KP_AB_FLOAT)
		good = put_code(&parse, KP_AB_OP_TO_FLOAT);
	if (good && !kp_ab_code_check(out->ops, out->count))
		good = fail(&parse, "an expression that is too deep");
	return good ? KP_OK : KP_INVALID;
}
