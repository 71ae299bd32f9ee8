/*
 * What an export costs: time and memory for a long trace, format by format.
 *
 *	bench_export TRACE [FOLDER]
 *
 * TRACE is one of generate_trace, say; the files go to FOLDER (/tmp). Each format is written by a
 * process of its own, so that its memory is its own too. Beside each stands what writing as many
 * bytes with write(2) takes: the ratio, not the seconds, can be compared between machines. Numbers
 * to read, not a test.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/commands.h"
#include "profiler/export.h"
#include "trace/reader.h"

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How many launches a trace promises. */
static uint64_t count_launches(const char *path)
{
	struct kp_reader *reader;
	uint64_t launches = 0;
	size_t bad;
	enum kp_status status = kp_reader_open(&path, 1, &reader, &bad);

	if (status != KP_OK) {
		fprintf(stderr, "bench_export: %s: %s\n", path, kp_status_message(status));
		exit(1);
	}
	for (size_t i = 0; i < kp_reader_process_count(reader); i++)
		launches += kp_reader_process(reader, i)->promised_launches;
	kp_reader_close(reader);
	return launches;
}

static off_t size_of(const char *path)
{
	struct stat facts;

	return stat(path, &facts) == 0 ? facts.st_size : 0;
}

/* How long it takes to write as many bytes of nothing. */
static double copy_seconds(const char *path, off_t bytes)
{
	static char block[1 << 20];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	double begin = seconds();

	for (off_t at = 0; fd >= 0 && at < bytes; at += (off_t)sizeof block) {
		size_t some =
			bytes - at < (off_t)sizeof block ? (size_t)(bytes - at) : sizeof block;

		if (write(fd, block, some) < 0)
			exit(1);
	}
	begin = seconds() - begin;
	if (fd >= 0)
		close(fd);
	unlink(path);
	return begin;
}

static void measure(int format, char *trace, const char *folder, uint64_t launches)
{
	char out[512];
	char *operands[] = {trace, NULL};
	struct kp_settings settings = {.format = format,
				       .output = out,
				       .limit = UINT64_MAX,
				       .operands = operands,
				       .operand_count = 1};
	struct rusage usage;
	int status;

	snprintf(out, sizeof out, "%s/bench_export.%s", folder, kp_export_names[format]);
	double begin = seconds();
	pid_t child = fork();
	if (child == 0)
		_exit(kp_cmd_export(&settings));
	if (wait4(child, &status, 0, &usage) != child || status != 0)
		exit(1);
	begin = seconds() - begin;
	off_t bytes = size_of(out);
	double copied = copy_seconds(out, bytes);
	printf("%-12s %7.2f s %7.2f M launches/s %7.0f MB/s %8.1f bytes a launch %6.1f x write "
	       "%5ld MB\n",
	       kp_export_names[format], begin, (double)launches / begin / 1e6,
	       (double)bytes / begin / 1e6, (double)bytes / (double)launches,
	       copied > 0 ? begin / copied : 0, usage.ru_maxrss / 1024);
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fputs("usage: bench_export TRACE [FOLDER]\n", stderr);
		return 2;
	}
	uint64_t launches = count_launches(argv[1]);
	printf("%" PRIu64 " launches, %.2f bytes of trace each\n", launches,
	       (double)size_of(argv[1]) / (double)launches);
	for (int format = 0; format < KP_EXPORT_FORMAT_COUNT; format++)
		measure(format, argv[1], argc > 2 ? argv[2] : "/tmp", launches);
	return 0;
}
