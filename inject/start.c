/* Starts programs; see start.h. */
#include "inject/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/collector.h"
#include "inject/environ.h"
#include "inject/readable.h"
#include "trace/program.h"

/* On the stack; an environment of some 900 variables fits. A larger one is mapped. */
#define ROOM_BYTES 8192

typedef int (*execve_function)(const char *, char *const *, char *const *);
typedef int (*execv_function)(const char *, char *const *);
typedef int (*fexecve_function)(int, char *const *, char *const *);
typedef int (*execveat_function)(int, const char *, char *const *, char *const *, int);
typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			      const posix_spawnattr_t *, char *const *, char *const *);

static const struct {
	const char *name;
	enum kp_starter with_environment;
	bool searches, replaces;
} starters[KP_STARTER_COUNT] = {
#define ROW(name, with_environment, searches, replaces)                                            \
	{#name, KP_STARTER_##with_environment, searches, replaces},
	KP_STARTERS(ROW)
#undef ROW
};

/* The next definitions behind this library's, found before there is any second thread or child. */
static void *real[KP_STARTER_COUNT];

__attribute__((constructor)) static void find_real(void)
{
	for (size_t i = 0; i < KP_STARTER_COUNT; i++)
		real[i] = dlsym(RTLD_NEXT, starters[i].name);
}

static void *get_real(enum kp_starter starter)
{
	if (!real[starter])
		find_real(); /* called by a constructor that ran before this one */
	return real[starter];
}

/* ---- the real function ---- */

static int call(const struct kp_start *start, enum kp_starter starter, char *const *environment)
{
	void *function = get_real(starter);

	if (!function && starter == KP_STARTER_execveat) /* an old C library has none */
		return (int)syscall(SYS_execveat, start->fd, start->name, start->arguments,
				    environment, start->flags);
	if (!function) {
		errno = ENOSYS;
		return starters[starter].replaces ? -1 : ENOSYS;
	}
	switch (starter) {
	case KP_STARTER_execve:
	case KP_STARTER_execvpe:
		return ((execve_function)function)(start->name, start->arguments, environment);
	case KP_STARTER_execv:
	case KP_STARTER_execvp:
		return ((execv_function)function)(start->name, start->arguments);
	case KP_STARTER_fexecve:
		return ((fexecve_function)function)(start->fd, start->arguments, environment);
	case KP_STARTER_execveat:
		return ((execveat_function)function)(start->fd, start->name, start->arguments,
						     environment, start->flags);
	case KP_STARTER_posix_spawn:
	case KP_STARTER_posix_spawnp:
	case KP_STARTER_COUNT:
		break;
	}
	return ((spawn_function)function)(start->pid, start->name, start->actions,
					  start->attributes, start->arguments, environment);
}

static int call_in(const struct kp_start *start, bool all, void *room)
{
	return call(start, starters[start->starter].with_environment,
		    kp_environ_without(start->environment, all, room));
}

/* In functions of their own, so that only the calls that need it use so much stack. */
__attribute__((noinline)) static int call_on_stack(const struct kp_start *start, bool all)
{
	char *room[ROOM_BYTES / sizeof(char *)];

	return call_in(start, all, room);
}

/* Without kprof's preload. */
static int call_without(const struct kp_start *start, bool all)
{
	size_t bytes = kp_environ_room(start->environment);
	int result, error;
	void *room;

	if (bytes <= ROOM_BYTES)
		return call_on_stack(start, all);
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return call(start, start->starter, start->environment);
	result = call_in(start, all, room);
	error = errno;
	munmap(room, bytes);
	errno = error;
	return result;
}

/* ---- what it is ---- */

/* What is known of the program. */
struct finding {
	struct kp_program program;
	bool may_start; /* the file is there and may be executed */
	char path[KP_LIVE_PROGRAM_BYTES];
};

static void look_at(const char *path, struct finding *out)
{
	size_t length = strnlen(path, sizeof(out->path) - 1);

	kp_program_inspect(path, &out->program);
	out->may_start = faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
	memcpy(out->path, path, length);
	out->path[length] = '\0';
}

__attribute__((noinline)) static void search(const char *name, struct finding *out)
{
	char path[PATH_MAX];
	int error;

	if (kp_program_resolve(name, kp_environ_find(environ, "PATH"), path, &error))
		look_at(path, out);
}

/* «/proc/self/fd/N»; returns its length. */
static size_t name_fd(int fd, char path[32])
{
	char digits[12];
	size_t count = 0, at = strlen("/proc/self/fd/");

	strcpy(path, "/proc/self/fd/");
	for (unsigned rest = (unsigned)fd; rest || !count; rest /= 10)
		digits[count++] = (char)('0' + rest % 10);
	while (count)
		path[at++] = digits[--count];
	path[at] = '\0';
	return at;
}

static void look_at_fd(int fd, struct finding *out)
{
	char path[32];
	ssize_t length;

	if (fd < 0)
		return;
	name_fd(fd, path);
	look_at(path, out);
	length = readlink(path, out->path, sizeof(out->path) - 1);
	if (length > 0)
		out->path[length] = '\0';
}

/* A path from an open folder on. */
__attribute__((noinline)) static void look_in(int folder, const char *name, struct finding *out)
{
	char path[PATH_MAX];
	size_t length = strlen(name), at;

	if (folder < 0 || length >= sizeof(path) - 33)
		return;
	at = name_fd(folder, path);
	path[at++] = '/';
	memcpy(path + at, name, length + 1);
	look_at(path, out);
}

static void look_from(const struct kp_start *start, struct finding *out)
{
	if (!start->name[0]) {
		if (start->flags & AT_EMPTY_PATH)
			look_at_fd(start->fd, out);
	} else if (start->name[0] == '/' || start->fd == AT_FDCWD) {
		look_at(start->name, out);
	} else {
		look_in(start->fd, start->name, out);
	}
}

/*
 * Whether the loader would find kprof's library: behind a change of the root folder, or of the
 * user, perhaps not; then it would say so, in the program's output.
 */
__attribute__((noinline)) static bool is_in_reach(const struct kp_start *start)
{
	char path[PATH_MAX];
	size_t bytes;
	const char *library = kp_environ_library(start->environment, &bytes);

	if (!library || bytes >= sizeof(path))
		return true;
	memcpy(path, library, bytes);
	path[bytes] = '\0';
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR && errno != EACCES);
}

