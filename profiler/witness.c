/*
 * The witness; see witness.h. Its process holds nothing open but the pipe (a pipeline behind kprof
 * must see its end), and goes when kprof goes.
 */
#include "profiler/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a signal for the group may come later than one for kprof: timeout(1) sends both. */
#define PATIENCE_MS 250
/* How long a report may take of a signal that is there: a busy machine must find time for it. */
#define REPORT_MS 10000
/* Of one that it has taken: from there to its report. */
#define TAKEN_MS 50

__attribute__((noreturn)) static void watch(int pipe_end, const sigset_t *signals, pid_t parent)
{
	sigset_t all;

	sigfillset(&all); /* stopping and continuing the group leaves it alone */
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (dup2(pipe_end, 0) < 0)
		_exit(0);
	if (syscall(SYS_close_range, 1U, ~0U, 0U) != 0) {
		for (int fd = 1; fd < 1024; fd++)
			close(fd);
	}
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(signals, &info);
		unsigned char byte = (unsigned char)number;
		if (number > 0 && write(0, &byte, 1) != 1)
			_exit(0);
	}
}

void kp_witness_start(struct kp_witness *witness, const sigset_t *signals)
{
	pid_t parent = getpid();
	int ends[2];

	*witness = (struct kp_witness){-1, -1, 0};
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	witness->pid = fork();
	if (witness->pid == 0)
		watch(ends[1], signals, parent);
	close(ends[1]);
	witness->reports = ends[0];
}

/* Takes reports until there is one of `signal`, or none comes for a while. */
static bool take_report(struct kp_witness *witness, int signal, int patience_ms)
{
	struct pollfd wait = {.fd = witness->reports, .events = POLLIN};
	uint64_t bit = 1ULL << signal;
	unsigned char byte;

	while (!(witness->seen & bit) && poll(&wait, 1, patience_ms) > 0) {
		if (read(witness->reports, &byte, 1) != 1)
			return false;
		witness->seen |= 1ULL << (byte & 63);
	}
	bool seen = witness->seen & bit;
	witness->seen &= ~bit;
	return seen;
}

/* Whether the witness has got it, and has not run since. */
static bool is_pending(pid_t pid, int signal)
{
	char path[32], status[4096];
	unsigned long long pending = 0;
	const char *row;
	ssize_t length;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, status, sizeof status - 1);
	close(fd);
	status[length > 0 ? length : 0] = '\0';
	row = strstr(status, "\nShdPnd:");
	if (row)
		pending = strtoull(row + sizeof "\nShdPnd:" - 1, NULL, 16);
	return pending >> (signal - 1) & 1;
}

/*
 * A signal that is pending is reported, however late; one that is not may be about to come, or may
 * have been taken and not reported yet.
 */
static bool await_report(struct kp_witness *witness, int signal)
{
	bool pending = is_pending(witness->pid, signal);

	if (!pending && take_report(witness, signal, PATIENCE_MS))
		return true;
	pending = pending || is_pending(witness->pid, signal);
	return take_report(witness, signal, pending ? REPORT_MS : TAKEN_MS);
}

bool kp_witness_saw(struct kp_witness *witness, int signal)
{
	const struct timespec now = {0, 0};
	sigset_t same;

	if (witness->pid < 0 || !await_report(witness, signal))
		return false;
	/* timeout(1) sends to its child, then to the group: that is one signal, and taken now. */
	sigemptyset(&same);
	sigaddset(&same, signal);
	while (sigtimedwait(&same, NULL, &now) > 0 || take_report(witness, signal, 0))
		;
	return true;
}

void kp_witness_stop(struct kp_witness *witness)
{
	if (witness->pid > 0) {
		kill(witness->pid, SIGKILL);
		waitpid(witness->pid, NULL, 0);
	}
	if (witness->reports >= 0)
		close(witness->reports);
	*witness = (struct kp_witness){-1, -1, 0};
}
