/* Starts the program under kprof and waits for it; see launch.h. */
#include "profiler/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/witness.h"

/* Signals that ask a program for something: for CMD, not for kprof. */
static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* What kprof was started with, and gives to the program. */
struct inherited {
	sigset_t mask;
	struct sigaction child_action;
	sigset_t passed; /* of passed_on, those that were not ignored */
};

static void take_signals(struct inherited *inherited)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	struct sigaction action;
	sigset_t taken;

	/* Were it ignored, the system would not keep the exit status for waitpid. */
	sigaction(SIGCHLD, &usual, &inherited->child_action);
	sigemptyset(&inherited->passed);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
		if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&inherited->passed, passed_on[i]);
	}
	taken = inherited->passed;
	sigaddset(&taken, SIGCHLD);
	sigprocmask(SIG_BLOCK, &taken, &inherited->mask);
}

/* What came for the program and after its end is no longer of use to anyone. */
static void give_signals_back(const struct inherited *inherited)
{
	const struct timespec now = {0, 0};

	while (sigtimedwait(&inherited->passed, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* In the new process: becomes the program, or reports why not. */
__attribute__((noreturn)) static void become(char **argv, const struct kp_target *target,
					     const struct kp_environment *environment,
					     const struct inherited *inherited, int report)
{
	char path[PATH_MAX + 2];

	/* A path without a slash (of an empty element of PATH) must not be searched for again. */
	snprintf(path, sizeof path, "%s%s", strchr(target->path, '/') ? "" : "./", target->path);
	if (kp_environment_apply(environment) != KP_OK) {
		errno = ENOMEM;
	} else {
		sigaction(SIGCHLD, &inherited->child_action, NULL);
		sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
		if (target->program.is_elf)
			execv(path, argv);
		else
			execvp(path, argv); /* a text without «#!» goes to the shell */
	}
	int error = errno;
	if (write(report, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

static int exit_status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits for the program; passes on what was meant for it. */
static int wait_for(pid_t pid, const struct inherited *inherited, struct kp_witness *witness)
{
	sigset_t taken = inherited->passed;
	int status = 0;

	sigaddset(&taken, SIGCHLD);
	for (;;) {
		siginfo_t info;
		pid_t ended = waitpid(pid, &status, WNOHANG);
		if (ended == pid)
			return exit_status_of(status);
		if (ended < 0 && errno != EINTR)
			return 128 + SIGKILL; /* someone else reaped it: how it ended is unknown */
		int number = sigwaitinfo(&taken, &info);
		if (number <= 0 || number == SIGCHLD || info.si_code == SI_KERNEL)
			continue; /* the terminal's signals reach the whole group */
		if (!kp_witness_saw(witness, number))
			kill(pid, number);
	}
}

/* Makes the process; *error is errno of a failed exec. Returns its pid, or -1 (errno). */
static pid_t start(char **argv, const struct kp_target *target,
		   const struct kp_environment *environment, const struct inherited *inherited,
		   int *error)
{
	int report[2];

	*error = 0;
	if (pipe2(report, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		become(argv, target, environment, inherited, report[1]);
	int fork_error = errno;
	close(report[1]);
	ssize_t got;
	do
		got = pid > 0 ? read(report[0], error, sizeof *error) : 0;
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof *error)
		*error = 0;
	close(report[0]);
	errno = fork_error;
	return pid;
}

enum kp_status kp_launch_run(char **argv, const struct kp_target *target,
			     const struct kp_environment *environment, struct kp_launched *out)
{
	struct inherited inherited;
	struct kp_witness witness;

	take_signals(&inherited);
	kp_witness_start(&witness, &inherited.passed);
	pid_t pid = start(argv, target, environment, &inherited, &out->exec_error);
	int error = errno;
	/* The program has the disposition that kprof had; kprof itself must outlive its readers. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	out->pid = pid;
	if (pid > 0)
		out->exit_status = wait_for(pid, &inherited, &witness);
	kp_witness_stop(&witness);
	give_signals_back(&inherited);
	errno = error;
	return pid > 0 ? KP_OK : KP_IO;
}
