/* Parses rules; see gates.h for the grammar. Pure. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/gates_rule.h"

static const char *const subject_names[KP_GATE_SUBJECT_COUNT] = {
#define X(NAME, name, about) name,
	KP_GATE_SUBJECTS(X)
#undef X
};

static const struct {
	const char *name;
	unsigned subjects, report_kinds, diff_kinds;
} fields[KP_GATE_FIELD_COUNT] = {
#define X(NAME, name, subjects, report, diff) {name, subjects, report, diff},
	KP_GATE_FIELDS(X)
#undef X
};

/* What a number of that unit is multiplied by. */
static const struct {
	const char *name;
	enum kp_gate_kind kind;
	double factor;
} units[] = {
	{"%", KP_GATE_PCT, 1},        {"ns", KP_GATE_TIME, 1},   {"us", KP_GATE_TIME, 1e3},
	{"µs", KP_GATE_TIME, 1e3},    {"ms", KP_GATE_TIME, 1e6}, {"s", KP_GATE_TIME, 1e9},
	{"MB/s", KP_GATE_RATE, 1e-3}, {"GB/s", KP_GATE_RATE, 1}, {"TB/s", KP_GATE_RATE, 1e3},
	{"", KP_GATE_COUNT, 1},
};

struct parse {
	const char *at;
	enum kp_gate_scope scope;
	const struct kp_operators *operators;
	struct kp_gate *gate;
	struct kp_gate_error *error;
};

__attribute__((format(printf, 3, 4))) static enum kp_status complain(struct parse *parse,
								     const char *at,
								     const char *format, ...)
{
	va_list arguments;

	parse->error->column = (size_t)(at - parse->gate->rule) + 1;
	va_start(arguments, format);
	vsnprintf(parse->error->text, sizeof(parse->error->text), format, arguments);
	va_end(arguments);
	return KP_INVALID;
}

static void skip_blanks(struct parse *parse)
{
	parse->at += strspn(parse->at, " \t");
}

static bool take(struct parse *parse, const char *token)
{
	size_t length = strlen(token);

	skip_blanks(parse);
	if (strncmp(parse->at, token, length) != 0)
		return false;
	parse->at += length;
	return true;
}

/* The length of the word that begins here. */
static size_t word_length(const char *at)
{
	return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
}

/* Adds a name to a list of what there is. */
static void list(char *out, size_t size, const char *name)
{
	size_t length = strlen(out);

	snprintf(out + length, size - length, "%s%s", length ? ", " : "", name);
}

/* ---- subjects ---- */

static bool is_verdict(enum kp_gate_subject subject)
{
	return subject >= KP_GATE_SLOWER;
}

/* Whether rules of this scope can be about it. */
static bool subject_is_there(const struct parse *parse, enum kp_gate_subject subject)
{
	return parse->scope == KP_GATE_DIFF ? subject != KP_GATE_GPU : !is_verdict(subject);
}

static enum kp_status parse_subject(struct parse *parse)
{
	char names[160] = "";
	size_t length;

	skip_blanks(parse);
	length = word_length(parse->at);
	for (unsigned i = 0; i < KP_GATE_SUBJECT_COUNT; i++) {
		if (!subject_is_there(parse, i))
			continue;
		list(names, sizeof(names), subject_names[i]);
		if (strlen(subject_names[i]) != length ||
		    strncmp(subject_names[i], parse->at, length) != 0)
			continue;
		parse->gate->subject = i;
		parse->at += length;
		return KP_OK;
	}
	return complain(parse, parse->at, "a rule begins with one of %s", names);
}

/* Up to the bracket that closes the one before `at`; NULL: none does. */
static const char *find_close(const char *at)
{
	unsigned depth = 1;

	for (; *at; at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (!depth)
			return at;
	}
	return NULL;
}

/*
 * What stands in brackets: between quotes or slashes as it is, with a backslash before quotes or
 * slashes within; else all up to the closing bracket, blanks at the ends left out.
 */
static enum kp_status parse_argument(struct parse *parse, char **out, char *quote)
{
	const char *begin, *end;
	char *to;

