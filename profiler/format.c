/* The formats that a report can have; see format.h. Pure functions. */
#include "profiler/format.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

const char *const kp_format_names[KP_FORMAT_COUNT + 1] = {
#define X(NAME, name, extensions) name,
	KP_FORMATS(X)
#undef X
};

static const char *const format_extensions[KP_FORMAT_COUNT] = {
#define X(NAME, name, extensions) extensions,
	KP_FORMATS(X)
#undef X
};

/* The list of the first format comes without the space that separates it from the one before. */
#define SPACED(NAME, name, extensions) " " extensions
static const char spaced_extensions[] = KP_FORMATS(SPACED);

const char *kp_format_extensions(void)
{
	return spaced_extensions + 1;
}

/* Whether one word of `words` equals `word`, in either case. */
static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
		if (strcspn(at, " ") == length && strncasecmp(at, word, length) == 0)
			return true;
	}
	return false;
}

int kp_format_of_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *extension = strrchr(name, '.');

	for (int format = 0; extension && format < KP_FORMAT_COUNT; format++) {
		if (has_word(format_extensions[format], extension))
			return format;
	}
	return -1;
}
