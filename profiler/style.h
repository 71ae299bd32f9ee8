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

/* Columns of the terminal behind `file`, else of COLUMNS, else 80; from 50 to 1000. Tables of fixed width may
 * take 80. */
size_t kp_style_width(FILE *file);
/* Whether to colour what goes to `file`. */
bool kp_style_colors(FILE *file, enum kp_color choice);

/* Begin and end a style; nothing where `colors` is false. */
void kp_style_begin(FILE *file, bool colors, enum kp_style style);
void kp_style_end(FILE *file, bool colors, enum kp_style style);

#endif