	skip_blanks(parse);
	begin = parse->at;
	*quote = *begin == '"' || *begin == '/' ? *begin : '\0';
	to = *out = malloc(strlen(begin) + 1);
	if (!to)
		return KP_NO_MEMORY;
	if (*quote) {
		for (end = begin + 1; *end && *end != *quote; end++) {
			end += *end == '\\' && end[1] == *quote;
			*to++ = *end;
		}
		if (!*end)
			return complain(parse, begin, "this %c is never closed", *quote);
		parse->at = end + 1;
	} else {
		end = find_close(begin);
		if (!end)
			return complain(parse, begin - 1, "this bracket is never closed");
		parse->at = end;
		for (; end > begin && (end[-1] == ' ' || end[-1] == '\t');)
			end--;
		memcpy(to, begin, (size_t)(end - begin));
		to += end - begin;
	}
	*to = '\0';
	if (!**out)
		return complain(parse, begin, "a name is missing");
	return take(parse, ")") ? KP_OK : complain(parse, parse->at, "a ) is missing");
}

static enum kp_status check_operator(struct parse *parse, const char *at)
{
	char names[400] = "";

	for (size_t i = 0; i < kp_operators_count(parse->operators); i++) {
		if (strcmp(kp_operators_name(parse->operators, i), parse->gate->name) == 0)
			return KP_OK;
		list(names, sizeof(names), kp_operators_name(parse->operators, i));
	}
	return complain(parse, at, "no operator is called %.40s; there are %s", parse->gate->name,
			names);
}

static enum kp_status compile(struct parse *parse, const char *at)
{
	char why[128];
	int error = regcomp(&parse->gate->regex, parse->gate->name, REG_EXTENDED | REG_NOSUB);

	if (!error) {
		parse->gate->has_regex = true;
		return KP_OK;
	}
	regerror(error, &parse->gate->regex, why, sizeof(why));
	return complain(parse, at, "not a regular expression: %s", why);
}

static enum kp_status parse_gpu(struct parse *parse, const char *at)
{
	char *end;

	parse->gate->gpu = strtoull(parse->gate->name, &end, 10);
	parse->gate->has_gpu = true;
	if (*end || !isdigit((unsigned char)*parse->gate->name))
		return complain(parse, at, "the number of a GPU is missing, as in gpu(0)");
	return KP_OK;
}

static enum kp_status parse_name(struct parse *parse)
{
	enum kp_gate_subject subject = parse->gate->subject;
	const char *at;
	char quote = '\0';
	enum kp_status status;

	if (!take(parse, "(")) {
		if (subject == KP_GATE_OPERATOR || subject == KP_GATE_KERNEL)
			return complain(parse, parse->at,
					"a name in brackets is missing, as in "
					"%s(NAME)",
					subject_names[subject]);
		return KP_OK;
	}
	if (subject == KP_GATE_TOTAL || is_verdict(subject))
		return complain(parse, parse->at - 1, "%s has no name", subject_names[subject]);
	at = parse->at;
	status = parse_argument(parse, &parse->gate->name, &quote);
	if (status != KP_OK)
		return status;
	if (subject == KP_GATE_GPU)
		return parse_gpu(parse, at);
	if (subject == KP_GATE_OPERATOR)
		return check_operator(parse, at);
	return quote == '/' ? compile(parse, at) : KP_OK;
}

/* ---- fields, comparisons, values ---- */

static unsigned kinds_of(const struct parse *parse, unsigned field)
{
	return parse->scope == KP_GATE_DIFF ? fields[field].diff_kinds : fields[field].report_kinds;
}

static enum kp_status parse_field(struct parse *parse)
{
	char names[160] = "";
	size_t length;

	for (unsigned i = 0; i < KP_GATE_FIELD_COUNT; i++)
		if (fields[i].subjects >> parse->gate->subject & 1 && kinds_of(parse, i))
			list(names, sizeof(names), fields[i].name);
	if (!take(parse, "."))
		return complain(parse, parse->at, "a field is missing: .%s",
				names[0] ? names : "time");
	length = word_length(parse->at);
	for (unsigned i = 0; i < KP_GATE_FIELD_COUNT; i++) {
		if (strlen(fields[i].name) != length ||
		    strncmp(fields[i].name, parse->at, length) != 0 ||
		    !(fields[i].subjects >> parse->gate->subject & 1) || !kinds_of(parse, i))
			continue;
		parse->gate->field = i;
		parse->at += length;
		return KP_OK;
	}
	return complain(parse, parse->at, "%s has the fields %s",
			subject_names[parse->gate->subject], names);
}

