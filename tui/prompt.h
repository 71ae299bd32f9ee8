/* The line at the bottom in which something is typed. Private to tui/. */
#ifndef KP_TUI_PROMPT_H
#define KP_TUI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#define KP_TUI_TEXT 128

struct kp_tui;

struct kp_prompt {
	bool open;
	const char *label;
	char text[KP_TUI_TEXT];
	size_t length;
	bool chosen; /* the text that it began with: what is typed takes its place */
	void (*done)(struct kp_tui *tui, const char *text);
};

#endif
