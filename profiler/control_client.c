/* Asking a collector; see control_client.h. */
#include "profiler/control_client.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

bool kp_control_pid(const char *word, long *out)
{
	char *end;

	*out = word[0] >= '0' && word[0] <= '9' ? strtol(word, &end, 10) : 0;
	return *out > 0 && *out <= INT32_MAX && !*end;
}

__attribute__((format(printf, 2, 3))) static bool complain(char *complaint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, KP_CONTROL_COMPLAINT_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

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

static bool explain_silence(long pid, char *complaint)
{
	char path[64];
	struct stat about;

	snprintf(path, sizeof path, "/proc/%ld", pid);
	if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
		return complain(complaint, "there is no process %ld", pid);
	if (stat(path, &about) == 0 && geteuid() != 0 && about.st_uid != geteuid())
		return complain(complaint,
				"process %ld belongs to another user; only that user and root can "
				"control it",
				pid);
	if (was_started_under_kprof(pid))
		return complain(complaint,
				"process %ld was started under kprof, but kprof records nothing in "
				"it: it has not used the GPU so far, or is ending",
				pid);
	return complain(complaint,
			"process %ld was not started under kprof, and kprof cannot attach to a "
			"running process; start it anew: kprof record -o FILE -- CMD",
			pid);
}

/* A socket to the collector of the process; -1: nobody listens there. */
static int connect_to(long pid, unsigned patience_s)
{
	const struct timeval patience = {.tv_sec = (time_t)patience_s};
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

/* Sends the request, and the descriptor with it. A refusal may have come before. */
static void put_request(int to, struct kp_control_request *request, int fd)
{
	struct iovec bytes = {request, sizeof *request};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof fd)];
	} control = {.room = {0}};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
		struct cmsghdr *part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(part), &fd, sizeof fd);
	}
	sendmsg(to, &message, MSG_NOSIGNAL);
}

static bool judge(long pid, struct kp_control_answer *answer, ssize_t got, char *complaint)
{
	if (got != (ssize_t)sizeof *answer || answer->magic != KP_CONTROL_MAGIC ||
	    answer->result == KP_CONTROL_UNKNOWN)
		return complain(complaint, "process %ld runs under another version of kprof", pid);
	answer->message[sizeof answer->message - 1] = answer->trace[PATH_MAX - 1] = '\0';
	if (answer->result == KP_CONTROL_FORBIDDEN)
		return complain(complaint,
				"process %ld belongs to another user; only that user and root can "
				"control it",
				pid);
	if (answer->result == KP_CONTROL_FAILED)
		return complain(
			complaint, "process %ld: %s", pid,
			answer->message[0]
				? answer->message
				: "CUPTI cannot record now: another profiler is at work in it");
	return true;
}

static bool ask(long pid, struct kp_control_request *request, int fd, unsigned patience_s,
		struct kp_control_answer *answer, char *complaint)
{
	int socket = connect_to(pid, patience_s);

	if (socket < 0)
		return explain_silence(pid, complaint);
	put_request(socket, request, fd);
	ssize_t got = recv(socket, answer, sizeof *answer, 0);
	int error = errno;
	close(socket);
	if (got == 0 || (got < 0 && error == ECONNRESET))
		return explain_silence(pid, complaint);
	if (got < 0)
		return complain(complaint, "process %ld does not answer: %s", pid,
				error == EAGAIN ? "its collector is busy or stopped"
						: strerror(error));
	return judge(pid, answer, got, complaint);
}

bool kp_control_ask(long pid, enum kp_control_verb verb, int fd, unsigned patience_s,
		    struct kp_control_answer *answer, char complaint[KP_CONTROL_COMPLAINT_BYTES])
{
	struct kp_control_request request = {.magic = KP_CONTROL_MAGIC, .verb = verb};

	return ask(pid, &request, fd, patience_s, answer, complaint);
}

bool kp_control_switch(long pid, bool on, const char *rule, unsigned patience_s,
		       struct kp_control_answer *answer, char complaint[KP_CONTROL_COMPLAINT_BYTES])
{
	struct kp_control_request request = {.magic = KP_CONTROL_MAGIC,
					     .verb = on ? KP_CONTROL_AB_ON : KP_CONTROL_AB_OFF};

	snprintf(request.rule, sizeof request.rule, "%s", rule);
	return ask(pid, &request, -1, patience_s, answer, complaint);
}
