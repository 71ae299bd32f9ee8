/* Patterns on kernel names; see filter.h. */
#include "inject/filter.h"

#include <stdint.h>
#include <string.h>

#define FUNCTION_MAX_BYTES 1024

/* A stretch of bytes. */
struct span {
	const char *at, *end;
};

/* Behind the set that begins at «[», or NULL: it does not end. */
static const char *match_set(struct span pattern, unsigned char byte, bool *fits)
{
	const char *at = pattern.at + 1;
	bool negated = at < pattern.end && (*at == '!' || *at == '^');
	bool found = false;

	at += negated;
	for (const char *first = at; at < pattern.end && (*at != ']' || at == first); at++) {
		unsigned char low = (unsigned char)*at, high = low;

		if (pattern.end - at > 2 && at[1] == '-' && at[2] != ']') {
			high = (unsigned char)at[2];
			at += 2;
		}
		found |= byte >= low && byte <= high;
	}
	*fits = found != negated;
	return at < pattern.end ? at + 1 : NULL;
}

/* One element of a pattern, which is no «*», against one byte; where the next element is, or NULL.
 */
static const char *match_one(struct span pattern, unsigned char byte)
{
	const char *next;
	bool fits = true;

	if (pattern.at == pattern.end)
		return NULL;
	if (*pattern.at == '?')
		return pattern.at + 1;
	if (*pattern.at == '[') {
		next = match_set(pattern, byte, &fits);
		if (next)
			return fits ? next : NULL;
	}
	return (unsigned char)*pattern.at == byte ? pattern.at + 1 : NULL;
}

/* Linear in memory and quadratic in time at worst: a «*» is tried again only at the last one. */
static bool matches(struct span pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	while (*name) {
		const char *next;

		if (pattern.at < pattern.end && *pattern.at == '*') {
			star = ++pattern.at;
			retry = name;
			continue;
		}
		next = match_one(pattern, (unsigned char)*name);
		if (next) {
			pattern.at = next;
			name++;
		} else if (star) {
			pattern.at = star;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (pattern.at < pattern.end && *pattern.at == '*')
		pattern.at++;
	return pattern.at == pattern.end;
}

/* ---- the function's name ---- */

/* What is being written, always ended by a NUL. */
struct text {
	char *bytes;
	size_t length, size;
};

static void add(struct text *text, const char *bytes, size_t length)
{
	if (length > text->size - 1 - text->length)
		length = text->size - 1 - text->length;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

/* «12vector_scale» of the Itanium C++ ABI: adds the name; behind it, or NULL where it is none. */
static const char *add_source_name(struct text *text, const char *at, size_t *last)
{
	static const char anonymous[] = "_GLOBAL__N_";
	size_t length = 0;

	if (*at < '1' || *at > '9')
		return NULL;
	for (; *at >= '0' && *at <= '9' && length < SIZE_MAX / 16; at++)
		length = length * 10 + (size_t)(*at - '0');
	if (strnlen(at, length) < length)
		return NULL;
	if (text->length)
		add(text, "::", 2);
	*last = text->length;
	if (strncmp(at, anonymous, sizeof(anonymous) - 1) == 0)
		add(text, "(anonymous namespace)", 21);
	else
		add(text, at, length);
	return at + length;
}

/* A name that is not mangled: up to its template arguments or parameters, behind a return type. */
static void add_plain(struct text *text, const char *name, size_t *last)
{
	size_t length = strcspn(name, "<("), begin = length;

	while (begin > 0 && name[begin - 1] != ' ')
		begin--;
	if (begin == length) /* «operator ()» and the like */
		begin = 0;
	add(text, name + begin, length - begin);
	for (const char *at = text->bytes; (at = strstr(at, "::")); at += 2)
		*last = (size_t)(at - text->bytes) + 2;
}

void kp_filter_function(const char *mangled, char *out, size_t size, size_t *last)
{
	struct text text = {.bytes = out, .size = size};
	const char *at = mangled;

	out[0] = '\0';
	*last = 0;
	if (strncmp(mangled, "_Z", 2) != 0) {
		add_plain(&text, mangled, last);
		return;
	}
	at += 2;
	at += *at == 'L'; /* internal linkage */
	at += *at == 'N'; /* nested, with qualifiers of a member function */
	at += strspn(at, "rVK");
	if (strncmp(at, "St", 2) == 0) {
		add(&text, "std", 3);
		at += 2;
	}
	while (at) {
		at += *at == 'L';
		at = add_source_name(&text, at, last);
	}
}

/* ---- lists ---- */

static bool any_matches(const char *patterns, const char *mangled, const char *function,
			const char *last)
{
	for (const char *at = patterns; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");
		struct span pattern = {at, at + length};

		if (length && (matches(pattern, mangled) || matches(pattern, function) ||
			       matches(pattern, last)))
			return true;
		at += length;
	}
	return false;
}

bool kp_filter_takes(const char *kernels, const char *skip_kernels, const char *mangled)
{
	char function[FUNCTION_MAX_BYTES];
	size_t last;

	if (!kernels[0] && !skip_kernels[0])
		return true;
	kp_filter_function(mangled, function, sizeof(function), &last);
	if (kernels[0] && !any_matches(kernels, mangled, function, function + last))
		return false;
	return !skip_kernels[0] || !any_matches(skip_kernels, mangled, function, function + last);
}
