/* Where a process counts; see ab_state.h and trace/ab_counts.h. At the start, once. */
#define __CUDA_API_VERSION_INTERNAL
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/ab_state.h"
#include "trace/ab_counts.h"

static struct kp_ab_counted own;

static struct kp_ab_counts_file *map_counts(const char *plan)
{
	struct kp_ab_counts_file *file = MAP_FAILED;
	char path[PATH_MAX];
	struct stat about;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s" KP_AB_COUNTS_SUFFIX, plan) < (int)sizeof(path))
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &about) == 0 && about.st_size == (off_t)sizeof(*file))
		file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return NULL;
	if (file->magic == KP_AB_COUNTS_MAGIC)
		return file;
	munmap(file, sizeof(*file));
	return NULL;
}

void kp_ab_counts_open(const char *plan)
{
	struct kp_ab_counts_file *file = map_counts(plan);
	struct kp_ab_counted *place = &own;
	uint32_t number = file ? atomic_fetch_add(&file->taken, 1) : KP_AB_PROCESSES_MOST;

	if (number < KP_AB_PROCESSES_MOST) {
		place = &file->processes[number];
		atomic_store(&place->pid, (uint32_t)getpid());
	} else if (file) {
		munmap(file, sizeof(*file));
	}
	kp_ab.counts = place->counts;
	kp_ab.reasons = place->reasons;
}

bool kp_ab_counts_are_shared(void)
{
	return kp_ab.counts != own.counts;
}
