/*
 * Reads a command line by a table of options; the same table prints --help.
 * Thread-safe: no state of its own.
 */
#ifndef SAMPLES_ARGS_H
#define SAMPLES_ARGS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum arg_kind {
	ARG_FLAG,   /* value is a bool *, set to true */
	ARG_NUMBER, /* value is an int64_t *, from min to max */
	ARG_CHOICE, /* value is an int *, set to the index in choices */
};

struct arg {
	const char *name; /* without its two dashes */
	enum arg_kind kind;
	void *value; /* the caller's; holds the default before args_parse */
	int64_t min, max;
	const char *const *choices; /* ends with NULL */
	const char *help;
};

enum args_result {
	ARGS_OK,
	ARGS_HELP, /* --help was printed on stdout: exit 0 */
	ARGS_BAD,  /* one line was printed on stderr: exit 2 */
};

struct args_program {
	const char *name;
	const char *purpose; /* one line for --help */
	const struct arg *args;
	size_t count;
};

/* Takes `--name value` and `--name=value`; the last of several wins. */
enum args_result args_parse(const struct args_program *program, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
