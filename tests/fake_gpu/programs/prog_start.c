/*
 * Starts a program in each way that there is: prog_start [KERNELS] HOW PROGRAM ARG…
 *
 * HOW is one of `ways`, alone (this process becomes the program) or behind «fork+» or «vfork+»; or
 * posix_spawn, posix_spawnp, system, popen. KERNELS are launched first. It ends with the status of
 * the program. Where an exec fails it says why, launches KERNELS once more, and ends with 7.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake_gpu/programs/work.h"

static struct kp_prog_options options;

static void do_execl(char **argv)
{
	execl(argv[0], argv[0], argv[1], argv[1] ? argv[2] : NULL, (char *)NULL);
}

static void do_execlp(char **argv)
{
	execlp(argv[0], argv[0], argv[1], argv[1] ? argv[2] : NULL, (char *)NULL);
}

static void do_execle(char **argv)
{
	execle(argv[0], argv[0], argv[1], argv[1] ? argv[2] : NULL, (char *)NULL, environ);
}

static void do_execv(char **argv)
{
	execv(argv[0], argv);
}

static void do_execve(char **argv)
{
	execve(argv[0], argv, environ);
}

static void do_execvp(char **argv)
{
	execvp(argv[0], argv);
}

static void do_execvpe(char **argv)
{
	execvpe(argv[0], argv, environ);
}

static void do_fexecve(char **argv)
{
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		fexecve(fd, argv, environ);
}

static void do_execveat(char **argv)
{
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		execveat(fd, "", argv, environ, AT_EMPTY_PATH);
}

/* From a folder on. */
static void do_execveat_in(char **argv)
{
	char folder[4096];
	const char *slash = strrchr(argv[0], '/');
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - argv[0]), argv[0]);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		execveat(fd, slash + 1, argv, environ, 0);
}

/* From memory that has no path. */
static void do_memfd(char **argv)
{
	int from = open(argv[0], O_RDONLY | O_CLOEXEC), to = memfd_create("program", MFD_CLOEXEC);
	struct stat about;

	if (from < 0 || to < 0 || fstat(from, &about) != 0 ||
	    sendfile(to, from, NULL, (size_t)about.st_size) != about.st_size)
		exit(3);
	fexecve(to, argv, environ);
}

/* Behind a change of the root folder, to that of the variable. */
static void do_chroot(char **argv)
{
	const char *root = getenv("PROG_ROOT");

	if (!root || chroot(root) != 0 || chdir("/") != 0)
		exit(3);
	execv(argv[0], argv);
}

/* As after env -i: the program gets nothing, and so nothing of kprof's. */
static void do_clean(char **argv)
{
	char path[4096];
	char *const environment[] = {path, NULL};

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
	execve(argv[0], argv, environment);
}

/* An environment that the system does not take. */
static void do_large(char **argv)
{
	static char large[4 << 20];
	char *const environment[] = {large, NULL};

	memset(large, 'x', sizeof(large) - 1);
	execve(argv[0], argv, environment);
}

/* Calls whose texts are where no memory is, or go on to there: the system refuses each of them. */
static void do_nowhere(char **argv)
{
	char *volatile const nowhere = (char *)8; /* the compiler is not to know */
	char *const texts[] = {environ[0], nowhere, NULL};
	long page = sysconf(_SC_PAGESIZE);
	char **list = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = (char *)list + page;
	pid_t child;

	if (list == MAP_FAILED || munmap(end, (size_t)page) != 0)
		exit(3);
	list = (char **)end - 1;
	list[0] = environ[0];
	printf("%d", execve(nowhere, argv, environ) == -1 && errno == EFAULT);
	printf("%d", execveat(AT_FDCWD, nowhere, argv, environ, 0) == -1 && errno == EFAULT);
	printf("%d", execveat(0, nowhere, argv, environ, AT_EMPTY_PATH) == -1 && errno == EFAULT);
	printf("%d", execve(argv[0], argv, (char **)(void *)nowhere) == -1 && errno == EFAULT);
	printf("%d", execve(argv[0], argv, texts) == -1 && errno == EFAULT);
	printf("%d", execve(argv[0], argv, list) == -1 && errno == EFAULT);
	printf("%d", posix_spawn(&child, nowhere, NULL, NULL, argv, environ) == EFAULT);
	printf("%d", posix_spawn(&child, argv[0], NULL, NULL, argv, list) == EFAULT);
	memset(end - 8, 'x', 8);
	printf("%d\n", execve(end - 8, argv, environ) == -1 && errno == EFAULT);
}

