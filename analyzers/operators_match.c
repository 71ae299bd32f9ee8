/* Matching the parts of a kernel's name against rules; see operators.yaml. Pure, thread-safe. */
#include "analyzers/operators_rules.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/signature.h"

/* Scopes, identifiers and words beyond these numbers are not looked at. */
#define SCOPES_MAX 32
#define WORDS_MAX 64
#define IDENTIFIERS_MAX 4096
/* Of a name, a scope or an identifier, what is beyond is not looked at: every pattern is tried on
 * it, and a hostile trace may hold many that are as long as strings can be. */
#define SPAN_MAX_BYTES 1024

static struct kp_span cut(struct kp_span span)
{
	if (kp_span_length(span) > SPAN_MAX_BYTES)
		span.end = span.begin + SPAN_MAX_BYTES;
	return span;
}

/* What rules ask about a kernel. */
struct subject {
	struct kp_span name;
	struct kp_span scopes[SCOPES_MAX];
	size_t scope_count;
	struct kp_span words[WORDS_MAX];
	size_t word_count;
	struct kp_span *identifiers; /* of the template arguments, then of the parameters */
	size_t argument_count, identifier_count;
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Whether all of `text` matches `pattern` («*» is any run of characters), ignoring case. */
static bool matches(struct kp_span pattern, struct kp_span text)
{
	const char *star = NULL, *retry = NULL;

	while (text.begin < text.end) {
		if (pattern.begin < pattern.end && *pattern.begin == '*') {
			star = ++pattern.begin;
			retry = text.begin;
		} else if (pattern.begin < pattern.end &&
			   lower(*pattern.begin) == lower(*text.begin)) {
			pattern.begin++;
			text.begin++;
		} else if (star) {
			pattern.begin = star;
			text.begin = ++retry;
		} else {
			return false;
		}
	}
	while (pattern.begin < pattern.end && *pattern.begin == '*')
		pattern.begin++;
	return pattern.begin == pattern.end;
}

static struct kp_span whole(const char *text)
{
	return (struct kp_span){text, text + strlen(text)};
}

/* Whether one of texts[begin] to texts[end - 1] matches. */
static bool any_matches(const char *pattern, const struct kp_span *texts, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		if (matches(whole(pattern), texts[i]))
			return true;
	}
	return false;
}

/*
 * CuTe's Python compiler appends what a kernel was called with, as «_object_at_…» and
 * «_tensorptr…»: the layouts and copy atoms there say nothing of what it does.
 */
static const char *end_of_words(struct kp_span name)
{
	static const char cute[] = "kernel_cutlass_";
	static const char *const tails[] = {"_object_at_", "_tensorptr"};

	if (kp_span_length(name) < strlen(cute) || memcmp(name.begin, cute, strlen(cute)) != 0)
		return name.end;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		const char *tail =
			memmem(name.begin, kp_span_length(name), tails[i], strlen(tails[i]));

		if (tail)
			name.end = tail;
	}
	return name.end;
}

/* Splits snake_case and CamelCase: FusedAddRMSNorm is Fused, Add, RMS, Norm. */
static void split_words(struct subject *subject)
{
	const char *at = subject->name.begin, *end = end_of_words(subject->name);

	while (at < end && subject->word_count < WORDS_MAX) {
		const char *begin = at;

		if (*at == '_' || !(is_letter(*at) || is_digit(*at))) {
			at++;
			continue;
		}
		for (at++; at < end && *at != '_' && (is_letter(*at) || is_digit(*at)); at++) {
			if (is_upper(*at) && !is_upper(at[-1]))
				break;
			if (is_upper(*at) && at + 1 < end && is_letter(at[1]) && at[1] != '_' &&
			    !is_upper(at[1]))
				break;
		}
		subject->words[subject->word_count++] = (struct kp_span){begin, at};
	}
}

static enum kp_status find_identifiers(struct subject *subject, struct kp_span text)
{
	if (!subject->identifiers)
		subject->identifiers = malloc(IDENTIFIERS_MAX * sizeof(*subject->identifiers));
	if (!subject->identifiers)
		return KP_NO_MEMORY;
	for (const char *at = text.begin, *begin; at < text.end; at++) {
		begin = at;
		while (at < text.end && (is_letter(*at) || is_digit(*at)))
			at++;
		if (at > begin && is_letter(*begin) && subject->identifier_count < IDENTIFIERS_MAX)
			subject->identifiers[subject->identifier_count++] =
				cut((struct kp_span){begin, at});
	}
	return KP_OK;
}

