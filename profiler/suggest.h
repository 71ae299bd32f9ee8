/*
 * kprof ab --suggest: a skeleton of a rule (docs/rules.md) for the kernel of a trace that takes the
 * most time, or for a chain of kernels that one could do. It is a valid rule, which fits no launch
 * until what a trace does not know was filled in; a comment stands where that is, and says how to
 * find out.
 */
#ifndef KP_PROFILER_SUGGEST_H
#define KP_PROFILER_SUGGEST_H

#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/settings.h"

/* The exit status. */
int kp_suggest(const struct kp_settings *settings);

/* suggest_launch.c, suggest_call.c: a rule for a kernel; for the library call that it is part of.
 */
void kp_suggest_launch(FILE *file, const struct kp_kernel_row *kernel);
void kp_suggest_call(FILE *file, const struct kp_kernel_row *kernel);
/*
 * suggest_chain.c: for a fusion candidate, by its id or a pattern in its name; NULL: the first.
 * False, said: there is none, or its names cannot stand in a rule.
 */
bool kp_suggest_chain(FILE *file, const struct kp_report *report, const char *pattern);
/* suggest_launch.c: the parameters' bytes that a kernel's name tells, as `parameters:` has them,
 * and how many there are; 0: it tells none. */
uint32_t kp_suggest_sizes(FILE *file, const struct kp_kernel_row *kernel);
/* A text in quotes, as YAML has one that may hold anything printable. */
void kp_suggest_quoted(FILE *file, const char *text);
/* A rule holds names as they are: no bytes that a text file cannot have. */
bool kp_suggest_is_printable(const struct kp_kernel_row *kernel);
/* `name:` of a rule, from the kernel's. */
void kp_suggest_name(FILE *file, const struct kp_kernel_row *kernel);

#endif
