/*
 * kprof ctl: speaks to the collector in a running program; see trace/control.h.
 *
 * All that can be wrong with the process is told apart: it does not exist, belongs to another user,
 * was not started under kprof, or has not used the GPU so far.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "profiler/commands.h"
#include "profiler/humanise.h"
#include "profiler/output.h"
#include "profiler/say.h"
#include "trace/control.h"

/* The collector looks every 100 ms, but a flush of CUPTI may take its time. */
#define PATIENCE_S 10

static const char *const verbs[] = {
	[KP_CONTROL_STATUS] = "status",
	[KP_CONTROL_START] = "start",
	[KP_CONTROL_STOP] = "stop",
	[KP_CONTROL_SNAPSHOT] = "snapshot",
};

/* The text of a file of /proc/PID; false where it cannot be read. */
static bool read_proc(long pid, const char *name, char *out, size_t size, size_t *length)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	*length = fread(out, 1, size - 1, file);
	out[*length] = '\0';
	fclose(file);
	return *length > 0;
}

/* What the process itself takes its number to be, which in a container is another one. */
static uint64_t inner_pid(long pid)
{
	char text[4096];
	size_t length;

	if (!read_proc(pid, "status", text, sizeof text, &length))
		return (uint64_t)pid;
	const char *line = strstr(text, "\nNSpid:");
	if (!line)
		return (uint64_t)pid;
	size_t end = strcspn(line + 1, "\n") + 1;
	while (end > 0 && line[end - 1] >= '0' && line[end - 1] <= '9')
		end--;
	return strtoull(line + end, NULL, 10);
}

/* Whether the process has a variable that only kprof sets. */
static bool was_started_under_kprof(long pid)
{
	static const char name[] = "KPROF_TRACE=";
	char *text = malloc(1 << 20);
	size_t length, at = 0;
	bool found = false;

	if (text && read_proc(pid, "environ", text, 1 << 20, &length))
		for (; at < length && !found; at += strlen(text + at) + 1)
			found = strncmp(text + at, name, sizeof name - 1) == 0;
	free(text);
	return found;
}

static int explain_silence(long pid)
{
	char path[64];
	struct stat about;

	snprintf(path, sizeof path, "/proc/%ld", pid);
	if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
		return kp_fail("there is no process %ld", pid);
	if (stat(path, &about) == 0 && geteuid() != 0 && about.st_uid != geteuid())
		return kp_fail("process %ld belongs to another user; only that user and root can "
			       "control it",
			       pid);
	if (was_started_under_kprof(pid))
		return kp_fail("process %ld was started under kprof, but kprof records nothing in "
			       "it: it has not used the GPU so far, or is ending",
			       pid);
	return kp_fail("process %ld was not started under kprof, and kprof cannot attach to a "
		       "running process; start it anew: kprof record -o FILE -- CMD",
		       pid);
}

/* A socket to the collector of the process; -1: nobody listens there. */
static int connect_to(long pid)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address;
	struct ucred peer;
	socklen_t length, size = sizeof peer;
	uint64_t start_ticks;
	char text[1024];
	size_t read;

	if (!read_proc(pid, "stat", text, sizeof text, &read) ||
	    !kp_control_start_ticks(text, &start_ticks))
		return -1;
	kp_control_address(inner_pid(pid), start_ticks, &address, &length);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	/* Any process could have taken the name: only the right one is believed. */
	if (connect(fd, (const struct sockaddr *)&address, length) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid != pid) {
		close(fd);
		return -1;
	}
	return fd;
}

/* One question and its answer; an exit status after saying what is wrong, or 0. */
static int ask(long pid, enum kp_control_verb verb, struct kp_control_answer *answer)
{
	const struct kp_control_request request = {.magic = KP_CONTROL_MAGIC, .verb = verb};
	int fd = connect_to(pid);

	if (fd < 0)
		return explain_silence(pid);
	send(fd, &request, sizeof request, MSG_NOSIGNAL); /* a refusal may come before it */
	ssize_t got = recv(fd, answer, sizeof *answer, 0);
	close(fd);
	if (got == 0 || (got < 0 && errno == ECONNRESET))
		return explain_silence(pid);
	if (got < 0)
		return kp_fail("process %ld does not answer: %s", pid,
			       errno == EAGAIN ? "its collector is busy or stopped"
					       : strerror(errno));
	if (got != (ssize_t)sizeof *answer || answer->magic != KP_CONTROL_MAGIC ||
	    answer->result == KP_CONTROL_UNKNOWN)
		return kp_fail("process %ld runs under another version of kprof", pid);
	answer->message[sizeof answer->message - 1] = answer->trace[PATH_MAX - 1] = '\0';
	if (answer->result == KP_CONTROL_FORBIDDEN)
		return kp_fail("process %ld belongs to another user; only that user and root can "
			       "control it",
			       pid);
	if (answer->result == KP_CONTROL_FAILED)
		return kp_fail("process %ld: %s", pid,
			       answer->message[0] ? answer->message
						  : "CUPTI cannot record now: another profiler is "
						    "at work in it");
	return 0;
}

/* ---- snapshot ---- */