static enum kp_status describe(struct subject *subject, const char *full)
{
	struct kp_span params, function = kp_signature_function(full, &params);
	struct kp_component component;
	bool last = false;

	subject->name = kp_signature_named(function).name;
	/* Brackets in the name: no grammar was found in it, so that its letters may be anything's.
	 */
	if (memchr(subject->name.begin, '<', kp_span_length(subject->name)) ||
	    memchr(subject->name.begin, '(', kp_span_length(subject->name)))
		subject->name.end = subject->name.begin;
	subject->name = cut(subject->name);
	split_words(subject);
	while (!last && kp_signature_component(&function, &component, &last)) {
		if (component.name.begin < subject->name.begin && subject->scope_count < SCOPES_MAX)
			subject->scopes[subject->scope_count++] = cut(component.name);
		if (component.args.begin && find_identifiers(subject, component.args) != KP_OK)
			return KP_NO_MEMORY;
	}
	subject->argument_count = subject->identifier_count;
	return params.begin < params.end ? find_identifiers(subject, params) : KP_OK;
}

/* A pattern with «::» asks for the scopes before the name, from the innermost outwards. */
static bool function_matches(const struct subject *subject, const char *pattern)
{
	struct kp_span rest = whole(pattern), part = rest;
	size_t scope = subject->scope_count;

	for (bool first = true;; first = false) {
		part.begin = rest.end;
		while (part.begin > rest.begin && !(part.begin[-1] == ':'))
			part.begin--;
		part.end = rest.end;
		if (!first && scope == 0)
			return false;
		if (!matches(part, first ? subject->name : subject->scopes[--scope]))
			return false;
		if (part.begin - rest.begin < 2)
			return true;
		rest.end = part.begin - 2;
	}
}

/* All of the space-separated words of an item. */
static bool words_match(const struct subject *subject, const char *item)
{
	while (*item) {
		struct kp_span word = {item, item + strcspn(item, " ")};
		bool found = false;

		for (size_t i = 0; !found && i < subject->word_count; i++)
			found = matches(word, subject->words[i]);
		if (!found)
			return false;
		item = word.end + (*word.end == ' ');
	}
	return true;
}

static bool item_matches(const struct subject *subject, enum kp_rule_condition condition,
			 const char *item)
{
	switch (condition) {
	case KP_RULE_FUNCTION:
		return function_matches(subject, item);
	case KP_RULE_SCOPE:
		return any_matches(item, subject->scopes, 0, subject->scope_count);
	case KP_RULE_ARGUMENT:
		return any_matches(item, subject->identifiers, 0, subject->argument_count);
	case KP_RULE_PARAMETER:
		return any_matches(item, subject->identifiers, subject->argument_count,
				   subject->identifier_count);
	default:
		return words_match(subject, item);
	}
}

static bool rule_matches(const struct subject *subject, const struct kp_operator_rule *rule)
{
	for (unsigned condition = 0; condition < KP_RULE_CONDITION_COUNT; condition++) {
		const struct kp_pattern_list *list = &rule->conditions[condition];
		bool found = list->count == 0;

		for (size_t i = 0; !found && i < list->count; i++)
			found = item_matches(subject, (enum kp_rule_condition)condition,
					     list->items[i]);
		if (!found)
			return false;
	}
	return true;
}

static const struct kp_operator_rule *first_match(const struct subject *subject,
						  const struct kp_rule_list *list, bool builtin)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct kp_operator_rule *rule = &list->rules[i];

		if (!(builtin && rule->user) && rule_matches(subject, rule))
			return rule;
	}
	return NULL;
}

enum kp_status kp_rules_match(const struct kp_operators *operators, const char *full,
			      const struct kp_operator_rule *out[KP_RULE_KIND_COUNT],
			      const struct kp_operator_rule **builtin)
{
	struct subject subject = {0};
	enum kp_status status = describe(&subject, full);

	for (unsigned kind = 0; kind < KP_RULE_KIND_COUNT; kind++)
		out[kind] = status == KP_OK ? first_match(&subject, &operators->lists[kind], false)
					    : NULL;
	*builtin = out[KP_RULE_OPERATOR];
	if (*builtin && (*builtin)->user)
		*builtin = first_match(&subject, &operators->lists[KP_RULE_OPERATOR], true);
	free(subject.identifiers);
	return status;
}
