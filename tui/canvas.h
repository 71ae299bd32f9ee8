/*
 * A screen of character cells in memory: what views draw on, and what a terminal or a file shows.
 *
 * Whatever text is put there, the cells hold printable characters only: bytes that are not valid
 * UTF-8, and characters that must not reach a terminal, become «\xHH». A wide character takes two
 * cells, of which the second is empty; combining characters stand with the one before. Nothing is
 * drawn outside of the canvas or the area that is asked for. Not thread-safe.
 */
#ifndef KP_TUI_CANVAS_H
#define KP_TUI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/status.h"
#include "tui/roles.h"

#define KP_CELL_MARKS 2 /* combining characters that a cell keeps */

struct kp_cell {
	uint32_t base; /* 0: the second half of a wide character */
	uint32_t marks[KP_CELL_MARKS];
	uint8_t role; /* enum kp_role */
};

struct kp_canvas {
	size_t rows, columns;
	struct kp_cell *cells; /* row by row */
};

/* A part of a canvas. */
struct kp_area {
	size_t row, column, rows, columns;
};

/* Blank cells of a size; what was there goes. Zeroed canvases may be resized. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_canvas_resize(struct kp_canvas *canvas, size_t rows, size_t columns);
void kp_canvas_fini(struct kp_canvas *canvas);
void kp_canvas_clear(const struct kp_canvas *canvas);

/* The cell at a place; NULL: it is outside. */
struct kp_cell *kp_canvas_at(const struct kp_canvas *canvas, size_t row, size_t column);
/* One character of one column, repeated `count` times to the right. */
void kp_canvas_fill(struct kp_canvas *canvas, size_t row, size_t column, size_t count,
		    uint32_t character, enum kp_role role);
/* Gives cells another role, and leaves their characters. */
void kp_canvas_paint(struct kp_canvas *canvas, size_t row, size_t column, size_t count,
		     enum kp_role role);
/*
 * Text, in at most so many columns; what is too long ends in «…». Returns the columns taken.
 */
size_t kp_canvas_put(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
		     enum kp_role role, const char *text);
/* The same, to the right of its columns. */
void kp_canvas_put_right(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
			 enum kp_role role, const char *text);
/* The same for a name: what is too long loses its middle, or all but its beginning and the word
 * that says most (telling.h). */
size_t kp_canvas_put_name(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
			  enum kp_role role, const char *name);
/* Columns that a text takes when it is put. */
size_t kp_canvas_width(const char *text);
/*
 * A bar of `part` (0 to 1) of so many columns, in eighths of a column; returns the columns that it
 * reaches into.
 */
size_t kp_canvas_bar(struct kp_canvas *canvas, size_t row, size_t column, size_t columns,
		     double part, enum kp_role role);
/* The character of a column that is filled from below, 0 to 1: one of eight, or a blank. */
uint32_t kp_canvas_level(double part);
/* The same as UTF-8, without a NUL; returns how many bytes, 3 at most. */
size_t kp_canvas_put_level(char *out, double part);

/* How cells become characters and attributes. */
struct kp_canvas_style {
	bool ascii;  /* characters beyond ASCII get a stand-in of the same width */
	bool colors; /* attributes as escape sequences */
	enum kp_theme theme;
};
/* The ASCII character that stands for one of the screen's; itself where it is one. */
char kp_canvas_ascii(uint32_t character);
/* Writes lines, without blanks at their ends. */
void kp_canvas_print(FILE *file, const struct kp_canvas *canvas,
		     const struct kp_canvas_style *style);

#endif
