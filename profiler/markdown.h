/*
 * Markdown (GitHub's, and what others read of it) out of text of any origin: no name can end a
 * cell, become a heading, a link, a mention or HTML.
 */
#ifndef KP_PROFILER_MARKDOWN_H
#define KP_PROFILER_MARKDOWN_H

#include <stddef.h>
#include <stdio.h>

#include "trace/status.h"

/*
 * A name, as code: in it nothing but a backtick ends it, and nothing but a pipe ends a cell, so
 * that these two are written \x60 and \x7c, as unprintable bytes are. At most `columns` of it.
 * Errors: KP_NO_MEMORY.
 */
enum kp_status kp_markdown_code(FILE *file, const char *name, size_t columns);
/* A sentence that may hold names: what means something to Markdown or HTML is escaped, and an
 * address is broken by a space of no width. */
void kp_markdown_text(FILE *file, const char *text);
/* Whole lines, as a block of code. */
void kp_markdown_block(FILE *file, const char *lines);

#endif
