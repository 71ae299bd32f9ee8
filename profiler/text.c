/* Text of unknown origin, made fit for a place; see text.h. Pure functions. */
#include "profiler/text.h"

#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "…"
#define LEAST_HEAD 4 /* columns of a name's beginning that a word may leave */
#define REPLACEMENT 0xFFFD

/* Ranges of code points that take no column, or two; sorted. */
static const struct {
	uint32_t first, last;
	unsigned columns;
} widths[] = {
	{0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05BD, 0},   {0x0610, 0x061A, 0},
	{0x064B, 0x065F, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x1DC0, 0x1DFF, 0},
	{0x200B, 0x200F, 0},   {0x202A, 0x202E, 0},   {0x2060, 0x2064, 0},   {0x20D0, 0x20FF, 0},
	{0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},   {0xA960, 0xA97F, 2},   {0xAC00, 0xD7A3, 2},
	{0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},
	{0xFEFF, 0xFEFF, 0},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},   {0x1F300, 0x1F64F, 2},
	{0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2}, {0xE0100, 0xE01EF, 0},
};

unsigned kp_text_codepoint_columns(uint32_t codepoint)
{
	for (size_t i = 0; i < sizeof widths / sizeof *widths && codepoint >= widths[i].first;
	     i++) {
		if (codepoint <= widths[i].last)
			return widths[i].columns;
	}
	return 1;
}

bool kp_text_is_control(uint32_t codepoint)
{
	return codepoint < 0x20 || (codepoint >= 0x7F && codepoint < 0xA0) ||
	       (codepoint >= 0x2028 && codepoint <= 0x202E) ||
	       (codepoint >= 0x2066 && codepoint <= 0x2069);
}

size_t kp_text_decode(const char *bytes, size_t length, uint32_t *codepoint)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)bytes;
	unsigned char lead = at[0];

	*codepoint = KP_TEXT_BAD;
	if (lead < 0x80) {
		*codepoint = lead;
		return 1;
	}
	size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
	if (lead < 0xC2 || lead > 0xF4 || need > length)
		return 1;
	uint32_t value = lead & (0xFFU >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 1;
		value = value << 6 | (at[i] & 0x3FU);
	}
	if (value < smallest[need] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
		return 1;
	*codepoint = value;
	return need;
}

static size_t columns_of(const char *text, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length;) {
		uint32_t codepoint;
		i += kp_text_decode(text + i, length - i, &codepoint);
		columns += kp_text_codepoint_columns(codepoint);
	}
	return columns;
}

size_t kp_text_columns(const char *text)
{
	return columns_of(text, strlen(text));
}

/* *read: the bytes that had room. */
static size_t visible(char *out, size_t size, const char *bytes, size_t length, size_t *read)
{
	size_t written = 0, i = 0;

	while (i < length) {
		char piece[4 * 4 + 1];
		uint32_t codepoint;
		size_t step = kp_text_decode(bytes + i, length - i, &codepoint), piece_length = 0;
		if (codepoint != KP_TEXT_BAD && !kp_text_is_control(codepoint)) {
			memcpy(piece, bytes + i, step);
			piece_length = step;
		} else {
			for (size_t k = 0; k < step; k++)
				piece_length += (size_t)snprintf(piece + piece_length, 5, "\\x%02x",
								 (unsigned char)bytes[i + k]);
		}
		if (written + piece_length + 1 > size)
			break;
		memcpy(out + written, piece, piece_length);
		written += piece_length;
		i += step;
	}
	if (size > 0)
		out[written] = '\0';
	*read = i;
	return written;
}

size_t kp_text_visible(char *out, size_t size, const char *bytes, size_t length)
{
	size_t read;

	return visible(out, size, bytes, length, &read);
}

size_t kp_text_visible_cut(char *out, size_t size, const char *bytes, size_t length)
{
	size_t read, written = visible(out, size, bytes, length, &read);

	if (read == length)
		return written;
	written = visible(out, size - strlen(ELLIPSIS), bytes, length, &read);
	memcpy(out + written, ELLIPSIS, sizeof ELLIPSIS);
	return written + strlen(ELLIPSIS);
}

char *kp_text_exact(const char *bytes, size_t length)
{
	char *out = malloc(length * 5 + 1); /* U+FFFD is three bytes, then two digits */
	size_t written = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < length;) {
		uint32_t codepoint;
		size_t step = kp_text_decode(bytes + i, length - i, &codepoint);
		if (codepoint != KP_TEXT_BAD && codepoint != 0 && codepoint != REPLACEMENT) {
			memcpy(out + written, bytes + i, step);
			written += step;
		} else {
			for (size_t k = 0; k < step; k++)
				written += (size_t)snprintf(out + written, 6, "\xEF\xBF\xBD%02x",
							    (unsigned char)bytes[i + k]);
		}
		i += step;
	}
	out[written] = '\0';
	return out;
}

