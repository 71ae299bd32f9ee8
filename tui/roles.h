/*
 * What a cell of the screen is for, and how that looks: one table for all themes.
 *
 * Views say roles, never colours. Colour repeats what words and marks say: the monochrome theme,
 * and text without any attributes, lose nothing.
 */
#ifndef KP_TUI_ROLES_H
#define KP_TUI_ROLES_H

#include <stddef.h>
#include <stdint.h>

/* X(NAME, dark, light, mono, what it is for). A look is (foreground, background, attributes);
 * colours are those of the 256, -1 is the terminal's own. */
#define KP_ROLES(X)                                                                                \
	X(PLAIN, (-1, -1, 0), (-1, -1, 0), (-1, -1, 0), "text")                                    \
	X(TITLE, (15, 24, 1), (15, 24, 1), (-1, -1, 3), "the line on top")                         \
	X(TAB, (250, 236, 0), (238, 253, 0), (-1, -1, 0), "names of views")                        \
	X(TAB_HERE, (16, 44, 1), (15, 24, 1), (-1, -1, 3), "that of this view")                    \
	X(HEAD, (44, -1, 1), (24, -1, 1), (-1, -1, 1), "titles of columns")                        \
	X(STRONG, (15, -1, 1), (16, -1, 1), (-1, -1, 1), "rows that others are beneath")           \
	X(DIM, (245, -1, 0), (243, -1, 0), (-1, -1, 0), "what matters less")                       \
	X(HOT, (209, -1, 1), (160, -1, 1), (-1, -1, 1), "above the threshold; has a *")            \
	X(GOOD, (114, -1, 0), (28, -1, 0), (-1, -1, 0), "as it should be")                         \
	X(WARNING, (221, -1, 1), (130, -1, 1), (-1, -1, 1), "something is missing or wrong")       \
	X(SELECTED, (16, 250, 0), (15, 24, 0), (-1, -1, 2), "the row or column chosen; has a >")   \
	X(BAR, (38, -1, 0), (31, -1, 0), (-1, -1, 0), "bars")                                      \
	X(BAR_HOT, (209, -1, 0), (160, -1, 0), (-1, -1, 0), "bars of what is hot")                 \
	X(FOUND, (16, 221, 0), (16, 221, 0), (-1, -1, 4), "what was searched for")                 \
	X(KEY, (15, -1, 1), (16, -1, 1), (-1, -1, 1), "a key in the line of keys")                 \
	X(KEY_NAME, (16, 44, 0), (15, 24, 0), (-1, -1, 2), "what it does")                         \
	X(PROMPT, (15, 236, 1), (16, 253, 1), (-1, -1, 1), "a line that is typed")                 \
	X(AXIS, (243, -1, 0), (245, -1, 0), (-1, -1, 0), "axes and rules")                         \
	X(ROOF, (44, -1, 0), (24, -1, 0), (-1, -1, 0), "the roof")                                 \
	X(KERNEL_A, (16, 38, 0), (15, 25, 0), (-1, -1, 2), "kernels in a lane, in turn")           \
	X(KERNEL_B, (16, 73, 0), (15, 30, 0), (-1, -1, 2), "the next of them")                     \
	X(MEMORY, (16, 179, 0), (16, 179, 0), (-1, -1, 4), "copies and sets in a lane")            \
	X(RANGE, (250, 238, 0), (238, 252, 0), (-1, -1, 4), "NVTX ranges in a lane")               \
	X(GAP_GPU, (71, -1, 0), (28, -1, 0), (-1, -1, 0), "idle by the GPU's own ways")            \
	X(GAP_HOST, (209, -1, 1), (160, -1, 1), (-1, -1, 1), "idle by the host's")                 \
	X(GAP_OTHER, (221, -1, 0), (130, -1, 0), (-1, -1, 0), "idle by others")

enum kp_role {
#define KP_ROLE_ROW(NAME, dark, light, mono, what) KP_ROLE_##NAME,
	KP_ROLES(KP_ROLE_ROW)
#undef KP_ROLE_ROW
		KP_ROLE_COUNT
};

enum kp_theme { KP_THEME_DARK, KP_THEME_LIGHT, KP_THEME_MONO, KP_THEME_COUNT };
/* Their names, ended by NULL. */
extern const char *const kp_theme_names[KP_THEME_COUNT + 1];

enum kp_look_attribute { KP_LOOK_BOLD = 1, KP_LOOK_REVERSE = 2, KP_LOOK_UNDERLINE = 4 };

struct kp_look {
	int16_t foreground, background; /* -1: the terminal's own */
	uint8_t attributes;
};

struct kp_look kp_role_look(enum kp_role role, enum kp_theme theme);
/* The nearest of the eight colours to one of the 256, for terminals that have no more. */
int16_t kp_look_of_eight(int16_t color);
/* The escape sequence that begins a look; "" for the plain one. */
void kp_look_sequence(struct kp_look look, char *out, size_t size);

#endif
