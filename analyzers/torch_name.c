/* Patterns of mangled names; see torch_name.h. */
#include "analyzers/torch_name.h"

#include <stddef.h>
#include <string.h>

#include "analyzers/torch_launch.h"

static const struct {
	const char *mangled;
	uint8_t type;
} types[] = {
#define TYPE(NAME, code, bytes, mangled) {mangled, KP_TORCH_##NAME},
	KP_TORCH_TYPES(TYPE)
#undef TYPE
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_class(uint8_t type)
{
	return type == KP_TORCH_F16 || type == KP_TORCH_BF16;
}

static const char *skip(const char *at, const char *text)
{
	size_t length = strlen(text);

	return strncmp(at, text, length) == 0 ? at + length : NULL;
}

/* Lengths and lambdas are small: more digits than nine are no number of ours. */
static const char *skip_number(const char *at, uint32_t *value)
{
	const char *begin = at;

	for (*value = 0; is_digit(*at) && at - begin < 9; at++)
		*value = 10 * *value + (uint32_t)(*at - '0');
	return at == begin || is_digit(*at) ? NULL : at;
}

static const char *skip_substitution(const char *at)
{
	if (*at != 'S' && *at != 'T')
		return NULL;
	for (at++; is_digit(*at) || (*at >= 'A' && *at <= 'Z'); at++)
		;
	return *at == '_' ? at + 1 : NULL;
}

static const char *skip_anonymous(const char *at)
{
	uint32_t length;
	const char *name = skip_number(at, &length);

	if (!name || !skip(name, "_GLOBAL__N_"))
		return NULL;
	for (uint32_t i = 0; i < length; i++)
		if (name[i] == '\0')
			return NULL;
	return name + length;
}

/* c10::NAME, of which c10 may be a substitution. */
static const char *skip_class(const char *at, const char *mangled)
{
	const char *inner = *at == 'N' ? skip(at + 1, "3c10") : NULL;

	if (*at == 'N' && !inner)
		inner = skip_substitution(at + 1);
	inner = inner ? skip(inner, mangled) : NULL;
	return inner && *inner == 'E' ? inner + 1 : NULL;
}

static const char *skip_type(const char *at, const struct kp_torch_name *name, uint8_t *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const char *after = is_class(types[i].type) ? skip_class(at, types[i].mangled)
							    : skip(at, types[i].mangled);

		*type = types[i].type;
		if (after)
			return after;
	}
	for (uint8_t i = name->type_count; *at == 'S' && i > 0; i--) {
		*type = name->types[i - 1];
		if (is_class(*type))
			return skip_substitution(at);
	}
	return NULL;
}

static const char *take_type(struct kp_torch_name *name, const char *at)
{
	uint8_t type;

	at = skip_type(at, name, &type);
	if (!at || name->type_count == KP_TORCH_NAME_TYPES)
		return NULL;
	name->types[name->type_count++] = type;
	return at;
}

static const char *take_number(struct kp_torch_name *name, const char *at, bool of_lambda)
{
	uint32_t value = 0;

	if (!of_lambda || is_digit(*at)) {
		at = skip_number(at, &value);
		value += of_lambda;
	}
	if (!at || name->number_count == KP_TORCH_NAME_NUMBERS)
		return NULL;
	name->numbers[name->number_count++] = value;
	return at;
}

static const char *take_one(struct kp_torch_name *name, const char *at, char pattern)
{
	switch (pattern) {
	case '%':
		return take_number(name, at, false);
	case '^':
		return take_number(name, at, true);
	case '@':
		return take_type(name, at);
	case '~':
		return skip_substitution(at);
	case '$':
		return skip_anonymous(at);
	default:
		return *at == pattern ? at + 1 : NULL;
	}
}

bool kp_torch_name_take(struct kp_torch_name *name, const char *pattern)
{
	struct kp_torch_name copy = *name;
	const char *at = name->at;

	for (; *pattern; pattern++) {
		at = take_one(&copy, at, *pattern);
		if (!at)
			return false;
	}
	copy.at = at;
	*name = copy;
	return true;
}
