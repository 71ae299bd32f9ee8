/*
 * Text of unknown origin, made fit for a place: a terminal cell, a line, a YAML or JSON string.
 *
 * Names and command lines in a trace may hold any bytes. Everything here returns valid UTF-8.
 * Pure functions without state; widths are terminal columns.
 */
#ifndef KP_PROFILER_TEXT_H
#define KP_PROFILER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What kp_text_decode gives for a byte that begins no valid UTF-8 sequence. */
#define KP_TEXT_BAD UINT32_MAX

/* One code point of `length` > 0 bytes; returns how many bytes it took (1 for a bad byte). */
size_t kp_text_decode(const char *bytes, size_t length, uint32_t *codepoint);

/* Columns that a character takes: none where it combines with the one before. */
unsigned kp_text_codepoint_columns(uint32_t codepoint);
/* Characters that must not reach a terminal: C0, DEL, C1, and what reorders or breaks lines. */
bool kp_text_is_control(uint32_t codepoint);

/* Columns that valid UTF-8 without control characters takes. */
size_t kp_text_columns(const char *text);

/*
 * For people: bad bytes and control characters become «\xHH», the rest stays. Writes at most `size`
 * bytes, the NUL included, whole characters only; returns the bytes written without the NUL.
 */
size_t kp_text_visible(char *out, size_t size, const char *bytes, size_t length);
/* The same, but what has no room ends with «…». `size`: 4 at least. */
size_t kp_text_visible_cut(char *out, size_t size, const char *bytes, size_t length);
/* Writes bytes where XML and HTML take text or the value of an attribute. */
void kp_text_markup(FILE *file, const char *bytes, size_t length);

/*
 * For programs, exact: valid text stays as it is; each byte that is not valid UTF-8, each NUL and
 * each byte of a U+FFFD that was there before becomes U+FFFD and two hexadecimal digits. Different
 * bytes stay different, and replacing each «U+FFFD HH» by its byte gives them back. The result is
 * the caller's to free; NULL: out of memory.
 */
char *kp_text_exact(const char *bytes, size_t length);

/*
 * Prints valid UTF-8 in at most `columns` (≥ 1): what is too long loses its middle to «…». Returns
 * the columns taken.
 */
size_t kp_text_fit(FILE *file, const char *text, size_t columns);

/*
 * The same for a name with template arguments, of which `word` (a part of `text`) says most: a
 * little of the name's beginning and the word, as far as there is room. Without a word (length 0),
 * the beginning alone. Other names lose their middle.
 */
size_t kp_text_fit_around(FILE *file, const char *text, size_t columns, const char *word,
			  size_t word_length);

/*
 * Prints words of valid UTF-8 and a line end: the first line begins at column `at`, the others at
 * `indent`, none is longer than `width` columns: a word that no line holds goes on in the next one.
 * (With few columns behind the indent words stay whole.)
 */
void kp_text_wrap(FILE *file, const char *text, size_t at, size_t indent, size_t width);

#endif
