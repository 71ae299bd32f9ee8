/* kprof help and kprof version: the words of the tables, in the form that is asked for. */
#include "profiler/commands.h"
#include "profiler/help.h"
#include "profiler/output.h"
#include "profiler/say.h"

int kp_cmd_version(const struct kp_settings *settings)
{
	struct kp_output output;

	(void)settings;
	if (!kp_output_open(&output, NULL))
		return KP_EXIT_FAILURE;
	fputs("kprof " KPROF_VERSION "\n", output.file);
	return kp_output_close(&output) ? 0 : KP_EXIT_FAILURE;
}

int kp_cmd_help(const struct kp_settings *settings)
{
	const struct kp_command *command = kp_commands[0];
	struct kp_output output;

	if (settings->operand_count > 0) {
		const char *name = settings->operands[0], *nearest = kp_commands_nearest(name);
		command = kp_commands_find(name);
		if (!command && nearest)
			return kp_fail("there is no command %s; did you mean %s?", name, nearest);
		if (!command)
			return kp_fail("there is no command %s; see kprof help", name);
	}
	if (settings->man && !command->page)
		return kp_fail("%s has no manual page of its own; see kprof(1)", command->name);
	if (!kp_output_open(&output, NULL))
		return KP_EXIT_FAILURE;
	if (settings->bash_completion)
		kp_completion_print(output.file);
	else if (settings->man)
		kp_man_print(output.file, command);
	else
		kp_help_print(kp_output_text(&output), command);
	return kp_output_close(&output) ? 0 : KP_EXIT_FAILURE;
}