/* The trace, which a process in a container sees under another root. */
static int open_trace(long pid, const char *path)
{
	char inside[PATH_MAX + 64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	snprintf(inside, sizeof inside, "/proc/%ld/root%s", pid, path);
	return open(inside, O_RDONLY | O_CLOEXEC);
}

/* A file that may be replaced: new, empty or a trace, and not the one that is being copied. */
static int open_copy(const char *path, int from)
{
	struct stat source, target;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || fstat(fd, &target) != 0 || fstat(from, &source) != 0)
		kp_fail("cannot write %s: %s", path, strerror(errno));
	else if (target.st_dev == source.st_dev && target.st_ino == source.st_ino)
		kp_fail("%s is the trace itself; name another file with -o", path);
	else if (!S_ISREG(target.st_mode) || (target.st_size > 0 && !kp_output_is_trace(path)))
		kp_fail("%s exists and is not a kprof trace; it is left alone", path);
	else if (ftruncate(fd, 0) != 0)
		kp_fail("cannot write %s: %s", path, strerror(errno));
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Copies the first `bytes` of a file; false with errno set. */
static bool copy(int from, int to, uint64_t bytes)
{
	char buffer[1 << 16];

	for (uint64_t at = 0; at < bytes;) {
		size_t part = bytes - at < sizeof buffer ? (size_t)(bytes - at) : sizeof buffer;
		ssize_t got = pread(from, buffer, part, (off_t)at);
		if (got == 0)
			break; /* it was cut short meanwhile: what there is counts */
		if (got < 0)
			return false;
		for (ssize_t put = 0; put < got;) {
			ssize_t written = write(to, buffer + put, (size_t)(got - put));
			if (written < 0 && errno != EINTR)
				return false;
			put += written > 0 ? written : 0;
		}
		at += (uint64_t)got;
	}
	return true;
}

static int save(long pid, const struct kp_control_answer *answer, const char *path)
{
	int from = open_trace(pid, answer->trace);

	if (from < 0)
		return kp_fail("cannot read %s: %s", answer->trace, strerror(errno));
	int to = open_copy(path, from);
	bool done = to >= 0 && copy(from, to, answer->trace_bytes);
	int error = errno;
	if (to >= 0 && close(to) != 0) {
		done = false;
		error = errno;
	}
	if (to >= 0 && !done)
		kp_fail("cannot write %s: %s", path, strerror(error));
	close(from);
	return done ? 0 : KP_EXIT_FAILURE;
}

/* ---- the command ---- */

static void print_status(const struct kp_control_answer *answer)
{
	const char *how = !answer->recording ? "off"
			  : answer->duty     ? "on, in a window of --duty"
					     : "on";

	printf("recording      %s\n", answer->duty && !answer->recording
					      ? "off, between windows of --duty or stopped"
					      : how);
	printf("windows        %" PRIu64 "\n", answer->windows);
	if (answer->issued_known)
		printf("issued         %s\n", kp_human_count(answer->kernels_issued).text);
	else
		printf("issued         unknown\n");
	printf("recorded       %s\n", kp_human_count(answer->kernels_recorded).text);
	printf("filtered       %s\n", kp_human_count(answer->kernels_filtered).text);
	printf("out of window  %s\n", kp_human_count(answer->kernels_out_of_window).text);
	printf("trace          %s (%s)\n", answer->trace,
	       kp_human_bytes(answer->trace_bytes, 3).text);
	if (answer->message[0])
		printf("note           %s\n", answer->message);
}

/* What was done, unless that is asked for in full. */
static int tell(long pid, enum kp_control_verb verb, const struct kp_control_answer *answer,
		const struct kp_settings *settings)
{
	switch (verb) {
	case KP_CONTROL_STATUS:
		print_status(answer);
		return fflush(stdout) == 0 ? 0 : kp_fail("cannot write the status");
	case KP_CONTROL_START:
		kp_say("process %ld records%s", pid, answer->duty ? " in windows of --duty" : "");
		return 0;
	case KP_CONTROL_STOP:
		kp_say("process %ld records no more; what it did is in %s", pid, answer->trace);
		return 0;
	case KP_CONTROL_SNAPSHOT:
		break;
	}
	if (!settings->output) {
		kp_say("all records so far are in %s", answer->trace);
		return 0;
	}
	int status = save(pid, answer, settings->output);
	if (status == 0)
		kp_say("the trace so far is in %s (%s)", settings->output,
		       kp_human_bytes(answer->trace_bytes, 3).text);
	return status;
}

int kp_cmd_ctl(const struct kp_settings *settings)
{
	static struct kp_control_answer answer;
	const char *word = settings->operands[1];
	char *end;
	long pid = strtol(settings->operands[0], &end, 10);
	size_t verb = 0, count = sizeof verbs / sizeof *verbs;

	if (settings->operands[0][0] < '0' || settings->operands[0][0] > '9' || *end || pid <= 0 ||
	    pid > INT32_MAX)
		return kp_fail("%s is not the number of a process", settings->operands[0]);
	while (verb < count && strcmp(verbs[verb], word) != 0)
		verb++;
	if (verb == count) {
		const char *nearest = kp_options_nearest(word, verbs, count);
		return kp_fail("%s: it is one of start, stop, snapshot, status%s%s", word,
			       nearest ? "; did you mean " : "", nearest ? nearest : "");
	}
	if (settings->output && verb != KP_CONTROL_SNAPSHOT)
		return kp_fail("-o goes with snapshot only");
	int status = ask(pid, (enum kp_control_verb)verb, &answer);
	return status ? status : tell(pid, (enum kp_control_verb)verb, &answer, settings);
}
