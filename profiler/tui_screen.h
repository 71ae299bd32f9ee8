/* The screen of kprof tui and kprof top, by the command line and the locale. */
#ifndef KP_PROFILER_TUI_SCREEN_H
#define KP_PROFILER_TUI_SCREEN_H

#include "profiler/settings.h"
#include "tui/tui.h"

/* Sets the process's LC_CTYPE. False after saying what is wrong. */
bool kp_tui_screen_settings(const struct kp_settings *settings, struct kp_tui_settings *out);

#endif
