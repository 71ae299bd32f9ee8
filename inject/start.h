/*
 * A program on its way into a process: by exec in this one, or by posix_spawn in a new one.
 *
 * Before it, the collector of a process that becomes another program writes what it has. A program
 * that the preload would disturb is started without it, and every program that kprof cannot see
 * into is listed in the live mapping. Where kprof is not in the environment that the program gets,
 * that was its starter's wish, and stays so.
 *
 * Called between fork or vfork and exec: nothing allocates or locks, and after vfork, where the
 * memory is the parent's, nothing of kprof's state is written. errno is the real function's.
 */
#ifndef KP_INJECT_START_H
#define KP_INJECT_START_H

#include <spawn.h>
#include <stdbool.h>

/* X(name, the function that takes an environment too, searches PATH, replaces this process) */
#define KP_STARTERS(X)                                                                             \
	X(execve, execve, false, true)                                                             \
	X(execv, execve, false, true)                                                              \
	X(execvp, execvpe, true, true)                                                             \
	X(execvpe, execvpe, true, true)                                                            \
	X(fexecve, fexecve, false, true)                                                           \
	X(execveat, execveat, false, true)                                                         \
	X(posix_spawn, posix_spawn, false, false)                                                  \
	X(posix_spawnp, posix_spawnp, true, false)

enum kp_starter {
#define KP_STARTER_ENUM(name, with_environment, searches, replaces) KP_STARTER_##name,
	KP_STARTERS(KP_STARTER_ENUM)
#undef KP_STARTER_ENUM
		KP_STARTER_COUNT
};

/* One call, as the program made it. */
struct kp_start {
	enum kp_starter starter;
	const char *name; /* path or name; NULL: fd */
	int fd;           /* of fexecve; of execveat the folder, and its flags */
	int flags;
	char *const *arguments;
	char *const *environment;
	pid_t *pid; /* of posix_spawn, as are the next */
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

/* Does it; the result is that of the real function. */
int kp_start(const struct kp_start *start);

#endif
