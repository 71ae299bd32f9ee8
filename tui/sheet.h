/* A page of lines of text that scrolls. Zeroed: empty. Not thread-safe. */
#ifndef KP_TUI_SHEET_H
#define KP_TUI_SHEET_H

#include "trace/arena.h"
#include "trace/status.h"
#include "tui/canvas.h"

#define KP_SHEET_LABEL 14 /* columns of labels */

struct kp_sheet_line {
	const char *label; /* NULL: none */
	const char *text;
	enum kp_role role;
};

struct kp_sheet {
	struct kp_sheet_line *lines;
	size_t count, capacity;
	struct kp_arena *arena; /* texts */
	enum kp_status status;  /* sticky: KP_NO_MEMORY */
};

void kp_sheet_clear(struct kp_sheet *sheet);
void kp_sheet_fini(struct kp_sheet *sheet);
/* A line as it is. */
void kp_sheet_line(struct kp_sheet *sheet, enum kp_role role, const char *text);
/* A label and a line as it is. */
void kp_sheet_row(struct kp_sheet *sheet, enum kp_role role, const char *label, const char *text);
/* A heading, with an empty line before it but at the top. */
void kp_sheet_head(struct kp_sheet *sheet, const char *text);
/* A label (NULL: none) and words, wrapped to so many columns. */
__attribute__((format(printf, 5, 6))) void kp_sheet_say(struct kp_sheet *sheet, enum kp_role role,
							size_t columns, const char *label,
							const char *format, ...);
/* Words on their own, wrapped, in as many rows of the area as they need; returns how many. */
size_t kp_sheet_draw_words(struct kp_canvas *canvas, struct kp_area area, enum kp_role role,
			   const char *words);
void kp_sheet_draw(const struct kp_sheet *sheet, struct kp_canvas *canvas, struct kp_area area,
		   size_t top);

#endif
