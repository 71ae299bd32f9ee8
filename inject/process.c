/* Facts of this process for the trace: who it is, what runs in it, where it stands. */
#include "inject/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/release.h"
#include "inject/redact.h"
#include "trace/control.h"

#define COMMAND_MAX_BYTES 4096

/* Of the launchers of distributed jobs; the first that is set counts. */
static const char *const rank_variables[] = {
	"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL,
};
static const char *const local_rank_variables[] = {
	"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", NULL,
};

/* Reads a small file of /proc; returns its length, 0 on failure. A NUL follows. */
static size_t read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	while (length < size - 1 && (n = read(fd, out + length, size - 1 - length)) > 0)
		length += (size_t)n;
	close(fd);
	out[length] = '\0';
	return length;
}

static struct kp_text keep(const char *bytes)
{
	char *copy = strdup(bytes);

	return copy ? (struct kp_text){copy, strlen(copy)} : (struct kp_text){"", 0};
}

/* The arguments, joined by one space each, secrets hidden. */
static struct kp_text command_line(bool redact)
{
	char raw[COMMAND_MAX_BYTES], argument[COMMAND_MAX_BYTES], joined[COMMAND_MAX_BYTES];
	size_t length = read_small("/proc/self/cmdline", raw, sizeof(raw)), used = 0;
	bool follows = false;

	joined[0] = '\0';
	for (size_t at = 0; at < length; at += strlen(raw + at) + 1) {
		int n;

		strcpy(argument, raw + at);
		if (redact)
			follows = kp_redact_argument(argument, sizeof(argument), follows);
		n = snprintf(joined + used, sizeof(joined) - used, "%s%s", used ? " " : "",
			     argument);
		if (n < 0 || (size_t)n >= sizeof(joined) - used)
			break;
		used += (size_t)n;
	}
	return keep(joined);
}

/* When this process started, since boot. */
static bool process_start(uint64_t *out)
{
	char text[1024];
	uint64_t ticks;
	long per_second = sysconf(_SC_CLK_TCK);

	if (!read_small("/proc/self/stat", text, sizeof(text)) || per_second <= 0 ||
	    !kp_control_start_ticks(text, &ticks))
		return false;
	*out = ticks * (1000000000ULL / (unsigned long)per_second);
	return true;
}

/* The first of the variables that is set; NULL: none is. */
static const char *first_set(const char *const *variables)
{
	const char *value = NULL;

	for (; *variables && (!value || !value[0]); variables++)
		value = getenv(*variables);
	return value && value[0] ? value : NULL;
}

static void describe_rank(struct kp_process_info *info)
{
	const char *rank = first_set(rank_variables);
	const char *local_rank = first_set(local_rank_variables);

	if (rank)
		KP_SET(info, PROCESS, rank, keep(rank));
	if (local_rank)
		KP_SET(info, PROCESS, local_rank, keep(local_rank));
}

static void describe_place(struct kp_process_info *info)
{
	char host[256], executable[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);

	if (gethostname(host, sizeof(host)) == 0) {
		host[sizeof(host) - 1] = '\0';
		KP_SET(info, PROCESS, host, keep(host));
	}
	if (length > 0) {
		executable[length] = '\0';
		KP_SET(info, PROCESS, executable, keep(executable));
	}
}

void kp_process_describe(const struct kp_settings *settings, struct kp_process_info *info)
{
	uint64_t start_ns;
	char release[64];

	KP_SET(info, PROCESS, pid, (uint64_t)getpid());
	KP_SET(info, PROCESS, parent_pid, (uint64_t)getppid());
	KP_SET(info, PROCESS, command, command_line(settings->redact));
	KP_SET(info, PROCESS, start_ns, kp_clock_now());
	KP_SET(info, PROCESS, kprof_version, keep(KPROF_VERSION));
	if (process_start(&start_ns))
		KP_SET(info, PROCESS, process_start_ns, start_ns);
	if (kp_driver_release(release))
		KP_SET(info, PROCESS, driver_name, keep(release));
	describe_place(info);
	describe_rank(info);
}
