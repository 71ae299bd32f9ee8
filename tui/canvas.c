/* Cells in memory; see canvas.h. */
#include "tui/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/telling.h"
#include "profiler/text.h"

#define ELLIPSIS 0x2026
#define BLOCK_FULL 0x2588
#define LEAST_HEAD 6 /* columns of a name's beginning before the word that says most */

/* What stands for the characters that views draw with, and for common ones in names. */
static const struct {
	uint32_t first, last;
	char stand_in;
} stand_ins[] = {
	{0x00AB, 0x00AB, '<'}, {0x00B1, 0x00B1, '~'}, {0x00B5, 0x00B5, 'u'},  {0x00B7, 0x00B7, '.'},
	{0x00BB, 0x00BB, '>'}, {0x00D7, 0x00D7, 'x'}, {0x00F7, 0x00F7, '/'},  {0x2013, 0x2014, '-'},
	{0x2026, 0x2026, '~'}, {0x2190, 0x2190, '<'}, {0x2191, 0x2191, '^'},  {0x2192, 0x2192, '>'},
	{0x2193, 0x2193, 'v'}, {0x2265, 0x2265, '>'}, {0x2500, 0x2501, '-'},  {0x2502, 0x2503, '|'},
	{0x250C, 0x254B, '+'}, {0x2571, 0x2571, '/'}, {0x2572, 0x2572, '\\'}, {0x2581, 0x2582, '.'},
	{0x2583, 0x2584, ':'}, {0x2585, 0x2586, '='}, {0x2587, 0x2588, '#'},  {0x2589, 0x258B, '#'},
	{0x258C, 0x258F, '='}, {0x2591, 0x2593, ':'}, {0x25B6, 0x25B8, '+'},  {0x25BC, 0x25BE, '-'},
	{0x2800, 0x2800, ' '}, {0x2801, 0x28FF, '*'},
};

char kp_canvas_ascii(uint32_t character)
{
	if (character < 0x80)
		return (char)character;
	for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
		if (character >= stand_ins[i].first && character <= stand_ins[i].last)
			return stand_ins[i].stand_in;
	}
	return '?';
}

enum kp_status kp_canvas_resize(struct kp_canvas *canvas, size_t rows, size_t columns)
{
	struct kp_cell *cells = calloc(rows * columns + 1, sizeof *cells);

	if (!cells)
		return KP_NO_MEMORY;
	free(canvas->cells);
	canvas->rows = rows;
	canvas->columns = columns;
	canvas->cells = cells;
	kp_canvas_clear(canvas);
	return KP_OK;
}

void kp_canvas_fini(struct kp_canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct kp_canvas){0};
}

void kp_canvas_clear(const struct kp_canvas *canvas)
{
	for (size_t i = 0; i < canvas->rows * canvas->columns; i++)
		canvas->cells[i] = (struct kp_cell){.base = ' '};
}

struct kp_cell *kp_canvas_at(const struct kp_canvas *canvas, size_t row, size_t column)
{
	if (row >= canvas->rows || column >= canvas->columns)
		return NULL;
	return &canvas->cells[row * canvas->columns + column];
}

/* Sets a cell. What is left of a wide character that it cuts becomes blank. */
static void set(struct kp_canvas *canvas, size_t row, size_t column, uint32_t base,
		enum kp_role role)
{
	struct kp_cell *cell = kp_canvas_at(canvas, row, column);

	if (!cell)
		return;
	if (cell->base == 0 && column > 0)
		cell[-1].base = ' ';
	if (base != 0 && column + 1 < canvas->columns && cell[1].base == 0)
		cell[1].base = ' ';
	*cell = (struct kp_cell){.base = base, .role = (uint8_t)role};
}

void kp_canvas_fill(struct kp_canvas *canvas, size_t row, size_t column, size_t count,
		    uint32_t character, enum kp_role role)
{
	for (size_t i = 0; i < count && column + i < canvas->columns; i++)
		set(canvas, row, column + i, character, role);
}

void kp_canvas_paint(struct kp_canvas *canvas, size_t row, size_t column, size_t count,
		     enum kp_role role)
{
	for (size_t i = 0; i < count; i++) {
		struct kp_cell *cell = kp_canvas_at(canvas, row, column + i);
		if (!cell)
			return;
		cell->role = (uint8_t)role;
	}
}

/* A character of a text as it is shown: itself, or the bytes of what must not be. */
struct shown {
	uint32_t characters[16];
	size_t count, columns, bytes;
	bool combines;
};

