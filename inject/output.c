/* The descriptor of the trace file; see output.h. */
#include "inject/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const int write_signals[] = {SIGXFSZ, SIGPIPE};

int kp_output_move_high(int fd)
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
	output->fd = kp_output_move_high(fd);
	return true;
}

static bool is_ours(const struct kp_output *output)
{
	struct stat about;

	return output->fd >= 0 && fstat(output->fd, &about) == 0 &&
	       about.st_dev == output->device && about.st_ino == output->inode;
}

void kp_output_forget(struct kp_output *output)
{
	if (is_ours(output))
		close(output->fd);
	output->fd = -1;
}

static void fill(sigset_t *signals)
{
	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(write_signals) / sizeof(write_signals[0]); i++)
		sigaddset(signals, write_signals[i]);
}

void kp_output_shield(struct kp_shield *shield)
{
	sigset_t signals;

	fill(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &shield->mask);
	sigpending(&shield->pending);
}

void kp_output_unshield(const struct kp_shield *shield)
{
	const struct timespec now = {0, 0};
	sigset_t raised;

	sigpending(&raised);
	for (size_t i = 0; i < sizeof(write_signals) / sizeof(write_signals[0]); i++) {
		sigset_t one;

		if (!sigismember(&raised, write_signals[i]) ||
		    sigismember(&shield->pending, write_signals[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, write_signals[i]);
		sigtimedwait(&one, NULL, &now); /* it was raised by a write of ours */
	}
	pthread_sigmask(SIG_SETMASK, &shield->mask, NULL);
}

bool kp_output_check(struct kp_output *output)
{
	if (is_ours(output))
		return true;
	/* Not ours any more: it is the program's, and stays as it is. */
	return kp_output_open(output, output->path);
}
