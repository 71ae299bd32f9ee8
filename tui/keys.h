/* Keys: their codes, their names, and what they do; keys.def is the table. */
#ifndef KP_TUI_KEYS_H
#define KP_TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kp_tui;

/* X(NAME, name, code): keys without a character. Others are the character itself. */
#define KP_SPECIAL_KEYS(X)                                                                         \
	X(UP, "Up", 0x110000)                                                                      \
	X(DOWN, "Down", 0x110001)                                                                  \
	X(LEFT, "Left", 0x110002)                                                                  \
	X(RIGHT, "Right", 0x110003)                                                                \
	X(PAGE_UP, "PgUp", 0x110004)                                                               \
	X(PAGE_DOWN, "PgDn", 0x110005)                                                             \
	X(HOME, "Home", 0x110006)                                                                  \
	X(END, "End", 0x110007)                                                                    \
	X(BACK_TAB, "BackTab", 0x110008)                                                           \
	X(F1, "F1", 0x110009)                                                                      \
	X(ENTER, "Enter", '\r')                                                                    \
	X(ESCAPE, "Esc", 0x1B)                                                                     \
	X(TAB, "Tab", '\t')                                                                        \
	X(BACKSPACE, "Backspace", 0x7F)                                                            \
	X(SPACE, "Space", ' ')                                                                     \
	X(COMMA, "Comma", ',')

enum {
#define KP_KEY_ROW(NAME, name, code) KP_KEY_##NAME = (code),
	KP_SPECIAL_KEYS(KP_KEY_ROW)
#undef KP_KEY_ROW
};

struct kp_key {
	const char *names; /* separated by blanks */
	uint32_t pages;    /* bits of the pages on which it is valid */
	void (*run)(struct kp_tui *tui, uint32_t code);
	const char *bar; /* NULL: not in the line of keys */
	const char *help;
};

extern const struct kp_key kp_keys[];
extern const size_t kp_key_count;

/* The code of a key's name, such as "PgUp", "Ctrl-L" or "k"; 0: it is none. */
uint32_t kp_key_code(const char *name, size_t length);
/* The first name of a row. */
void kp_key_first_name(const struct kp_key *key, char *out, size_t size);
/* The row of a key on a page; NULL: it does nothing there. */
const struct kp_key *kp_key_on(uint32_t code, unsigned page);

/* Presses a key: text goes into an open prompt. */
void kp_tui_key(struct kp_tui *tui, uint32_t code);
/* A click on a cell; a turn of the wheel by rows, down where more than 0. */
void kp_tui_click(struct kp_tui *tui, size_t row, size_t column);
void kp_tui_wheel(struct kp_tui *tui, int rows);

/* prompt.c: asks for a line. `done` gets it, unless it is given up. */
void kp_prompt_open(struct kp_tui *tui, const char *label, const char *text,
		    void (*done)(struct kp_tui *tui, const char *text));
void kp_prompt_key(struct kp_tui *tui, uint32_t code);

#endif
