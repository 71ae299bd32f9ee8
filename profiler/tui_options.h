/* What the command line says of the explorer; a part of struct kp_settings. */
#ifndef KP_PROFILER_TUI_OPTIONS_H
#define KP_PROFILER_TUI_OPTIONS_H

#include <stdbool.h>

/* Values of --charset, in the order of their names in tui_screen.c. */
enum kp_charset { KP_CHARSET_AUTO, KP_CHARSET_UTF8, KP_CHARSET_ASCII };

struct kp_tui_options {
	const char *against; /* file of the base of a comparison; NULL: none */
	const char *ab;      /* file of a report of kprof ab; NULL: none */
	const char *keys;    /* a script; NULL: on the terminal */
	const char *size;    /* of its screen; NULL: 80x24 */
	int theme;           /* enum kp_theme */
	int charset;         /* enum kp_charset */
	bool no_mouse;
};

#endif
