/* Lines of text; see sheet.h. */
#include "tui/sheet.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

#define LINE_BYTES 4096

void kp_sheet_clear(struct kp_sheet *sheet)
{
	kp_arena_destroy(sheet->arena);
	sheet->arena = kp_arena_create();
	sheet->count = 0;
	sheet->status = sheet->arena ? KP_OK : KP_NO_MEMORY;
}

void kp_sheet_fini(struct kp_sheet *sheet)
{
	kp_arena_destroy(sheet->arena);
	free(sheet->lines);
	*sheet = (struct kp_sheet){0};
}

static void add(struct kp_sheet *sheet, enum kp_role role, const char *label, const char *text,
		size_t length)
{
	if (sheet->status != KP_OK)
		return;
	const char *copy = kp_arena_copy(sheet->arena, text, length);
	const char *name = label ? kp_arena_copy(sheet->arena, label, strlen(label)) : NULL;
	if (!copy || (label && !name) ||
	    !kp_vector_grow((void **)&sheet->lines, sheet->count, &sheet->capacity,
			    sizeof *sheet->lines)) {
		sheet->status = KP_NO_MEMORY;
		return;
	}
	sheet->lines[sheet->count++] = (struct kp_sheet_line){name, copy, role};
}

void kp_sheet_line(struct kp_sheet *sheet, enum kp_role role, const char *text)
{
	add(sheet, role, NULL, text, strlen(text));
}

void kp_sheet_row(struct kp_sheet *sheet, enum kp_role role, const char *label, const char *text)
{
	add(sheet, role, label, text, strlen(text));
}

void kp_sheet_head(struct kp_sheet *sheet, const char *text)
{
	if (sheet->count > 0)
		kp_sheet_line(sheet, KP_ROLE_PLAIN, "");
	kp_sheet_line(sheet, KP_ROLE_HEAD, text);
}

/* The bytes of as many whole words as fit in the columns; of a longer word, what fits of it. */
static size_t fitting(const char *text, size_t columns)
{
	char piece[LINE_BYTES];
	size_t end = 0, last = 0;

	while (text[end]) {
		end += strcspn(text + end, " ");
		if (end >= sizeof piece)
			break;
		memcpy(piece, text, end);
		piece[end] = '\0';
		if (kp_canvas_width(piece) > columns)
			break;
		last = end;
		end += strspn(text + end, " ");
	}
	if (last > 0)
		return last;
	while (end > 1) {
		/* Never within a character. */
		do
			end--;
		while (end > 1 && ((unsigned char)text[end] & 0xC0) == 0x80);
		if (end < sizeof piece) {
			memcpy(piece, text, end);
			piece[end] = '\0';
			if (kp_canvas_width(piece) <= columns)
				break;
		}
	}
	return end;
}

void kp_sheet_say(struct kp_sheet *sheet, enum kp_role role, size_t columns, const char *label,
		  const char *format, ...)
{
	char text[LINE_BYTES];
	va_list arguments;
	size_t indent = label ? KP_SHEET_LABEL : 0;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	columns = columns > indent + 8 ? columns - indent : 8;
	for (const char *at = text; *at;) {
		size_t length = fitting(at, columns);
		add(sheet, role, label, at, length);
		at += length + strspn(at + length, " ");
		label = label ? "" : NULL;
	}
}

void kp_sheet_draw(const struct kp_sheet *sheet, struct kp_canvas *canvas, struct kp_area area,
		   size_t top)
{
	for (size_t i = 0; i < area.rows && top + i < sheet->count; i++) {
		const struct kp_sheet_line *line = &sheet->lines[top + i];
		size_t column = area.column, columns = area.columns;

		if (line->label) {
			kp_canvas_put(canvas, area.row + i, column, KP_SHEET_LABEL - 1, KP_ROLE_DIM,
				      line->label);
			column += KP_SHEET_LABEL;
			columns = columns > KP_SHEET_LABEL ? columns - KP_SHEET_LABEL : 0;
		}
		kp_canvas_put(canvas, area.row + i, column, columns, line->role, line->text);
	}
}

size_t kp_sheet_draw_words(struct kp_canvas *canvas, struct kp_area area, enum kp_role role,
			   const char *words)
{
	struct kp_sheet sheet = {0};
	size_t rows;

	kp_sheet_clear(&sheet);
	kp_sheet_say(&sheet, role, area.columns > 2 ? area.columns - 1 : 1, NULL, "%s", words);
	rows = sheet.count < area.rows ? sheet.count : area.rows;
	area.rows = rows;
	kp_sheet_draw(&sheet, canvas, area, 0);
	kp_sheet_fini(&sheet);
	return rows;
}
