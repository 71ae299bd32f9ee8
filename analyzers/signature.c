/* Bracket-aware scanning of demangled names; see signature.h. */
#include "analyzers/signature.h"

#include <string.h>

/* Names nested deeper than this are taken as one piece. */
#define DEPTH_MAX 256

/* What demanglers write for a namespace without a name; the second is Nsight Systems' word. */
static const char *const anonymous[] = {"(anonymous namespace)", "<unnamed>"};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '.' || c == '\\' || (unsigned char)c >= 0x80;
}

static bool starts_with(struct kp_span span, const char *text)
{
	size_t length = strlen(text);

	return kp_span_length(span) >= length && memcmp(span.begin, text, length) == 0;
}

/* Behind the namespace without a name that begins at `at`, or `at` if none does. */
static const char *skip_anonymous(const char *at, const char *end)
{
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++) {
		if (starts_with((struct kp_span){at, end}, anonymous[i]))
			return at + strlen(anonymous[i]);
	}
	return at;
}

/* The end of «operator…» at `at`, or `at` if there is none: its brackets are no brackets. */
static const char *skip_operator(const char *at, const char *end)
{
	static const char *const symbols[] = {"()", "[]",   "->*", "<=>", "<<=", ">>=", "->", "<<",
					      ">>", "<=",   ">=",  "==",  "!=",  "&&",  "||", "++",
					      "--", "+=",   "-=",  "*=",  "/=",  "%=",  "^=", "&=",
					      "|=", "\"\"", "<",   ">",   "+",   "-",   "*",  "/",
					      "%",  "^",    "&",   "|",   "~",   "!",   "=",  ","};
	struct kp_span rest = {at, end};

	if (!starts_with(rest, "operator") || (rest.begin + 8 < end && is_word(rest.begin[8])))
		return at;
	rest.begin += 8;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (!starts_with(rest, symbols[i]))
			continue;
		rest.begin += strlen(symbols[i]);
		if (symbols[i][0] == '"') { /* operator"" _suffix */
			rest.begin += rest.begin < end && *rest.begin == ' ';
			while (rest.begin < end && is_word(*rest.begin))
				rest.begin++;
		}
		return rest.begin;
	}
	/* A conversion (operator float const*) or operator new[]: up to its brackets. */
	while (rest.begin < end && *rest.begin != '(' && *rest.begin != '<')
		rest.begin++;
	return rest.begin;
}

/* Behind an operator's name or «<unnamed>» at `at`, which stands at `begin` or behind no word. */
static const char *skip_operator_within(const char *begin, const char *at, const char *end)
{
	if (at > begin && is_word(at[-1]))
		return at;
	if (*at == '<')
		return skip_anonymous(at, end);
	return *at == 'o' ? skip_operator(at, end) : at;
}

/* What closes the bracket; 0: not an opening one. A «<» opens only behind a name. */
static char closing(const char *begin, const char *at)
{
	switch (*at) {
	case '(':
		return ')';
	case '[':
		return ']';
	case '{':
		return '}';
	case '<':
		return at > begin && is_word(at[-1]) ? '>' : '\0';
	default:
		return '\0';
	}
}

/* Whether the template arguments of an operator begin at `at`, which is behind its name. */
static bool opens_arguments(const char *at, const char *end)
{
	return at < end && *at == '<';
}

/*
 * From an opening bracket at `at` to behind its partner; NULL if it has none. `>` closes only what
 * `<` opened, so that comparisons in round brackets and arrows pass. `opened` is what closes `at`.
 */
static const char *skip_brackets(const char *at, const char *end, char opened)
{
	char expected[DEPTH_MAX];
	size_t depth = 0;
	const char *begin = at;

	expected[depth++] = opened;
	for (at++; at < end; at++) {
		const char *behind = skip_operator_within(begin, at, end);
		char close;

		if (behind != at) {
			at = behind - 1;
			if (!opens_arguments(behind, end))
				continue;
			if (depth == DEPTH_MAX)
				return NULL;
			expected[depth++] = '>';
			at = behind;
			continue;
		}
		if (*at == '>' && (at[-1] == '-' || expected[depth - 1] != '>'))
			continue;
		if (*at == expected[depth - 1]) {
			if (--depth == 0)
				return at + 1;
			continue;
		}
		close = closing(begin, at);
		if (close && depth == DEPTH_MAX)
			return NULL;
		if (close)
			expected[depth++] = close;
		else if (*at == ')' || *at == ']' || *at == '}')
			return NULL;
	}
	return NULL;
}

bool kp_signature_starts_name(struct kp_span rest)
{
	return rest.begin < rest.end && (is_word(*rest.begin) || *rest.begin == '{' ||
					 skip_anonymous(rest.begin, rest.end) != rest.begin);
}

/* The end of the component's own name; NULL if there is none. */
static const char *skip_name(struct kp_span rest)
{
	const char *at = rest.begin, *behind;

	if (!kp_signature_starts_name(rest))
		return NULL;
	behind = skip_anonymous(at, rest.end);
	if (behind != at)
		return behind;
	if (*at == '{')
		return skip_brackets(at, rest.end, '}');
	behind = skip_operator(at, rest.end);
	if (behind != at)
		return behind;
	while (at < rest.end && is_word(*at))
		at++;
	/* The ABI tag of foo[abi:cxx11]. */
	if (starts_with((struct kp_span){at, rest.end}, "[abi:"))
		at = skip_brackets(at, rest.end, ']');
	return at;
}

