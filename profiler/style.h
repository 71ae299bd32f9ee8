/*
 * How text looks where it goes: the width there, and colours only where they are wanted.
 *
 * Colour repeats what words and marks say; without it nothing is lost.
 */
#ifndef KP_PROFILER_STYLE_H
#define KP_PROFILER_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "profiler/settings.h"

enum kp_style { KP_STYLE_PLAIN, KP_STYLE_TITLE, KP_STYLE_HOT, KP_STYLE_STRONG, KP_STYLE_WARNING };

/* What decides it, for --help and manual pages. */
#define KP_STYLE_ENVIRONMENT                                                                       \
	{"COLUMNS",                                                                                \
	 "Width of the text where the output is no terminal, 50 at least; 80 without it."},        \
		{"NO_COLOR", "When set and not empty, no colours."},                               \
	{                                                                                          \
		"LC_ALL", "With LC_CTYPE and LANG: the locale. Where it has no UTF-8, text is "    \
			  "ASCII."                                                                 \
	}

/* Columns of the terminal behind `file`, else of COLUMNS, else 80; from 50 to 1000. Tables of fixed
 * width may take 80. */
size_t kp_style_width(FILE *file);
/* Whether to colour what goes to `file`. */
bool kp_style_colors(FILE *file, enum kp_color choice);

/* Begin and end a style; nothing where `colors` is false. */
void kp_style_begin(FILE *file, bool colors, enum kp_style style);
void kp_style_end(FILE *file, bool colors, enum kp_style style);

#endif
