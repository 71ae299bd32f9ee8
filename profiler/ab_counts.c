/* Counts of processes, whether they ended or were killed; see ab_counts.h. */
#include "profiler/ab_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/say.h"
#include "trace/ab_counts.h"

#define PATH_BYTES (PATH_MAX + sizeof KP_AB_COUNTS_SUFFIX)

static void path_of(const char *plan, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%.*s" KP_AB_COUNTS_SUFFIX, PATH_MAX - 1, plan);
}

bool kp_ab_shared_make(const char *path, uint64_t magic, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 &&
		    pwrite(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic;
	if (!good)
		kp_fail("cannot write %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

bool kp_ab_counts_make(const char *plan)
{
	char path[PATH_BYTES];

	path_of(plan, path);
	return kp_ab_shared_make(path, KP_AB_COUNTS_MAGIC, sizeof(struct kp_ab_counts_file));
}

static void write_rule(FILE *file, const struct kp_ab_counted *process, uint32_t rule)
{
	fprintf(file, "{\"counts\":{\"pid\":%" PRIu32 ",\"rule\":%" PRIu32,
		atomic_load(&process->pid), rule);
	for (int i = 0; i < KP_AB_COUNT_COUNT; i++)
		fprintf(file, ",\"%s\":%" PRIu64, kp_ab_count_names[i],
			atomic_load(&process->counts[rule][i]));
	for (int i = 0; i < KP_AB_REASON_COUNT; i++)
		fprintf(file, ",\"%s\":%" PRIu64, kp_ab_reason_names[i],
			atomic_load(&process->reasons[rule][i]));
	fputs("}}\n", file);
}

/* The file as it is now: whoever still counts is cut off. */
static struct kp_ab_counts_file *read_counts(const char *plan)
{
	struct kp_ab_counts_file *counts = malloc(sizeof *counts);
	char path[PATH_BYTES];
	bool good;
	FILE *file;

	path_of(plan, path);
	file = counts ? fopen(path, "rbe") : NULL;
	good = file && fread(counts, sizeof *counts, 1, file) == 1;
	if (file)
		fclose(file);
	if (good)
		return counts;
	free(counts);
	return NULL;
}

bool kp_ab_counts_collect(const char *plan, uint32_t rules, const char *results,
			  uint64_t *processes)
{
	struct kp_ab_counts_file *counts = read_counts(plan);
	FILE *file = counts ? fopen(results, "abe") : NULL;
	bool good = file != NULL;

	*processes = 0;
	for (uint32_t i = 0; good && i < KP_AB_PROCESSES_MOST; i++) {
		bool taken = counts->processes[i].pid != 0;

		*processes += taken;
		for (uint32_t rule = 0; taken && rule < rules; rule++)
			write_rule(file, &counts->processes[i], rule);
	}
	if (file)
		good = fclose(file) == 0;
	free(counts);
	if (!good)
		kp_fail("what the programs counted cannot be read: %s", strerror(errno));
	return good;
}

void kp_ab_counts_remove(const char *plan)
{
	char path[PATH_BYTES];

	path_of(plan, path);
	unlink(path);
}
