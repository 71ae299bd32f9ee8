/* P: writes a view to a file. See actions.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tui/actions.h"
#include "tui/keys.h"
#include "tui/state.h"

/* The rows that a view needs to show all of its own, with the frame. */
static size_t rows_of_all(const struct kp_tui *tui)
{
	size_t rows = kp_pages[tui->page].name ? tui->item_count : tui->sheet.count;

	return rows + 32 < 20000 ? rows + 32 : 20000;
}

/* The view as text, as high as it is. */
static enum kp_status write_view(struct kp_tui *tui, FILE *file)
{
	const struct kp_canvas_style style = {.ascii = tui->settings.ascii};
	struct kp_canvas screen = tui->canvas;
	struct kp_list list = *kp_tui_list(tui);
	size_t rows = rows_of_all(tui), last;
	enum kp_status status;

	tui->canvas = (struct kp_canvas){0};
	status = kp_canvas_resize(&tui->canvas, rows > screen.rows ? rows : screen.rows,
				  screen.columns);
	if (status == KP_OK)
		status = kp_tui_draw(tui);
	if (status == KP_OK) {
		/* Without the line of keys, and the empty ones above it. */
		last = tui->canvas.rows - 1;
		for (bool blank = true; blank && last > 0;) {
			last--;
			for (size_t i = 0; i < tui->canvas.columns; i++)
				blank &= kp_canvas_at(&tui->canvas, last, i)->base == ' ';
		}
		tui->canvas.rows = last + 1;
		kp_canvas_print(file, &tui->canvas, &style);
	}
	kp_canvas_fini(&tui->canvas);
	tui->canvas = screen;
	*kp_tui_list(tui) = list;
	tui->stale = true;
	return status;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), least = strlen(end);

	return length > least && strcmp(text + length - least, end) == 0;
}

static void write_to(struct kp_tui *tui, const char *path)
{
	int fd;
	FILE *file;
	enum kp_status status = KP_UNSUPPORTED;

	if (!path[0])
		return;
	if (!tui->top && !tui->part.complete &&
	    (ends_in(path, ".yaml") || ends_in(path, ".json"))) {
		kp_tui_say(tui, "The report is not whole before all is read; try it again then.");
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		kp_tui_say(tui, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	if (tui->top && tui->top->source.save && ends_in(path, KP_TOP_EXTENSION))
		status = tui->top->source.save(tui->top->source.context, file);
	if (tui->source.document && tui->report && tui->part.complete)
		status = tui->source.document(file, tui->report, path);
	if (status == KP_UNSUPPORTED)
		status = write_view(tui, file);
	bool failed = ferror(file) != 0;
	failed |= fclose(file) != 0;
	if (failed || status != KP_OK)
		kp_tui_say(tui, "%s could not be written whole.", path);
	else
		kp_tui_say(tui, "Written to %s.", path);
}

void kp_do_write(struct kp_tui *tui, uint32_t code)
{
	char name[64];

	(void)code;
	if (tui->printed) { /* a script's */
		if (kp_tui_finish(tui) == KP_OK && kp_tui_draw(tui) == KP_OK)
			kp_tui_print(tui);
		return;
	}
	snprintf(name, sizeof name, "kprof-%s.txt", kp_page_title(tui->page));
	for (char *c = name; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c == '/' ? '-' : *c);
	kp_prompt_open(tui, "Write to: ", name, write_to);
}