static struct shown show(const char *text, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	struct shown shown = {.count = 1};
	uint32_t codepoint;

	shown.bytes = kp_text_decode(text, length, &codepoint);
	if (codepoint != KP_TEXT_BAD && !kp_text_is_control(codepoint)) {
		shown.characters[0] = codepoint;
		shown.columns = kp_text_codepoint_columns(codepoint);
		shown.combines = shown.columns == 0;
		return shown;
	}
	shown.count = 0;
	for (size_t i = 0; i < shown.bytes; i++) {
		unsigned char byte = (unsigned char)text[i];
		shown.characters[shown.count++] = '\\';
		shown.characters[shown.count++] = 'x';
		shown.characters[shown.count++] = (uint32_t)digits[byte >> 4];
		shown.characters[shown.count++] = (uint32_t)digits[byte & 15];
	}
	shown.columns = shown.count;
	return shown;
}

static size_t width_of(const char *text, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length;) {
		struct shown shown = show(text + i, length - i);
		columns += shown.columns;
		i += shown.bytes;
	}
	return columns;
}

size_t kp_canvas_width(const char *text)
{
	return width_of(text, strlen(text));
}

static void combine(const struct kp_canvas *canvas, size_t row, size_t column, uint32_t mark)
{
	struct kp_cell *cell = kp_canvas_at(canvas, row, column);

	if (cell && cell->base == 0 && column > 0)
		cell--;
	for (size_t i = 0; cell && i < KP_CELL_MARKS; i++) {
		if (cell->marks[i])
			continue;
		cell->marks[i] = mark;
		break;
	}
}

/* As much of a text as fits in the columns; returns what it took. */
static size_t put(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
		  enum kp_role role, const char *text, size_t length)
{
	size_t taken = 0;

	if (column >= canvas->columns)
		return 0;
	if (columns > canvas->columns - column)
		columns = canvas->columns - column;
	for (size_t i = 0; i < length;) {
		struct shown shown = show(text + i, length - i);
		if (taken + shown.columns > columns)
			break;
		if (shown.combines && taken > 0)
			combine(canvas, row, column + taken - 1, shown.characters[0]);
		for (size_t k = 0; !shown.combines && k < shown.count; k++)
			set(canvas, row, column + taken + k, shown.characters[k], role);
		if (shown.count == 1 && shown.columns == 2)
			set(canvas, row, column + taken + 1, 0, role);
		taken += shown.columns;
		i += shown.bytes;
	}
	return taken;
}

/* The bytes of the longest beginning that fits in so many columns. */
static size_t beginning(const char *text, size_t length, size_t columns)
{
	size_t taken = 0, i = 0;

	while (i < length) {
		struct shown shown = show(text + i, length - i);
		if (taken + shown.columns > columns)
			break;
		taken += shown.columns;
		i += shown.bytes;
	}
	return i;
}

size_t kp_canvas_put(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
		     enum kp_role role, const char *text)
{
	size_t length = strlen(text), taken;

	if (columns == 0)
		return 0;
	if (width_of(text, beginning(text, length, columns)) == width_of(text, length))
		return put(canvas, row, column, columns, role, text, length);
	taken = put(canvas, row, column, columns - 1, role, text,
		    beginning(text, length, columns - 1));
	set(canvas, row, column + taken, ELLIPSIS, role);
	return taken + 1;
}

void kp_canvas_put_right(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
			 enum kp_role role, const char *text)
{
	size_t width = kp_canvas_width(text);

	if (width >= columns)
		kp_canvas_put(canvas, row, column, columns, role, text);
	else
		kp_canvas_put(canvas, row, column + columns - width, width, role, text);
}

/* Puts the beginning, «…», and what stands behind, which takes `tail_columns` at most. */
static size_t put_cut(struct kp_canvas *canvas, size_t row, struct kp_area place, enum kp_role role,
		      const char *text, const char *tail, size_t tail_length)
{
	size_t tail_columns = width_of(tail, tail_length);
	size_t head_columns = place.columns - 1 - tail_columns;
	size_t head = beginning(text, (size_t)(tail - text), head_columns);
	size_t taken = put(canvas, row, place.column, head_columns, role, text, head);

	set(canvas, row, place.column + taken, ELLIPSIS, role);
	taken++;
	return taken + put(canvas, row, place.column + taken, place.columns - taken, role, tail,
			   tail_length);
}

size_t kp_canvas_put_name(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
			  enum kp_role role, const char *name)
{
	const struct kp_area place = {.column = column, .columns = columns};
	size_t length = strlen(name), width = width_of(name, length), skip = 0;

