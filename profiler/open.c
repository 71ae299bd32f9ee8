/* Opens traces for a command; see open.h. */
#include "profiler/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/say.h"

/* ---- processes that are there twice ---- */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* 0: one process, whatever identities the trace has given it. */
static int compare_processes(const void *left, const void *right)
{
	const struct kp_process_info *a = &(*(const struct kp_process *const *)left)->info;
	const struct kp_process_info *b = &(*(const struct kp_process *const *)right)->info;
	int differ = order(a->pid, b->pid);

	if (!differ)
		differ = order(a->process_start_ns, b->process_start_ns);
	if (!differ)
		differ = order(a->start_ns, b->start_ns);
	if (!differ)
		differ = order(a->host.length, b->host.length);
	return differ || !a->host.length ? differ
					 : memcmp(a->host.bytes, b->host.bytes, a->host.length);
}

/* A process that is there twice; NULL: there is none, or no memory to look for it. */
static const struct kp_process *find_twice(const struct kp_reader *reader)
{
	size_t count = kp_reader_process_count(reader), known = 0;
	const struct kp_process **list = malloc((count + 1) * sizeof *list);
	const struct kp_process *twice = NULL;

	for (size_t i = 0; list && i < count; i++) {
		const struct kp_process *process = kp_reader_process(reader, i);

		if (process->promised_launches && KP_HAS(&process->info, PROCESS, pid) &&
		    KP_HAS(&process->info, PROCESS, process_start_ns))
			list[known++] = process;
	}
	if (known)
		qsort(list, known, sizeof *list, compare_processes);
	for (size_t i = 1; i < known && !twice; i++)
		if (compare_processes(&list[i - 1], &list[i]) == 0)
			twice = list[i];
	free(list);
	return twice;
}

/* ---- opening ---- */

static struct kp_reader *open_files(const char *const *paths, size_t count)
{
	struct kp_reader *reader = NULL;
	struct stat facts;
	size_t bad = 0;

	errno = 0;
	enum kp_status status = kp_reader_open(paths, count, &reader, &bad);
	int error = errno;
	if (status == KP_OK)
		return reader;
	const char *why = kp_status_message(status);
	if (status == KP_IO && error)
		why = strerror(error);
	if (stat(paths[bad], &facts) == 0 && S_ISDIR(facts.st_mode))
		why = strerror(EISDIR);
	else if (strcmp(paths[bad], "-") == 0)
		why = "a trace is read from a file, not from the standard input";
	kp_fail("cannot read %s: %s", paths[bad], why);
	return NULL;
}

struct kp_reader *kp_open_traces(const char *const *paths, size_t count)
{
	struct kp_reader *reader = open_files(paths, count);
	const struct kp_process *twice = reader ? find_twice(reader) : NULL;

	if (twice)
		kp_say("process %" PRIu64 " is in the traces twice, and counts twice: one of them "
		       "was merged of the other; leave it out",
		       twice->info.pid);
	return reader;
}

struct kp_reader *kp_open_different(const char *const *paths, size_t count)
{
	struct kp_reader *reader = open_files(paths, count);
	const struct kp_process *twice = reader ? find_twice(reader) : NULL;

	if (!twice)
		return reader;
	kp_fail("process %" PRIu64 " is in the traces twice: one of them holds the other already; "
		"leave it out",
		twice->info.pid);
	kp_reader_close(reader);
	return NULL;
}
