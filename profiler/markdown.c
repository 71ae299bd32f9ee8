/* Markdown out of text of any origin; see markdown.h. */
#include "profiler/markdown.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/text.h"

#define NO_WIDTH "\xE2\x80\x8B"
#define PIECE_BYTES 4096

static void put_code(FILE *file, const char *text)
{
	fputc('`', file);
	for (const char *at = *text ? text : "-"; *at; at++) {
		if (*at == '`' || *at == '|')
			fprintf(file, "\\x%02x", *at);
		else
			fputc(*at, file);
	}
	fputc('`', file);
}

enum kp_status kp_markdown_code(FILE *file, const char *name, size_t columns)
{
	char shown[PIECE_BYTES], *fitted = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&fitted, &size);

	if (!memory)
		return KP_NO_MEMORY;
	kp_text_visible(shown, sizeof shown, name, strlen(name));
	kp_text_fit(memory, shown, columns);
	if (fclose(memory) != 0 || !fitted) {
		free(fitted);
		return KP_NO_MEMORY;
	}
	put_code(file, fitted);
	free(fitted);
	return KP_OK;
}

/* Whether an address would begin or go on here, for those who link whatever looks like one. */
static bool is_address(const char *text, const char *at)
{
	if (*at == '@' || *at == '#')
		return true;
	if (*at == ':')
		return at[1] == '/';
	return *at == '.' && at - text >= 3 && strncasecmp(at - 3, "www", 3) == 0;
}

static void put_character(FILE *file, char c)
{
	switch (c) {
	case '<':
		fputs("&lt;", file);
		break;
	case '>':
		fputs("&gt;", file);
		break;
	case '&':
		fputs("&amp;", file);
		break;
	case '|':
		fputs("&#124;", file);
		break;
	default:
		if (strchr("\\`*_[]#~$", c))
			fputc('\\', file);
		fputc(c, file);
	}
}

void kp_markdown_text(FILE *file, const char *text)
{
	char shown[PIECE_BYTES];

	kp_text_visible(shown, sizeof shown, text, strlen(text));
	for (const char *at = shown; *at; at++) {
		if (is_address(shown, at) && *at == '.')
			fputs(NO_WIDTH, file);
		put_character(file, *at);
		if (is_address(shown, at) && *at != '.')
			fputs(NO_WIDTH, file);
	}
}

/* Longer than any run of backticks in the block: none ends it. */
static void put_fence(FILE *file, size_t length)
{
	while (length-- > 0)
		fputc('`', file);
}

void kp_markdown_block(FILE *file, const char *lines)
{
	size_t run = 0, longest = 2;

	for (const char *at = lines; *at; at++) {
		run = *at == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	put_fence(file, longest + 1);
	fprintf(file, "text\n%s", lines);
	put_fence(file, longest + 1);
	fputc('\n', file);
}
