/* The descriptor of the trace file; see output.h. */
#include "inject/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Moves a descriptor out of the range that programs use; keeps it where that is impossible. */
static int move_high(int fd)
{
	struct rlimit limit;
	int floor = 1000, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1024)
		floor = (int)(limit.rlim_cur - limit.rlim_cur / 8);
	high = fcntl(fd, F_DUPFD_CLOEXEC, floor);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

bool kp_output_open(struct kp_output *output, const char *path)
{
	struct stat about;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

	output->path = path;
	output->fd = -1;
	if (fd < 0)
		return false;
	if (fstat(fd, &about) != 0) {
		close(fd);
		return false;
	}
	output->device = about.st_dev;
	output->inode = about.st_ino;
	output->fd = move_high(fd);
	return true;
}

bool kp_output_check(struct kp_output *output)
{
	struct stat about;

	if (output->fd >= 0 && fstat(output->fd, &about) == 0 && about.st_dev == output->device &&
	    about.st_ino == output->inode)
		return true;
	/* Not ours any more: it is the program's, and stays as it is. */
	return kp_output_open(output, output->path);
}
