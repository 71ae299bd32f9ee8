/* Manual pages in mdoc(7), made from the tables of commands; see help.h. */
#include <string.h>

#include "profiler/commands.h"
#include "profiler/help.h"

/* The day on which the words of the tables were last revised. */
#define REVISED "November 29, 2026"
#define LINE_BYTES 78 /* two are left for a guard before a full stop */

/* One line of text as roff reads it: no character of it is a macro, an escape or a hyphenation
 * point. */
static void print_word(FILE *file, const char *text, size_t length, bool line_start)
{
	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (line_start && (c == '.' || c == '\''))
			fputs("\\&", file);
		if (c == '\\')
			fputs("\\e", file);
		else if (c == '-')
			fputs("\\-", file);
		else
			fputc(c, file);
		line_start = false;
	}
}

static void print_text(FILE *file, const char *text, size_t length)
{
	print_word(file, text, length, true);
}

/* Bytes that print_word makes of a word. */
static size_t printed_length(const char *word, size_t length)
{
	size_t printed = length;

	for (size_t i = 0; i < length; i++)
		printed += word[i] == '-' || word[i] == '\\';
	return printed;
}

/* Sentences, each on a line of its own as mdoc wants them, and broken where lines get long. */
static void print_sentences(FILE *file, const char *text)
{
	size_t at = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		bool ends_sentence = length > 0 && text[length - 1] == '.' && text[length] == ' ';
		size_t printed = printed_length(text, length);
		if (at > 0 && at + 1 + printed > LINE_BYTES) {
			fputc('\n', file);
			at = 0;
		} else if (at > 0) {
			at += (size_t)fprintf(file, " ");
		}
		print_word(file, text, length, at == 0);
		at += printed;
		text += length + (text[length] == ' ');
		if (ends_sentence) {
			fputc('\n', file);
			at = 0;
		}
	}
	fputc('\n', file);
}

/* An argument of a macro: quoted, since it may hold spaces and words that are macros. */
static void print_quoted(FILE *file, const char *text)
{
	fputc('"', file);
	print_text(file, text, strlen(text));
	fputc('"', file);
}

static void print_option(FILE *file, const struct kp_option *option)
{
	char argument[64];

	kp_help_argument(option, argument, sizeof argument);
	fputs(".It ", file);
	if (option->letter)
		fprintf(file, "Fl %c , ", option->letter);
	fputs("Fl ", file);
	char name[64];
	snprintf(name, sizeof name, "-%s", option->name);
	print_text(file, name, strlen(name));
	if (option->choices && !option->argument) {
		for (size_t i = 0; option->choices[i]; i++)
			fprintf(file, " %sCm %s", i ? "| " : "", option->choices[i]);
	} else if (*argument) {
		fprintf(file, " Ar %s", argument);
	}
	fputc('\n', file);
	print_sentences(file, option->help);
}

static void print_options(FILE *file, const struct kp_command *command)
{
	for (const struct kp_option_group *const *group = command->groups; *group; group++) {
		fputs(".Ss ", file);
		print_quoted(file, (*group)->title);
		fputs("\n.Bl -tag -width Ds\n", file);
		for (const struct kp_option *option = (*group)->options; option->name; option++)
			print_option(file, option);
		fputs(".El\n", file);
	}
}

/* A tagged list: each `command` under the macro, with its meaning. */
static void print_pairs(FILE *file, const char *macro, const struct kp_example *pair)
{
	fputs(".Bl -tag -width Ds\n", file);
	for (; pair->meaning; pair++) {
		if (!pair->command)
			continue; /* a key of other views */
		fprintf(file, ".It %s ", macro);
		print_quoted(file, pair->command);
		fputc('\n', file);
		print_sentences(file, pair->meaning);
	}
	fputs(".El\n", file);
}

static void print_synopsis(FILE *file, const struct kp_command *command)
{
	fputs(".Sh SYNOPSIS\n.Nm kprof\n", file);
	if (command != kp_commands[0])
		fprintf(file, ".Cm %s\n", command->name);
	fputs(".Op Ar option ...\n", file);
	if (strncmp(command->operands, "-- ", 3) == 0) {
		fputs(".Fl -\n.Ar CMD\n.Op Ar ARG ...\n", file);
	} else if (*command->operands) {
		fputs(".Ar ", file);
		print_quoted(file, command->operands);
		fputc('\n', file);
	}
}

static void print_commands(FILE *file)
{
	fputs("The first word after\n.Nm\nmay name another command:\n.Bl -tag -width Ds\n", file);
	for (size_t i = 1; kp_commands[i]; i++) {
		fprintf(file, ".It Cm %s\n", kp_commands[i]->name);
		print_text(file, kp_commands[i]->summary, strlen(kp_commands[i]->summary));
		if (kp_commands[i]->page)
			fprintf(file, "; see\n.Xr %s 1", kp_commands[i]->page);
		fputc('\n', file);
	}
	fputs(".El\n", file);
}

static void print_see_also(FILE *file, const struct kp_command *command)
{
	const char *separator = "";

	/* In the order of the alphabet, as mandoc wants it; the pages are few. */
	fputs(".Sh SEE ALSO\n", file);
	for (const char *last = "", *next = "";; last = next) {
		next = NULL;
		for (size_t i = 0; kp_commands[i]; i++) {
			const char *page = kp_commands[i]->page;
			bool later = page && strcmp(page, last) > 0;
			if (later && page != command->page && (!next || strcmp(page, next) < 0))
				next = page;
		}
		if (!next)
			break;
		fprintf(file, "%s.Xr %s 1", separator, next);
		separator = " ,\n";
	}
	fputc('\n', file);
}

static void print_examples(FILE *file, const struct kp_example *example)
{
	fputs(".Sh EXAMPLES\n", file);
	for (bool first = true; example->command; example++, first = false) {
		if (!first)
			fputs(".Pp\n", file);
		print_sentences(file, example->meaning);
		fputs(".Pp\n.Dl ", file);
		print_quoted(file, example->command);
		fputc('\n', file);
	}
}

void kp_man_print(FILE *file, const struct kp_command *command)
{
	fputs(".\\\" Made by «kprof help --man»; do not edit.\n", file);
	fputs(".Dd " REVISED "\n.Dt ", file);
	for (const char *c = command->page; *c; c++)
		fputc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, file);
	fprintf(file, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", command->page);
	print_text(file, command->summary, strlen(command->summary));
	fputc('\n', file);
	print_synopsis(file, command);
	fputs(".Sh DESCRIPTION\n", file);
	for (const char *const *paragraph = command->description; *paragraph; paragraph++) {
		if (paragraph != command->description)
			fputs(".Pp\n", file);
		print_sentences(file, *paragraph);
	}
	if (command == kp_commands[0]) {
		fputs(".Pp\n", file);
		print_commands(file);
	}
	print_options(file, command);
	if (command->keys) {
		fputs(".Sh KEYS\n", file);
		print_pairs(file, "Ic", command->keys);
	}
	if (command->environment) {
		fputs(".Sh ENVIRONMENT\n", file);
		print_pairs(file, "Ev", command->environment);
	}
	fputs(".Sh EXIT STATUS\n", file);
	print_pairs(file, "Li", command->statuses);
	print_examples(file, command->examples);
	print_see_also(file, command);
}
