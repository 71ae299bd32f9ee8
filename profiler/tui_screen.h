/* The screen of kprof tui and kprof top, by the command line and the locale. */
#ifndef KP_PROFILER_TUI_SCREEN_H
#define KP_PROFILER_TUI_SCREEN_H

#include "profiler/options.h"
#include "profiler/settings.h"
#include "tui/tui.h"

/* --theme, --charset and --no-mouse. */
extern const struct kp_option_group kp_tui_screen_group;

/* Sets the process's LC_CTYPE. False after saying what is wrong. */
bool kp_tui_screen_settings(const struct kp_settings *settings, struct kp_tui_settings *out);

/*
 * Shows the source on the terminal, or presses the keys of a script and prints screens to the
 * standard output. `instead`: what prints something where there is no ncurses. Errors: those of
 * kp_tui_terminal and kp_tui_script, KP_IO after saying what is wrong.
 */
enum kp_status kp_tui_screen_show(const struct kp_tui_source *source,
				  const struct kp_tui_settings *screen, const char *script,
				  const char *instead, char complaint[KP_TUI_COMPLAINT_BYTES]);

#endif
