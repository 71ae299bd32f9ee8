/*
 * The functions by which programs start programs, in the place of the C library's; see start.h.
 *
 * system and popen, and whatever the C library starts by itself, go to a shell past these.
 */
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "inject/start.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int execve(const char *path, char *const argv[], char *const envp[]);
EXPORTED int execv(const char *path, char *const argv[]);
EXPORTED int execvp(const char *file, char *const argv[]);
EXPORTED int execvpe(const char *file, char *const argv[], char *const envp[]);
EXPORTED int fexecve(int fd, char *const argv[], char *const envp[]);
EXPORTED int execveat(int folder, const char *path, char *const argv[], char *const envp[],
		      int flags);
EXPORTED int execl(const char *path, const char *argument, ...);
EXPORTED int execlp(const char *file, const char *argument, ...);
EXPORTED int execle(const char *path, const char *argument, ...);
EXPORTED int posix_spawn(pid_t *restrict pid, const char *restrict path,
			 const posix_spawn_file_actions_t *restrict actions,
			 const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
			 char *const envp[restrict]);
EXPORTED int posix_spawnp(pid_t *restrict pid, const char *restrict file,
			  const posix_spawn_file_actions_t *restrict actions,
			  const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
			  char *const envp[restrict]);

static int replace(enum kp_starter starter, const char *name, char *const *argv, char *const *envp)
{
	const struct kp_start start = {
		.starter = starter, .name = name, .arguments = argv, .environment = envp};

	return kp_start(&start);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
	return replace(KP_STARTER_execve, path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
	return replace(KP_STARTER_execv, path, argv, environ);
}

int execvp(const char *file, char *const argv[])
{
	return replace(KP_STARTER_execvp, file, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return replace(KP_STARTER_execvpe, file, argv, envp);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	const struct kp_start start = {
		.starter = KP_STARTER_fexecve, .fd = fd, .arguments = argv, .environment = envp};

	return kp_start(&start);
}

int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags)
{
	const struct kp_start start = {.starter = KP_STARTER_execveat,
				       .name = path,
				       .fd = folder,
				       .flags = flags,
				       .arguments = argv,
				       .environment = envp};

	return kp_start(&start);
}

/* How many arguments follow the first, the closing NULL left out. */
static size_t count(const char *first, va_list rest)
{
	size_t n = 0;

	while (first) {
		first = va_arg(rest, const char *);
		n++;
	}
	return n;
}

/* The arguments as a vector on the stack, as in the C library; `argv` has room for n + 1. */
static void gather(const char *first, va_list rest, char **argv, size_t n)
{
	for (size_t i = 0; i < n; i++)
		argv[i] = i == 0 ? (char *)first : va_arg(rest, char *);
	argv[n] = NULL;
}

#define GATHER(argv, first)                                                                        \
	va_list gather_list;                                                                       \
	va_start(gather_list, first);                                                              \
	size_t gather_count = count(first, gather_list);                                           \
	va_end(gather_list);                                                                       \
	char *argv[gather_count + 1];                                                              \
	va_start(gather_list, first);                                                              \
	gather(first, gather_list, argv, gather_count);

int execl(const char *path, const char *argument, ...)
{
	GATHER(argv, argument);
	va_end(gather_list);
	return replace(KP_STARTER_execv, path, argv, environ);
}

int execlp(const char *file, const char *argument, ...)
{
	GATHER(argv, argument);
	va_end(gather_list);
	return replace(KP_STARTER_execvp, file, argv, environ);
}

int execle(const char *path, const char *argument, ...)
{
	char *const *envp;

	GATHER(argv, argument);
	if (gather_count)
		(void)va_arg(gather_list, char *); /* the closing NULL */
	envp = va_arg(gather_list, char *const *);
	va_end(gather_list);
	return replace(KP_STARTER_execve, path, argv, envp);
}

int posix_spawn(pid_t *restrict pid, const char *restrict path,
		const posix_spawn_file_actions_t *restrict actions,
		const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
		char *const envp[restrict])
{
	const struct kp_start start = {
		KP_STARTER_posix_spawn, path, -1, 0, argv, envp, pid, actions, attributes};

	return kp_start(&start);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict file,
		 const posix_spawn_file_actions_t *restrict actions,
		 const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
		 char *const envp[restrict])
{
	const struct kp_start start = {
		KP_STARTER_posix_spawnp, file, -1, 0, argv, envp, pid, actions, attributes};

	return kp_start(&start);
}