	if (width <= columns || columns < 2 * LEAST_HEAD)
		return kp_canvas_put(canvas, row, column, columns, role, name);
	if (strchr(name, '<')) {
		struct kp_word word = kp_name_telling(name);
		size_t room = columns - 1 - LEAST_HEAD;
		if (word.length == 0)
			return kp_canvas_put(canvas, row, column, columns, role, name);
		return put_cut(canvas, row, place, role, name, word.bytes,
			       beginning(word.bytes, word.length, room));
	}
	/* The ends of names differ more than their beginnings. */
	while (width > columns - 1 - columns / 3) {
		struct shown shown = show(name + skip, length - skip);

		width -= shown.columns;
		skip += shown.bytes;
	}
	return put_cut(canvas, row, place, role, name, name + skip, length - skip);
}

size_t kp_canvas_bar(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
		     double part, enum kp_role role)
{
	double bounded = part > 1 ? 1 : part > 0 ? part : 0; /* NaN is nothing */
	size_t eighths = (size_t)(bounded * 8 * (double)columns + 0.5), full = eighths / 8;

	kp_canvas_fill(canvas, row, column, full, BLOCK_FULL, role);
	if (eighths % 8)
		kp_canvas_fill(canvas, row, column + full, 1,
			       BLOCK_FULL + 8 - (uint32_t)(eighths % 8), role);
	return full + (eighths % 8 != 0);
}

uint32_t kp_canvas_level(double part)
{
	double bounded = part > 1 ? 1 : part > 0 ? part : 0;
	uint32_t level = (uint32_t)(bounded * 8 + 0.5);

	if (level == 0 && bounded > 0)
		level = 1;
	return level ? 0x2580 + level : ' ';
}

size_t kp_canvas_put_level(char *out, double part)
{
	uint32_t level = kp_canvas_level(part);

	if (level == ' ') {
		out[0] = ' ';
		return 1;
	}
	out[0] = (char)(0xE0 | level >> 12);
	out[1] = (char)(0x80 | (level >> 6 & 0x3F));
	out[2] = (char)(0x80 | (level & 0x3F));
	return 3;
}

static void print_character(FILE *file, uint32_t c)
{
	if (c < 0x80) {
		fputc((int)c, file);
	} else if (c < 0x800) {
		fprintf(file, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 0x3F)));
	} else if (c < 0x10000) {
		fprintf(file, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3F)),
			(int)(0x80 | (c & 0x3F)));
	} else {
		fprintf(file, "%c%c%c%c", (int)(0xF0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3F)),
			(int)(0x80 | (c >> 6 & 0x3F)), (int)(0x80 | (c & 0x3F)));
	}
}

static void print_cell(FILE *file, const struct kp_cell *cell, bool ascii)
{
	if (cell->base == 0) {
		if (ascii)
			fputc(' ', file);
	} else if (ascii) {
		fputc(kp_canvas_ascii(cell->base), file);
	} else {
		print_character(file, cell->base);
		for (size_t i = 0; i < KP_CELL_MARKS && cell->marks[i]; i++)
			print_character(file, cell->marks[i]);
	}
}

static bool is_blank(const struct kp_cell *cell, const struct kp_canvas_style *style)
{
	struct kp_look look = kp_role_look((enum kp_role)cell->role, style->theme);

	return cell->base == ' ' && (!style->colors || (look.background < 0 && !look.attributes));
}

static void print_row(FILE *file, const struct kp_canvas *canvas, size_t row,
		      const struct kp_canvas_style *style)
{
	const struct kp_cell *cells = &canvas->cells[row * canvas->columns];
	size_t length = canvas->columns;
	char before[64] = "", now[64];

	while (length > 0 && is_blank(&cells[length - 1], style))
		length--;
	for (size_t i = 0; i < length; i++) {
		kp_look_sequence(kp_role_look((enum kp_role)cells[i].role, style->theme), now,
				 sizeof now);
		if (style->colors && strcmp(before, now) != 0) {
			fprintf(file, "%s%s", before[0] && !now[0] ? "\033[0m" : "", now);
			memcpy(before, now, sizeof now);
		}
		print_cell(file, &cells[i], style->ascii);
	}
	fprintf(file, "%s\n", before[0] ? "\033[0m" : "");
}

void kp_canvas_print(FILE *file, const struct kp_canvas *canvas,
		     const struct kp_canvas_style *style)
{
	for (size_t row = 0; row < canvas->rows; row++)
		print_row(file, canvas, row, style);
}
