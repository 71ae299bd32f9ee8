/*
 * The explorer: a trace on a screen of characters.
 *
 * Views are pure functions of what is known (a report, the trace's index) and of what the user
 * chose; they draw on a canvas of cells (canvas.h). The terminal shows that canvas and brings keys;
 * a script brings keys and prints it. Only terminal.c and restore.c know of ncurses and of signals.
 */
#ifndef KP_TUI_TUI_H
#define KP_TUI_TUI_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzers/ab_saved.h"
#include "analyzers/plan.h"
#include "analyzers/report.h"
#include "tui/roles.h"

struct kp_top_source;

/* What is explored. All borrowed, until the explorer has ended. */
struct kp_tui_source {
	const struct kp_top_source *live; /* a running program; NULL: a trace, the rest of this */
	const char *const *paths;         /* files that are one trace */
	size_t path_count;
	struct kp_reader *reader; /* of them, open */
	struct kp_report_options options;
	/* The other side of a comparison, the base; NULL: there is none. */
	struct kp_reader *base;
	const char *base_path;
	const struct kp_ab_saved *ab; /* of a run with replacements; NULL: there is none */
	/* Writes a report as the document that a file name's extension asks for. Errors:
	 * KP_UNSUPPORTED (it asks for none), KP_NO_MEMORY. */
	enum kp_status (*document)(FILE *file, const struct kp_report *report, const char *path);
};

struct kp_tui_settings {
	enum kp_theme theme;
	bool ascii; /* no character beyond ASCII */
	bool mouse;
	bool colors; /* of a script's screens, as escape sequences */
	size_t rows, columns;
	bool framed;   /* a script ends in screens of a running program: */
	size_t frames; /* so many, a second apart; 0: one, at its end */
};

#define KP_TUI_COMPLAINT_BYTES 256

/* Reads a size such as «80x24»; false: the word is none. */
bool kp_tui_read_size(const char *word, size_t *columns, size_t *rows);
/*
 * Presses the keys of a script on a screen of the settings' size and writes to `file` the screen
 * at each P, and the last one where there is none. script.c says what a script is. Errors:
 * KP_INVALID with one line in `complaint`, KP_NO_MEMORY, those of kp_report_build.
 */
enum kp_status kp_tui_script(const struct kp_tui_source *source,
			     const struct kp_tui_settings *settings, const char *script, FILE *file,
			     char complaint[KP_TUI_COMPLAINT_BYTES]);

/*
 * Explores on the terminal of the standard input and output, until the user quits. Errors:
 * KP_UNSUPPORTED with one line in `complaint` (there is no such terminal), and as above.
 */
enum kp_status kp_tui_terminal(const struct kp_tui_source *source,
			       const struct kp_tui_settings *settings,
			       char complaint[KP_TUI_COMPLAINT_BYTES]);

#endif
