/* The help of the commands as text; see help.h. Reads the tables, keeps no state. */
#include "profiler/help.h"

#include <string.h>

#include "profiler/commands.h"
#include "profiler/output.h"
#include "profiler/say.h"
#include "profiler/text.h"

#define WIDTH 80
#define OPTION_INDENT 24

void kp_help_argument(const struct kp_option *option, char *out, size_t size)
{
	snprintf(out, size, "%s", option->argument ? option->argument : "");
	for (size_t i = 0; !option->argument && option->choices && option->choices[i]; i++) {
		size_t length = strlen(out);
		snprintf(out + length, size - length, "%s%s", i ? "|" : "", option->choices[i]);
	}
}

static void print_option(FILE *file, const struct kp_option *option)
{
	char argument[64], left[128], letter[8] = "    ";

	kp_help_argument(option, argument, sizeof argument);
	if (option->letter)
		snprintf(letter, sizeof letter, "-%c, ", option->letter);
	int length = snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name,
			      *argument ? " " : "", argument);
	fputs(left, file);
	if (length + 2 > OPTION_INDENT)
		fprintf(file, "\n%*s", OPTION_INDENT, "");
	else
		fprintf(file, "%*s", OPTION_INDENT - length, "");
	kp_text_wrap(file, option->help, OPTION_INDENT, OPTION_INDENT, WIDTH);
}

static void print_commands(FILE *file)
{
	fputs("\nCommands:\n", file);
	for (size_t i = 1; kp_commands[i]; i++)
		fprintf(file, "  %-8s  %s\n", kp_commands[i]->name, kp_commands[i]->summary);
}

static void print_pairs(FILE *file, const char *title, const struct kp_example *pair)
{
	if (pair && pair->meaning)
		fprintf(file, "\n%s:\n", title);
	for (; pair && pair->meaning; pair++) {
		if (!pair->command)
			continue; /* a key of other views */
		int length = fprintf(file, "  %s", pair->command);
		if (length + 2 > OPTION_INDENT)
			fprintf(file, "\n%*s", OPTION_INDENT, "");
		else
			fprintf(file, "%*s", OPTION_INDENT - length, "");
		kp_text_wrap(file, pair->meaning, OPTION_INDENT, OPTION_INDENT, WIDTH);
	}
}

void kp_help_print(FILE *file, const struct kp_command *command)
{
	bool is_default = command == kp_commands[0];

	fprintf(file, "Usage: kprof %s%s[OPTION...] %s\n", is_default ? "" : command->name,
		is_default ? "" : " ", command->operands);
	if (is_default)
		fputs("       kprof COMMAND [OPTION...] ...\n", file);
	for (const char *const *paragraph = command->description; *paragraph; paragraph++) {
		fputc('\n', file);
		kp_text_wrap(file, *paragraph, 0, 0, WIDTH);
	}
	if (is_default)
		print_commands(file);
	for (const struct kp_option_group *const *group = command->groups; *group; group++) {
		fprintf(file, "\n%s:\n", (*group)->title);
		for (const struct kp_option *option = (*group)->options; option->name; option++)
			print_option(file, option);
	}
	print_pairs(file, "Keys", command->keys);
	print_pairs(file, "Environment", command->environment);
	print_pairs(file, "Exit status", command->statuses);
	if (command->examples->command)
		fputs("\nExamples:\n", file);
	for (const struct kp_example *example = command->examples; example->command; example++)
		fprintf(file, "  %s\n      %s\n", example->command, example->meaning);
}

int kp_help_command(const struct kp_command *command)
{
	struct kp_output output;

	if (!kp_output_open(&output, NULL))
		return KP_EXIT_FAILURE;
	kp_help_print(kp_output_text(&output), command);
	return kp_output_close(&output) ? 0 : KP_EXIT_FAILURE;
}
