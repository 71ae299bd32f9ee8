/*
 * Where a command's result goes: a file or the standard output, with every error noticed.
 *
 * A reader that went away (EPIPE) is no error. An existing trace is never replaced by a report.
 */
#ifndef KP_PROFILER_OUTPUT_H
#define KP_PROFILER_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct kp_output {
	FILE *file;
	FILE *text;       /* of kp_output_text; NULL: none */
	const char *path; /* borrowed; NULL: the standard output */
};

/* Opens `path`, or the standard output where it is NULL or "-"; says what is wrong and returns
 * false. */
bool kp_output_open(struct kp_output *output, const char *path);
/* What text for people is written to: `file`, or a stream before it where the locale has no UTF-8
 * (charset.h). */
FILE *kp_output_text(struct kp_output *output);
/* Flushes and closes; says what is wrong and returns false if anything could not be written. */
bool kp_output_close(struct kp_output *output);

/* Whether `path` can be written later, as far as that can be known now; says what is wrong. */
bool kp_output_check(const char *path);

/* Whether a file is a trace, whole or damaged. A file that does not exist or is empty is none. */
bool kp_output_is_trace(const char *path);

#endif
