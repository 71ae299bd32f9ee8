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

/* Signals that ask a program for something: for CMD, not for kprof. */
static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

static void take_signals(struct kp_inherited *inherited)
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
static void give_signals_back(const struct kp_inherited *inherited)
{
	const struct timespec now = {0, 0};

	while (sigtimedwait(&inherited->passed, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* In the new process: its first three descriptors. */
static void take_streams(const int streams[3])
{
	for (int i = 0; i < 3; i++)
		if (streams[i] >= 0)
			dup2(streams[i], i);
}

/* In the new process: becomes the program, or reports why not. */
__attribute__((noreturn)) static void become(char **argv, const struct kp_target *target,
					     const struct kp_environment *environment,
					     const struct kp_launching *launch, int report)
{
	const struct kp_inherited *inherited = &launch->inherited;
	char path[PATH_MAX + 2];

	/* A path without a slash (of an empty element of PATH) must not be searched for again. */
	snprintf(path, sizeof path, "%s%s", strchr(target->path, '/') ? "" : "./", target->path);
	if (kp_environment_apply(environment) != KP_OK) {
		errno = ENOMEM;
	} else {
		take_streams(launch->streams);
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

/* Whether it has ended; then its status is known. */
static bool has_ended(struct kp_launching *launch)
{
	int status = 0;
	pid_t ended = waitpid(launch->launched.pid, &status, WNOHANG);

	if (ended == launch->launched.pid)
		launch->launched.exit_status = exit_status_of(status);
	else if (ended < 0 && errno != EINTR)
		launch->launched.exit_status =
			128 + SIGKILL; /* someone else reaped it: how it ended is unknown */
	else
		return false;
	return true;
}

void kp_launch_step(struct kp_launching *launch, bool wait)
{
	const struct timespec now = {0, 0};
	sigset_t taken = launch->inherited.passed;
	siginfo_t info;

	sigaddset(&taken, SIGCHLD);
	while (!launch->ended && !(launch->ended = has_ended(launch))) {
		int number = wait ? sigwaitinfo(&taken, &info) : sigtimedwait(&taken, &info, &now);
		if (number <= 0 && !wait)
			return;
		if (number <= 0 || number == SIGCHLD || info.si_code == SI_KERNEL)
			continue; /* the terminal's signals reach the whole group */
		launch->passed_on = number;
		if (!kp_witness_saw(&launch->witness, number))
			kill(launch->launched.pid, number);
	}
}

/* Makes the process; *error is errno of a failed exec. Returns its pid, or -1 (errno). */
static pid_t start(char **argv, const struct kp_target *target,
		   const struct kp_environment *environment, const struct kp_launching *launch,
		   int *error)
{
	int report[2];

	*error = 0;
	if (pipe2(report, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		become(argv, target, environment, launch, report[1]);
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

enum kp_status kp_launch_begin(struct kp_launching *launch, char **argv,
			       const struct kp_target *target,
			       const struct kp_environment *environment)
{
	take_signals(&launch->inherited);
	kp_witness_start(&launch->witness, &launch->inherited.passed);
	launch->launched = (struct kp_launched){0};
	launch->passed_on = 0;
	pid_t pid = start(argv, target, environment, launch, &launch->launched.exec_error);
	int error = errno;
	/* The program has the disposition that kprof had; kprof itself must outlive its readers. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	launch->launched.pid = pid;
	launch->ended = pid <= 0;
	errno = error;
	return pid > 0 ? KP_OK : KP_IO;
}

void kp_launch_end(struct kp_launching *launch)
{
	int error = errno;

	kp_witness_stop(&launch->witness);
	give_signals_back(&launch->inherited);
	errno = error;
}

enum kp_status kp_launch_run(char **argv, const struct kp_target *target,
			     const struct kp_environment *environment, struct kp_launched *out)
{
	struct kp_launching launch = {.streams = {-1, -1, -1}};
	enum kp_status status = kp_launch_begin(&launch, argv, target, environment);

	while (!launch.ended)
		kp_launch_step(&launch, true);
	kp_launch_end(&launch);
	*out = launch.launched;
	return status;
}
