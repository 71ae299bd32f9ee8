/* The kprof command: finds the command that the first word names, and runs it. */
#include <fcntl.h>
#include <unistd.h>

#include "profiler/commands.h"
#include "profiler/say.h"

/*
 * Files that kprof opens must not land on a standard descriptor that came closed. The stand-ins
 * close on exec: the program under kprof finds these descriptors as they were. What is written to a
 * standard output that is not there fails, so that nobody takes it for done.
 */
static void hold_standard_descriptors(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	while (fd >= 0 && fd <= STDERR_FILENO) {
		if (fd == STDOUT_FILENO) {
			close(fd);
			open("/dev/null", O_RDONLY | O_CLOEXEC);
		}
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	if (argc < 2)
		return kp_fail("no command to run; see kprof --help");
	const struct kp_command *command = kp_commands_find(argv[1]);
	if (command)
		return kp_commands_run(command, argc - 2, argv + 2);
	if (argv[1][0] == '-')
		return kp_commands_run(kp_commands_find("run"), argc - 1, argv + 1);
	const char *nearest = kp_commands_nearest(argv[1]);
	if (nearest)
		return kp_fail(
			"unknown command %s; did you mean kprof %s? (a program goes after --)",
			argv[1], nearest);
	return kp_fail("unknown command %s; to run a program: kprof -- %s", argv[1], argv[1]);
}
