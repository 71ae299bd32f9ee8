/*
 * How much a regular expression of a rule costs before it is compiled.
 *
 * The C library's compiler calls itself at every parenthesis, copies what is repeated, and follows
 * what may be left out by calling itself again, on the stack of a thread of the program: a short
 * pattern could end it, or take all of its memory. Such patterns are refused when rules are read.
 */
#ifndef KP_ANALYZERS_AB_PATTERN_H
#define KP_ANALYZERS_AB_PATTERN_H

/* Bytes of the text; what mangled names need is far less. */
#define KP_AB_PATTERN_BYTES_MOST 8192U
/* Parentheses within each other. */
#define KP_AB_PATTERN_LEVELS_MOST 16U
/* Characters and classes, with all copies of what is repeated. */
#define KP_AB_PATTERN_PARTS_MOST 8192U
/* Of these, what is repeated, may be left out or is one of several. */
#define KP_AB_PATTERN_CHOICES_MOST 256U
/* And anchors: the compiler copies all between two of them, again and again. */
#define KP_AB_PATTERN_ANCHORS_MOST 16U

/* Why it is refused, in words; NULL: it is not. Whether it is a pattern at all is not asked. */
const char *kp_ab_pattern_refuse(const char *text);

#endif
