/* Two runs of a program and what they print; see arms.h. */
#include "profiler/arms.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/say.h"

#define COPY_BYTES 65536
#define NO_VERDICT (-1)

extern char **environ;

const char *kp_arms_verdict_key(enum kp_arms_verdict verdict)
{
	static const char *const keys[KP_ARMS_VERDICT_COUNT] = {
#define KEY_OF(NAME, key) key,
		KP_ARMS_VERDICTS(KEY_OF)
#undef KEY_OF
	};

	return verdict == KP_ARMS_UNKNOWN ? NULL : keys[verdict];
}

static int open_new(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		kp_fail("cannot write %s: %s", path, strerror(errno));
	return fd;
}

/* The exit status of a program whose standard output is `fd`; NO_VERDICT, said: it did not run. */
static int run(char **argv, int fd)
{
	posix_spawn_file_actions_t actions;
	int status = 0, error = posix_spawn_file_actions_init(&actions);
	pid_t child;

	if (!error) {
		error = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
		if (!error)
			error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	while (!error && waitpid(child, &status, 0) < 0)
		error = errno == EINTR ? 0 : errno;
	if (error) {
		kp_fail("cannot run %s: %s", argv[0], strerror(error));
		return NO_VERDICT;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool kp_arms_begin(struct kp_arms *arms, const char *folder, char **argv)
{
	int fd, status;

	arms->standard = -1;
	snprintf(arms->original, sizeof arms->original, "%s/original", folder);
	snprintf(arms->replaced, sizeof arms->replaced, "%s/replaced", folder);
	fd = open_new(arms->original);
	if (fd < 0)
		return false;
	status = run(argv, fd);
	close(fd);
	if (status > 0)
		kp_fail("--check-output: %s, without kprof, ended with status %d", argv[0], status);
	return status == 0;
}

bool kp_arms_redirect(struct kp_arms *arms)
{
	int fd = open_new(arms->replaced);
	bool good;

	if (fd < 0)
		return false;
	fflush(stdout);
	arms->standard = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	good = arms->standard >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
	close(fd);
	if (!good)
		kp_fail("--check-output: %s", strerror(errno));
	return good;
}

static bool copy(const char *path)
{
	FILE *file = fopen(path, "rbe");
	char *bytes = malloc(COPY_BYTES);
	bool good = file && bytes;
	size_t got;

	while (good && (got = fread(bytes, 1, COPY_BYTES, file)) > 0)
		good = fwrite(bytes, 1, got, stdout) == got;
	if (file)
		fclose(file);
	free(bytes);
	return good && fflush(stdout) == 0;
}

bool kp_arms_release(struct kp_arms *arms)
{
	bool good = arms->standard < 0 || dup2(arms->standard, STDOUT_FILENO) >= 0;

	if (arms->standard >= 0)
		close(arms->standard);
	arms->standard = -1;
	good = good && copy(arms->replaced);
	if (!good)
		kp_fail("the program's output: %s", strerror(errno));
	return good;
}

bool kp_arms_compare(const struct kp_arms *arms, const char *command, enum kp_arms_verdict *verdict)
{
	char *script,
		*argv[] = {(char[]){"sh"},         (char[]){"-c"},         NULL, (char[]){"sh"},
			   (char *)arms->original, (char *)arms->replaced, NULL};
	int status;

	if (asprintf(&script, "%s \"$@\"", command) < 0) {
		kp_fail("out of memory");
		return false;
	}
	argv[2] = script;
	status = run(argv, STDERR_FILENO);
	free(script);
	if (status > 1)
		kp_fail("--check-output: the command ended with status %d: 0 says that both agree, "
			"1 that they differ",
			status);
	*verdict = status == 0 ? KP_ARMS_SAME : KP_ARMS_DIFFERENT;
	return status == 0 || status == 1;
}

void kp_arms_end(struct kp_arms *arms)
{
	if (arms->standard >= 0)
		kp_arms_release(arms);
	unlink(arms->original);
	unlink(arms->replaced);
}
