/*
 * kprof ab --suggest: a skeleton of a rule (docs/rules.md) for the kernel of a trace that takes the
 * most time. It is a valid rule, which fits no launch until what a trace does not know was filled
 * in; a comment stands where that is, and says how to find out.
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
/* A text in quotes, as YAML has one that may hold anything printable. */
void kp_suggest_quoted(FILE *file, const char *text);
/* `name:` of a rule, from the kernel's. */
void kp_suggest_name(FILE *file, const struct kp_kernel_row *kernel);

#endif