static const struct {
	const char *name;
	void (*become)(char **argv);
} ways[] = {
	{"execl", do_execl},     {"execlp", do_execlp},     {"execle", do_execle},
	{"execv", do_execv},     {"execve", do_execve},     {"execvp", do_execvp},
	{"execvpe", do_execvpe}, {"fexecve", do_fexecve},   {"clean", do_clean},
	{"large", do_large},     {"execveat", do_execveat}, {"execveat_in", do_execveat_in},
	{"memfd", do_memfd},     {"chroot", do_chroot},     {"nowhere", do_nowhere},
};

static void become(const char *how, char **argv)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].name, how) == 0) {
			ways[i].become(argv);
			return;
		}
	fprintf(stderr, "prog_start: no way is called %s\n", how);
	exit(2);
}

static int status_of(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(3);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int spawn(const char *how, char **argv)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t child = -1;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, 2, 5);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	error = strcmp(how, "posix_spawnp") == 0
			? posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ)
			: posix_spawn(&child, argv[0], &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (error) {
		printf("%s: %s\n", how, strerror(error));
		return 7;
	}
	return status_of(child);
}

static int run_shell(const char *how, const char *command)
{
	char line[256];
	int status;
	FILE *pipe;

	if (strcmp(how, "system") == 0)
		return WEXITSTATUS(system(command));
	pipe = popen(command, "r");
	if (!pipe)
		return 3;
	while (fgets(line, sizeof(line), pipe))
		fputs(line, stdout);
	status = pclose(pipe);
	return WEXITSTATUS(status);
}

static int fail(const char *how, struct kp_prog_counts *counts)
{
	printf("%s: %s\n", how, strerror(errno));
	if (options.kernels)
		kp_prog_work(&options, counts);
	return 7;
}

static int start(const char *how, char **argv, struct kp_prog_counts *counts)
{
	if (strncmp(how, "posix_spawn", 11) == 0)
		return spawn(how, argv);
	if (strcmp(how, "system") == 0 || strcmp(how, "popen") == 0)
		return run_shell(how, argv[0]);
	if (strncmp(how, "vfork+", 6) == 0) {
		/* Programs do this, so it is tested. NOLINTNEXTLINE(clang-analyzer-security*) */
		pid_t child = vfork();

		if (child == 0) {
			become(how + 6, argv); /* NOLINT(clang-analyzer-unix.Vfork) */
			_exit(errno == ENOENT ? 127 : 126);
		}
		return status_of(child);
	}
	if (strncmp(how, "fork+", 5) == 0) {
		pid_t child = fork();

		if (child == 0) {
			become(how + 5, argv);
			_exit(errno == ENOENT ? 127 : 126);
		}
		return status_of(child);
	}
	become(how, argv);
	return fail(how, counts);
}

int main(int argc, char **argv)
{
	char name[] = "prog_start", kernels[] = "--kernels", none[] = "0";
	char *words[] = {name, kernels, none, NULL};
	struct kp_prog_counts counts = {0};

	if (argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9') {
		words[2] = *++argv;
		argc--;
	}
	if (argc < 3)
		return 2;
	kp_prog_parse(&options, 3, words);
	optind = 1;
	if (options.kernels) {
		kp_prog_begin(&options);
		kp_prog_work(&options, &counts);
	}
	return start(argv[1], argv + 2, &counts);
}
