/* kprof ctl: speaks to the collector in a running program; see control_client.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/commands.h"
#include "profiler/control_client.h"
#include "profiler/humanise.h"
#include "profiler/output.h"
#include "profiler/say.h"

/* The collector looks every 100 ms, but a flush of CUPTI may take its time. */
#define PATIENCE_S 10

static const char *const verbs[] = {
	[KP_CONTROL_STATUS] = "status",
	[KP_CONTROL_START] = "start",
	[KP_CONTROL_STOP] = "stop",
	[KP_CONTROL_SNAPSHOT] = "snapshot",
};

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
	default:
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

/* ab on|off [RULE] */
static int switch_rules(long pid, const struct kp_settings *settings)
{
	static struct kp_control_answer answer;
	const char *word = settings->operand_count > 2 ? settings->operands[2] : "";
	const char *rule = settings->operand_count > 3 ? settings->operands[3] : "";
	char complaint[KP_CONTROL_COMPLAINT_BYTES];
	bool on = strcmp(word, "on") == 0;

	if (!on && strcmp(word, "off") != 0)
		return kp_fail("ab: what can be done is ab on and ab off, each with the name of a "
			       "rule or without");
	if (settings->output)
		return kp_fail("-o goes with snapshot only");
	if (!kp_control_switch(pid, on, rule, PATIENCE_S, &answer, complaint))
		return kp_fail("%s", complaint);
	if (rule[0])
		kp_say("process %ld: the rule %s is %s", pid, rule, word);
	else
		kp_say(on ? "process %ld: all rules are on, but those that gave wrong results"
			  : "process %ld runs its own kernels: all rules are off",
		       pid);
	return 0;
}

int kp_cmd_ctl(const struct kp_settings *settings)
{
	static struct kp_control_answer answer;
	const char *word = settings->operands[1];
	char complaint[KP_CONTROL_COMPLAINT_BYTES];
	long pid;
	size_t verb = 0, count = sizeof verbs / sizeof *verbs;

	if (!kp_control_pid(settings->operands[0], &pid))
		return kp_fail("%s is not the number of a process", settings->operands[0]);
	while (verb < count && strcmp(verbs[verb], word) != 0)
		verb++;
	if (strcmp(word, "ab") == 0)
		return switch_rules(pid, settings);
	if (settings->operand_count > 2) {
		return kp_fail("%s: nothing goes with %s", settings->operands[2], word);
	} else if (verb == count) {
		const char *nearest = kp_options_nearest(word, verbs, count);
		return kp_fail("%s: it is one of start, stop, snapshot, status, ab%s%s", word,
			       nearest ? "; did you mean " : "", nearest ? nearest : "");
	}
	if (settings->output && verb != KP_CONTROL_SNAPSHOT)
		return kp_fail("-o goes with snapshot only");
	if (!kp_control_ask(pid, (enum kp_control_verb)verb, -1, PATIENCE_S, &answer, complaint))
		return kp_fail("%s", complaint);
	return tell(pid, (enum kp_control_verb)verb, &answer, settings);
}
