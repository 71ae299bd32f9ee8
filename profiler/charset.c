/* Characters of the locale; see charset.h. */
#include "profiler/charset.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/text.h"
#include "tui/canvas.h"

#define CHARACTER_BYTES 4

struct filter {
	FILE *file;
	char begun[CHARACTER_BYTES]; /* of a character that the next write completes */
	size_t begun_length;
};

/* By the locale's name: many containers ask for one that is not installed. */
static bool is_called_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, ".utf-8") || strcasestr(value, ".utf8");
	}
	return false;
}

bool kp_charset_is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8;

	if (!locale)
		return is_called_utf8();
	utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return utf8;
}

/* How many bytes the character has that begins with this one; 1 where none does. */
static size_t length_of(char lead)
{
	unsigned char byte = (unsigned char)lead;

	return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

static void put(const struct filter *filter)
{
	uint32_t codepoint;

	kp_text_decode(filter->begun, filter->begun_length, &codepoint);
	for (unsigned i = kp_text_codepoint_columns(codepoint); i > 0; i--)
		fputc(kp_canvas_ascii(codepoint), filter->file);
}

static ssize_t write_ascii(void *context, const char *bytes, size_t size)
{
	struct filter *filter = context;

	for (size_t i = 0; i < size; i++) {
		filter->begun[filter->begun_length++] = bytes[i];
		if (filter->begun_length < length_of(filter->begun[0]))
			continue;
		put(filter);
		filter->begun_length = 0;
	}
	return ferror(filter->file) ? 0 : (ssize_t)size;
}

static int end(void *context)
{
	free(context);
	return 0;
}

FILE *kp_charset_ascii(FILE *file)
{
	struct filter *filter = calloc(1, sizeof *filter);
	FILE *stream = NULL;

	if (filter) {
		filter->file = file;
		stream = fopencookie(filter, "w",
				     (cookie_io_functions_t){.write = write_ascii, .close = end});
	}
	if (!stream)
		free(filter);
	return stream;
}
