/* The files of one recording; see recording.h. Not thread-safe. */
#include "profiler/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profiler/output.h"
#include "profiler/say.h"

#define OPEN_FLAGS (O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC)
#define MAX_NUMBER 100000
#define MAX_BASE 200            /* bytes of the command's name in the trace's name */
#define SPARE_BYTES (256 << 10) /* what some hundred processes could not write any more */

/* What is made under a umask that takes the owner's rights away could not be opened again. */
static void give_to_owner(int fd)
{
	struct stat facts;

	if (fd >= 0 && fstat(fd, &facts) == 0 && (facts.st_mode & 0600) != 0600)
		(void)fchmod(fd, (facts.st_mode & 0777) | 0600);
}

/* A new file named after the command: NAME.kprof, NAME.2.kprof, …: the first that is free. */
static int create_named(const char *command, char path[PATH_MAX])
{
	const char *slash = strrchr(command, '/'), *base = slash ? slash + 1 : command;
	int fd = -1;

	for (int number = 1; fd < 0 && number < MAX_NUMBER; number++) {
		if (number == 1)
			snprintf(path, PATH_MAX, "%.*s.kprof", MAX_BASE, base);
		else
			snprintf(path, PATH_MAX, "%.*s.%d.kprof", MAX_BASE, base, number);
		fd = open(path, OPEN_FLAGS | O_EXCL, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		kp_fail("cannot write %s in the current directory: %s; name the trace with -o",
			path, strerror(errno));
	return fd;
}

/* Whether an open file may become the trace: a regular file that is empty or a trace. */
static bool may_replace(int fd, const char *path)
{
	struct stat facts;

	if (fstat(fd, &facts) != 0) {
		kp_fail("cannot write %s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISREG(facts.st_mode)) {
		kp_fail("cannot write a trace to %s: not a regular file", path);
		return false;
	}
	if (facts.st_size > 0 && !kp_output_is_trace(path)) {
		kp_fail("%s exists and is not a kprof trace; it is left alone", path);
		return false;
	}
	return true;
}

static int open_output(const char *path)
{
	int fd = open(path, OPEN_FLAGS | O_NONBLOCK, 0666);

	if (fd < 0) {
		kp_fail("cannot write %s: %s", path, strerror(errno));
		return -1;
	}
	if (may_replace(fd, path) && fcntl(fd, F_SETFL, O_APPEND) == 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * A name for a file of this recording in the folder of its trace. The number of the process alone
 * is another's, too, where containers share the folder.
 */
static void name_beside(const struct kp_recording *recording, const char *what,
			char path[KP_RECORDING_PATH_BYTES])
{
	int folder = (int)(strrchr(recording->trace, '/') - recording->trace);

	snprintf(path, KP_RECORDING_PATH_BYTES, "%.*s/.kprof.%ld.%08x.%s", folder, recording->trace,
		 (long)getpid(), recording->tag, what);
}

static unsigned draw_tag(void)
{
	struct timespec now;
	unsigned tag;

	if (getrandom(&tag, sizeof tag, GRND_NONBLOCK) == (ssize_t)sizeof tag)
		return tag;
	clock_gettime(CLOCK_REALTIME, &now);
	return (unsigned)now.tv_nsec ^ (unsigned)now.tv_sec << 12;
}

/*
 * Moves a trace that is there out of the way and begins an empty one. Where the folder allows no
 * move, the old one is emptied.
 */
static bool set_earlier_aside(struct kp_recording *recording)
{
	struct stat facts;

	if (fstat(recording->fd, &facts) != 0 || facts.st_size == 0)
		return true;
	name_beside(recording, "old", recording->earlier);
	if (rename(recording->trace, recording->earlier) != 0) {
		recording->earlier[0] = '\0';
		return ftruncate(recording->fd, 0) == 0;
	}
	close(recording->fd);
	recording->fd = open(recording->trace, OPEN_FLAGS | O_EXCL, facts.st_mode & 0777);
	give_to_owner(recording->fd);
	return recording->fd >= 0;
}

static void remove_trace(struct kp_recording *recording)
{
	if (recording->fd >= 0)
		close(recording->fd);
	unlink(recording->trace);
	if (recording->earlier[0])
		rename(recording->earlier, recording->trace);
}

/* Reserves a file's blocks. One that may not be so large gives an error, and no signal. */
static int reserve(int fd, size_t bytes)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;

	sigaction(SIGXFSZ, &ignore, &before);
	int error = posix_fallocate(fd, 0, (off_t)bytes);
	sigaction(SIGXFSZ, &before, NULL);
	return error;
}

/*
 * The mapping's blocks are reserved, so that a full disk is noticed here and not by a program that
 * counts into a hole of the file.
 */
static bool create_live(struct kp_recording *recording)
{
	const char *path = recording->live_path;

	name_beside(recording, "live", recording->live_path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int error = fd < 0 ? errno : reserve(fd, sizeof(struct kp_live));
	give_to_owner(fd);
	void *mapping = MAP_FAILED;
	if (error == 0) {
		mapping = mmap(NULL, sizeof(struct kp_live), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			       0);
		error = mapping == MAP_FAILED ? errno : 0;
	}
	if (fd >= 0)
		close(fd);
	if (error) {
		kp_fail("cannot write %s: %s", path, strerror(error));
		if (fd >= 0)
			unlink(path);
		return false;
	}
	recording->live = mapping;
	recording->live->magic = KP_LIVE_MAGIC;
	return true;
}

/* A file without a name; where there is no room for it, there is none. */
static void create_spare(struct kp_recording *recording)
{
	char path[KP_RECORDING_PATH_BYTES];

	name_beside(recording, "spare", path);
	recording->spare_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (recording->spare_fd < 0)
		return;
	unlink(path);
	reserve(recording->spare_fd, SPARE_BYTES);
}

void kp_recording_spend_spare(struct kp_recording *recording)
{
	if (recording->spare_fd >= 0)
		close(recording->spare_fd);
	recording->spare_fd = -1;
}

bool kp_recording_open(struct kp_recording *recording, const char *output, const char *command)
{
	char name[PATH_MAX];

	recording->live = NULL;
	recording->spare_fd = -1;
	recording->earlier[0] = '\0';
	recording->tag = draw_tag();
	recording->fd = output ? open_output(output) : create_named(command, name);
	if (recording->fd < 0)
		return false;
	give_to_owner(recording->fd);
	const char *path = output ? output : name;
	if (!realpath(path, recording->trace)) {
		kp_fail("cannot find %s: %s", path, strerror(errno));
		close(recording->fd);
		if (!output)
			unlink(path);
		return false;
	}
	if (!set_earlier_aside(recording))
		kp_fail("cannot write %s: %s", path, strerror(errno));
	else if (create_live(recording)) {
		create_spare(recording);
		return true;
	}
	remove_trace(recording);
	return false;
}

void kp_recording_close(struct kp_recording *recording, bool keep)
{
	kp_recording_spend_spare(recording);
	munmap(recording->live, sizeof *recording->live);
	unlink(recording->live_path);
	if (!keep) {
		remove_trace(recording);
		return;
	}
	close(recording->fd);
	if (recording->earlier[0])
		unlink(recording->earlier);
}
