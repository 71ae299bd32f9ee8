/* The completion script for bash, made from the tables of commands; see help.h. */
#include <string.h>

#include "profiler/commands.h"
#include "profiler/help.h"

/* What the shell shall offer as the value of an option. */
static void print_value(FILE *file, const struct kp_option *option)
{
	if (option->type == KP_OPTION_FLAG)
		return;
	fprintf(file, "\t\t--%s", option->name);
	if (option->letter)
		fprintf(file, "|-%c", option->letter);
	fputc(')', file);
	if (option->type == KP_OPTION_FILE)
		fputs(" COMPREPLY=($(compgen -f -- \"$word\"));", file);
	if (option->choices) {
		fputs(" COMPREPLY=($(compgen -W '", file);
		for (size_t i = 0; option->choices[i]; i++)
			fprintf(file, "%s%s", i ? " " : "", option->choices[i]);
		fputs("' -- \"$word\"));", file);
	}
	fputs(" return ;;\n", file);
}

static void print_command(FILE *file, const struct kp_command *command)
{
	fprintf(file, "\t%s)\n\t\toptions='", command->name);
	const char *separator = "";
	for (const struct kp_option_group *const *group = command->groups; *group; group++) {
		for (const struct kp_option *option = (*group)->options; option->name; option++) {
			fprintf(file, "%s--%s", separator, option->name);
			separator = " ";
		}
	}
	fputs("'\n\t\tcase $before in\n", file);
	for (const struct kp_option_group *const *group = command->groups; *group; group++) {
		for (const struct kp_option *option = (*group)->options; option->name; option++)
			print_value(file, option);
	}
	fputs("\t\tesac ;;\n", file);
}

void kp_completion_print(FILE *file)
{
	fputs("# bash completion of kprof; made by «kprof help --bash-completion».\n"
	      "_kprof() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal command=run options='' commands='",
	      file);
	for (size_t i = 1; kp_commands[i]; i++)
		fprintf(file, "%s%s", i > 1 ? " " : "", kp_commands[i]->name);
	fputs("' i\n"
	      "\tCOMPREPLY=()\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [[ ${COMP_WORDS[i]} == -- && ${COMP_WORDS[1]} != diff ]]; then\n"
	      "\t\t\t_command_offset $((i + 1)) 2>/dev/null ||\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -c -- \"$word\"))\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\tif ((COMP_CWORD > 1)) && [[ \" $commands \" == *\" ${COMP_WORDS[1]} \"* ]]; then\n"
	      "\t\tcommand=${COMP_WORDS[1]}\n"
	      "\tfi\n"
	      "\tcase $command in\n",
	      file);
	for (size_t i = 0; kp_commands[i]; i++)
		print_command(file, kp_commands[i]);
	fputs("\tesac\n"
	      "\tif [[ $word == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	      "\telif ((COMP_CWORD == 1)) || [[ $command == help ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o filenames -F _kprof kprof\n",
	      file);
}