/* Behind the qualifiers of an enclosing member function: « const», « const &», … */
static const char *skip_qualifiers(const char *at, const char *end)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "&&", "&"};

	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++) {
		if (starts_with((struct kp_span){at, end}, qualifiers[i]))
			return skip_qualifiers(at + strlen(qualifiers[i]), end);
	}
	return at;
}

bool kp_signature_component(struct kp_span *rest, struct kp_component *out, bool *last)
{
	struct kp_component found = {.name = {rest->begin, skip_name(*rest)}};
	const char *at = found.name.end, *behind;

	if (!at)
		return false;
	behind = at + (at < rest->end && *at == ' '); /* operator< <int> */
	if (behind < rest->end && *behind == '<' &&
	    (behind == at || starts_with(*rest, "operator"))) {
		const char *close = skip_brackets(behind, rest->end, '>');

		if (!close)
			return false;
		found.args = (struct kp_span){behind + 1, close - 1};
		at = close;
	}
	if (at < rest->end && *at == '(') {
		const char *close = skip_brackets(at, rest->end, ')');
		const char *next = close ? skip_qualifiers(close, rest->end) : NULL;

		if (next && starts_with((struct kp_span){next, rest->end}, "::")) {
			found.params = (struct kp_span){at + 1, close - 1};
			at = next;
		}
	}
	*last = !(starts_with((struct kp_span){at, rest->end}, "::") &&
		  kp_signature_starts_name((struct kp_span){at + 2, rest->end}));
	rest->begin = *last ? at : at + 2;
	*out = found;
	return true;
}

/* Behind the qualified name that begins at `at`; NULL if none does. */
static const char *skip_qualified(const char *at, const char *end)
{
	struct kp_span rest = {at, end};
	struct kp_component component;
	bool last = false;

	while (!last) {
		if (!kp_signature_component(&rest, &component, &last))
			return NULL;
	}
	return rest.begin;
}

/* A word that is followed by a bracket without being a function. */
static bool is_keyword(struct kp_span word)
{
	static const char *const keywords[] = {"decltype", "sizeof", "alignof", "noexcept"};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (kp_span_length(word) == strlen(keywords[i]) && starts_with(word, keywords[i]))
			return true;
	}
	return false;
}

/* All of a name that stands without its parameters, as some profilers write it. */
static struct kp_span without_parameters(struct kp_span whole)
{
	static const char returns[] = "void ";
	const char *at = whole.begin + strlen(returns);

	if (!starts_with(whole, returns) || skip_qualified(at, whole.end) != whole.end)
		return whole;
	return (struct kp_span){at, whole.end};
}

struct kp_span kp_signature_function(const char *full, struct kp_span *params)
{
	const char *end = full + strlen(full);
	struct kp_span whole = {full, end};

	if (params)
		*params = (struct kp_span){end, end};
	for (const char *at = full, *behind; at < end; at = behind) {
		behind = skip_qualified(at, end);
		if (behind && behind < end && *behind == '(' &&
		    !is_keyword((struct kp_span){at, behind})) {
			const char *close = skip_brackets(behind, end, ')');

			if (close && params)
				*params = (struct kp_span){behind + 1, close - 1};
			return close ? (struct kp_span){at, behind} : whole;
		}
		if (!behind && kp_signature_starts_name((struct kp_span){at, end}))
			return whole;
		if (behind && behind > at)
			continue;
		behind = at + 1;
		/* Returning a pointer to function puts the name within brackets. */
		if (*at == '(' && behind < end && *behind != '*' && *behind != '&') {
			behind = skip_brackets(at, end, ')');
			if (!behind)
				return whole;
		}
	}
	return without_parameters(whole);
}

bool kp_signature_argument(struct kp_span *rest, struct kp_span *out)
{
	const char *at = rest->begin, *end = rest->end, *behind;

	while (at < end && *at == ' ')
		at++;
	if (at >= end)
		return false;
	out->begin = at;
	while (at < end && *at != ',') {
		char close = closing(out->begin, at);

		behind = skip_operator_within(out->begin, at, end);
		if (behind != at && opens_arguments(behind, end))
			behind = skip_brackets(behind, end, '>');
		else if (behind == at && close)
			behind = skip_brackets(at, end, close);
		at = behind && behind != at ? behind : at + 1;
	}
	out->end = at;
	while (out->end > out->begin && out->end[-1] == ' ')
		out->end--;
	rest->begin = at < end ? at + 1 : end;
	return true;
}

bool kp_signature_is_nameless(const struct kp_component *component)
{
	struct kp_span name = component->name;

	return *name.begin == '{' || *name.begin == '(' || *name.begin == '<' ||
	       skip_operator(name.begin, name.end) != name.begin;
}

struct kp_component kp_signature_named(struct kp_span function)
{
	struct kp_component component, named = {.name = function};
	struct kp_span rest = function;
	bool last = false;

	while (!last && kp_signature_component(&rest, &component, &last)) {
		if (!kp_signature_is_nameless(&component))
			named = component;
	}
	return rest.begin == function.end ? named : (struct kp_component){.name = function};
}
