/*
 * Reads a command line by a table of options; the same table prints --help.
 * What is wrong is said in one line on stderr. Thread-safe: no state of its own.
 */
#include "args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_default(const struct arg *arg)
{
	if (arg->kind == ARG_NUMBER)
		printf(" (default %" PRId64 ")", *(int64_t *)arg->value);
	if (arg->kind == ARG_CHOICE)
		printf(" (default %s)", arg->choices[*(int *)arg->value]);
}

static void print_help(const struct args_program *program)
{
	printf("usage: %s [options]\n%s\n\n", program->name, program->purpose);
	for (size_t i = 0; i < program->count; i++) {
		const struct arg *arg = &program->args[i];
		int used = printf("  --%s%s", arg->name, arg->kind == ARG_NUMBER ? " N" : "");

		if (arg->kind == ARG_CHOICE)
			for (const char *const *choice = arg->choices; *choice; choice++)
				used += printf("%c%s", choice == arg->choices ? ' ' : '|', *choice);
		printf("%*s  %s", used < 32 ? 32 - used : 0, "", arg->help);
		print_default(arg);
		putchar('\n');
	}
	printf("  %-30s  print this\n", "--help");
}

/* Finds the option that `word` names; *value is what stands after its `=`, or NULL. */
static const struct arg *find(const struct args_program *program, const char *word,
			      const char **value)
{
	if (strncmp(word, "--", 2) != 0)
		return NULL;
	word += 2;

	size_t length = strcspn(word, "=");

	*value = word[length] == '=' ? word + length + 1 : NULL;
	for (size_t i = 0; i < program->count; i++) {
		const char *name = program->args[i].name;

		if (strlen(name) == length && strncmp(name, word, length) == 0)
			return &program->args[i];
	}
	return NULL;
}

static bool set_number(const struct args_program *program, const struct arg *arg, const char *text)
{
	char *end;

	errno = 0;
	long long number = strtoll(text, &end, 10);

	if (end == text || *end || errno || number < arg->min || number > arg->max) {
		fprintf(stderr,
			"%s: --%s must be a number from %" PRId64 " to %" PRId64 ", not '%s'\n",
			program->name, arg->name, arg->min, arg->max, text);
		return false;
	}
	*(int64_t *)arg->value = number;
	return true;
}

static bool set_choice(const struct args_program *program, const struct arg *arg, const char *text)
{
	for (int i = 0; arg->choices[i]; i++) {
		if (strcmp(arg->choices[i], text) == 0) {
			*(int *)arg->value = i;
			return true;
		}
	}
	fprintf(stderr, "%s: --%s must be ", program->name, arg->name);
	for (int i = 0; arg->choices[i]; i++)
		fprintf(stderr, "%s%s", i ? " or " : "", arg->choices[i]);
	fprintf(stderr, ", not '%s'\n", text);
	return false;
}

static bool set(const struct args_program *program, const struct arg *arg, const char *text)
{
	if (arg->kind == ARG_NUMBER)
		return set_number(program, arg, text);
	return set_choice(program, arg, text);
}

enum args_result args_parse(const struct args_program *program, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = NULL;
		const struct arg *arg = find(program, argv[i], &value);

		if (strcmp(argv[i], "--help") == 0) {
			print_help(program);
			return ARGS_HELP;
		}
		if (!arg) {
			fprintf(stderr, "%s: unknown option '%s' (see --help)\n", program->name,
				argv[i]);
			return ARGS_BAD;
		}
		if (arg->kind == ARG_FLAG && value) {
			fprintf(stderr, "%s: --%s takes no value\n", program->name, arg->name);
			return ARGS_BAD;
		}
		if (arg->kind == ARG_FLAG) {
			*(bool *)arg->value = true;
			continue;
		}
		if (!value && i + 1 < argc)
			value = argv[++i];
		if (!value) {
			fprintf(stderr, "%s: --%s needs a value\n", program->name, arg->name);
			return ARGS_BAD;
		}
		if (!set(program, arg, value))
			return ARGS_BAD;
	}
	return ARGS_OK;
}