static enum kp_status parse_order(struct parse *parse)
{
	/* The longer ones first. */
	static const struct {
		const char *token;
		enum kp_gate_order order;
	} orders[] = {{">=", KP_GATE_FROM},
		      {"<=", KP_GATE_UPTO},
		      {">", KP_GATE_ABOVE},
		      {"<", KP_GATE_BELOW}};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		if (!take(parse, orders[i].token))
			continue;
		parse->gate->order = orders[i].order;
		return KP_OK;
	}
	return complain(parse, parse->at, "a comparison is missing: >, >=, < or <=");
}

#define NO_UNIT "none"

/* The units of the kinds, for people. */
static void list_units(unsigned kinds, char *out, size_t size)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (units[i].kind & kinds)
			list(out, size, *units[i].name ? units[i].name : NO_UNIT);
}

static enum kp_status parse_value(struct parse *parse, unsigned kinds)
{
	const char *begin, *unit;
	char names[96] = "", *end;
	double number;
	size_t digits;

	skip_blanks(parse);
	begin = parse->at;
	digits = strspn(begin + (*begin == '-'), "0123456789.");
	number = strtod(begin, &end);
	/* strtod takes exponents, names and hexadecimal as well. */
	if (!digits || end != begin + (*begin == '-') + digits || !isfinite(number))
		return complain(parse, begin, "a number is missing, as in 30%% or 1.5ms");
	parse->at = end;
	skip_blanks(parse);
	unit = parse->at;
	parse->at += strcspn(unit, " \t");
	list_units(kinds, names, sizeof(names));
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strlen(units[i].name) != (size_t)(parse->at - unit) ||
		    strncmp(units[i].name, unit, strlen(units[i].name)) != 0 ||
		    !(units[i].kind & kinds))
			continue;
		parse->gate->kind = units[i].kind;
		parse->gate->value = number * units[i].factor;
		return KP_OK;
	}
	if (strcmp(names, NO_UNIT) == 0)
		return complain(parse, unit, "it is a number, without a unit");
	return complain(parse, unit, "the unit is one of %s", names);
}

static enum kp_status parse_rule(struct parse *parse)
{
	unsigned kinds = KP_GATE_PCT;
	enum kp_status status = parse_subject(parse);

	if (status == KP_OK)
		status = parse_name(parse);
	if (status != KP_OK)
		return status;
	skip_blanks(parse);
	if (is_verdict(parse->gate->subject) &&
	    (!*parse->at || parse->gate->subject == KP_GATE_INCONCLUSIVE)) {
		return *parse->at ? complain(parse, parse->at, "inconclusive stands alone") : KP_OK;
	}
	if (!is_verdict(parse->gate->subject)) {
		status = parse_field(parse);
		kinds = status == KP_OK ? kinds_of(parse, parse->gate->field) : 0;
	}
	if (status == KP_OK)
		status = parse_order(parse);
	if (status == KP_OK)
		status = parse_value(parse, kinds);
	parse->gate->compares = true;
	skip_blanks(parse);
	if (status == KP_OK && *parse->at)
		status = complain(parse, parse->at, "nothing follows a rule's value");
	return status;
}

enum kp_status kp_gate_create(const char *rule, enum kp_gate_scope scope,
			      const struct kp_operators *operators, struct kp_gate **out,
			      struct kp_gate_error *error)
{
	struct parse parse = {.scope = scope, .operators = operators, .error = error};
	enum kp_status status = KP_NO_MEMORY;

	*out = parse.gate = calloc(1, sizeof(*parse.gate));
	if (!parse.gate)
		return KP_NO_MEMORY;
	parse.gate->rule = malloc(strlen(rule) + 1);
	if (parse.gate->rule) {
		memcpy(parse.gate->rule, rule, strlen(rule) + 1);
		parse.at = parse.gate->rule;
		status = parse_rule(&parse);
	}
	if (status != KP_OK) {
		kp_gate_destroy(parse.gate);
		*out = NULL;
	}
	return status;
}

void kp_gate_destroy(struct kp_gate *gate)
{
	if (!gate)
		return;
	if (gate->has_regex)
		regfree(&gate->regex);
	free(gate->name);
	free(gate->rule);
	free(gate);
}