static void inspect(const struct kp_start *start, struct finding *out)
{
	out->program.kind = KP_PROGRAM_TRACEABLE;
	out->may_start = false;
	if (start->starter == KP_STARTER_fexecve)
		look_at_fd(start->fd, out);
	else if (start->starter == KP_STARTER_execveat)
		look_from(start, out);
	else if (starters[start->starter].searches && !strchr(start->name, '/'))
		search(start->name, out);
	else
		look_at(start->name, out);
	if (out->program.kind == KP_PROGRAM_TRACEABLE && !is_in_reach(start))
		out->program.kind = KP_PROGRAM_OUT_OF_REACH;
}

/* ---- the list ---- */

/* By its path, or, where that is out of reach, as this process has it. */
static struct kp_live *map_list(const struct kp_start *start)
{
	const char *path = kp_environ_find(start->environment, "KPROF_LIVE");
	struct kp_live *live = path ? kp_live_map(path) : NULL;

	return live || !path ? live : kp_live_at_hand();
}

static void let_go(struct kp_live *live)
{
	if (live != kp_live_at_hand())
		munmap(live, sizeof(*live));
}

static void list(const struct kp_start *start, const struct finding *finding, pid_t pid)
{
	struct kp_live *live = map_list(start);
	pid_t parent = pid == getpid() ? getppid() : getpid();

	if (!live)
		return;
	kp_live_list(live, finding->program.kind, finding->path, (uint32_t)pid, (uint32_t)parent);
	let_go(live);
}

/* It was not started after all. */
static void unlist(const struct kp_start *start, const struct finding *finding)
{
	struct kp_live *live = map_list(start);

	if (!live)
		return;
	kp_live_unlist(live, finding->program.kind, finding->path);
	let_go(live);
}

/* ---- starting ---- */

static int replace(const struct kp_start *start, const struct finding *finding, bool listed)
{
	bool suspended = finding->may_start && kp_collector_suspend(&kp_inject);
	enum kp_program_kind kind = finding->program.kind;
	int result, error;

	if (listed)
		list(start, finding, getpid());
	result = kp_program_takes_preload(kind)
			 ? call(start, start->starter, start->environment)
			 : call_without(start, kind == KP_PROGRAM_PRIVILEGED);
	error = errno; /* the program goes on */
	if (suspended)
		kp_collector_resume(&kp_inject);
	if (listed)
		unlist(start, finding);
	errno = error;
	return result;
}

static int spawn(const struct kp_start *start, const struct finding *finding, bool listed)
{
	enum kp_program_kind kind = finding->program.kind;
	struct kp_start own = *start;
	int result, error;
	pid_t pid = 0;

	if (!own.pid)
		own.pid = &pid;
	result = kp_program_takes_preload(kind) ? call(&own, own.starter, own.environment)
						: call_without(&own, kind == KP_PROGRAM_PRIVILEGED);
	error = errno;
	if (listed && result == 0)
		list(start, finding, *own.pid);
	errno = error;
	return result;
}

/* What the system reads, too. Where this cannot be read, it refuses the call. */
static bool is_readable(const struct kp_start *start)
{
	return kp_readable_texts(start->environment) &&
	       (start->starter == KP_STARTER_fexecve || kp_readable_text(start->name));
}

int kp_start(const struct kp_start *start)
{
	bool replaces = starters[start->starter].replaces;
	struct finding finding;
	bool entered, listed;
	int error = errno;

	if (!is_readable(start))
		return call(start, start->starter, start->environment);
	entered = kp_environ_find(start->environment, "KPROF_TRACE") != NULL;
	if (!entered && !(replaces && kp_inject_is_on(&kp_inject)))
		return call(start, start->starter, start->environment);
	inspect(start, &finding);
	errno = error;
	listed = entered && finding.may_start && kp_program_reason(finding.program.kind);
	if (!entered)
		finding.program.kind = KP_PROGRAM_TRACEABLE; /* nothing of kprof's to leave out */
	return replaces ? replace(start, &finding, listed) : spawn(start, &finding, listed);
}
