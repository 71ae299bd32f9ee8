/*
 * Which characters text may have where it goes: one answer for what is printed and for screens.
 *
 * Text is made as UTF-8. Where the locale has none, a stream in between writes ASCII: the stand-ins
 * of tui/canvas.h, of the same width. Documents (YAML, JSON, CSV, Markdown, HTML) are UTF-8 always.
 */
#ifndef KP_PROFILER_CHARSET_H
#define KP_PROFILER_CHARSET_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the locale of the environment has UTF-8; by its name where it is not installed. Leaves
 * the program's locale as it is. */
bool kp_charset_is_utf8(void);
/* A stream that writes to `file`, which it borrows, in ASCII; fclose ends it. NULL: no memory. */
FILE *kp_charset_ascii(FILE *file);

#endif