/* The longest prefix of at most `columns`; returns its bytes, and its columns in *taken. */
static size_t prefix(const char *text, size_t length, size_t columns, size_t *taken)
{
	size_t i = 0;

	*taken = 0;
	while (i < length) {
		uint32_t codepoint;
		size_t step = kp_text_decode(text + i, length - i, &codepoint);
		size_t width = kp_text_codepoint_columns(codepoint);
		if (*taken + width > columns)
			break;
		*taken += width;
		i += step;
	}
	return i;
}

size_t kp_text_fit(FILE *file, const char *text, size_t columns)
{
	size_t length = strlen(text), all = kp_text_columns(text), head_columns, skipped, wide = 0;

	if (all <= columns) {
		fputs(text, file);
		return all;
	}
	size_t kept = columns - 1; /* the ellipsis takes one */
	/* The ends of names differ more than their beginnings. */
	size_t head = prefix(text, length, (kept + 2) / 3, &head_columns);
	/* The tail begins where no more columns remain than are left for it. */
	size_t tail = prefix(text, length, all - (kept - head_columns), &skipped);
	if (all - skipped > kept - head_columns) /* a wide character straddles the cut */
		tail += prefix(text + tail, length - tail, 2, &wide);
	fprintf(file, "%.*s" ELLIPSIS "%s", (int)head, text, text + tail);
	return head_columns + 1 + (all - skipped - wide);
}

/* The beginning of a text that is too long. */
static size_t fit_beginning(FILE *file, const char *text, size_t length, size_t columns)
{
	size_t taken, bytes = prefix(text, length, columns - 1, &taken);

	fprintf(file, "%.*s" ELLIPSIS, (int)bytes, text);
	return taken + 1;
}

size_t kp_text_fit_around(FILE *file, const char *text, size_t columns, const char *word,
			  size_t word_length)
{
	size_t length = strlen(text), word_columns = columns_of(word, word_length), head_columns;
	const char *arguments = strchr(text, '<');

	if (columns_of(text, length) <= columns || !arguments || columns < 3 * LEAST_HEAD)
		return kp_text_fit(file, text, columns);
	if (word_length == 0)
		return fit_beginning(file, text, length, columns);
	size_t head =
		columns > word_columns + 1 + LEAST_HEAD ? columns - word_columns - 1 : LEAST_HEAD;
	head = prefix(text, (size_t)(word - text), head, &head_columns);
	fprintf(file, "%.*s" ELLIPSIS, (int)head, text);
	size_t left = columns - head_columns - 1;
	if (word_columns > left)
		return head_columns + 1 + fit_beginning(file, word, word_length, left);
	fprintf(file, "%.*s", (int)word_length, word);
	return head_columns + 1 + word_columns;
}

/* Lines of less are no lines. */
#define LEAST_LINE 8

/* The bytes of the beginning of a text that take so many columns at most, one character at least.
 */
static size_t bytes_within(const char *text, size_t length, size_t columns)
{
	size_t taken = 0, at = 0;
	uint32_t codepoint;

	while (at < length) {
		size_t bytes = kp_text_decode(text + at, length - at, &codepoint);

		taken += kp_text_codepoint_columns(codepoint);
		if (at && taken > columns)
			break;
		at += bytes;
	}
	return at;
}

/* Prints a word that a line does not hold, but for what the last line takes of it; returns that. */
static size_t print_long_word(FILE *file, const char *text, size_t length, size_t at, size_t indent,
			      size_t width)
{
	size_t begin = 0;

	while (columns_of(text + begin, length - begin) + at > width) {
		size_t bytes = bytes_within(text + begin, length - begin, width - at);

		fprintf(file, "%.*s\n%*s", (int)bytes, text + begin, (int)indent, "");
		begin += bytes;
		at = indent;
	}
	return begin;
}

void kp_text_wrap(FILE *file, const char *text, size_t at, size_t indent, size_t width)
{
	bool first = true;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " "), columns = columns_of(text, length);
		if (!first && at + 1 + columns > width) {
			fprintf(file, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (first && at + LEAST_LINE <= width && at + columns > width) {
			size_t begin = print_long_word(file, text, length, at, indent, width);

			text += begin;
			length -= begin;
			columns = columns_of(text, length);
			at = begin ? indent : at;
		}
		fprintf(file, "%s%.*s", first ? "" : " ", (int)length, text);
		at += columns + !first;
		first = false;
		text += length;
	}
	fputc('\n', file);
}

void kp_text_markup(FILE *file, const char *bytes, size_t length)
{
	static const struct {
		char character;
		const char *reference;
	} references[] = {
		{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
	const char *reference;

	for (size_t i = 0; i < length; i++) {
		reference = NULL;
		for (size_t k = 0; k < sizeof references / sizeof *references; k++)
			if (bytes[i] == references[k].character)
				reference = references[k].reference;
		if (reference)
			fputs(reference, file);
		else
			fputc(bytes[i], file);
	}
}
