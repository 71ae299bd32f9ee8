/* Trouble of prog_launch's own making; see trouble.h. */
#include "tests/fake_gpu/programs/trouble.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define FIRST_FD 3
#define LAST_FD 4096
#define ALARMS 40 /* before the handler ends the program */

static int exit_code;

static void need(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(3);
}

static void limit(int resource, uint64_t value, const char *what)
{
	struct rlimit limits;

	need(getrlimit(resource, &limits), what);
	limits.rlim_cur = value;
	need(setrlimit(resource, &limits), what);
}

static void close_all(void)
{
	for (int fd = FIRST_FD; fd < LAST_FD; fd++)
		close(fd);
}

/* Every open descriptor now is another file, as with shells' and daemons' redirections. */
static void replace_all(void)
{
	int null = open("/dev/null", O_RDWR);

	need(null < 0, "/dev/null");
	for (int fd = FIRST_FD; fd < LAST_FD; fd++)
		if (fd != null && fcntl(fd, F_GETFD) >= 0)
			need(dup2(null, fd) < 0, "dup2");
}

static void end_in_handler(int number)
{
	static volatile sig_atomic_t alarms;

	(void)number;
	alarms = alarms + 1;
	if (alarms >= ALARMS)
		_exit(exit_code);
}

/* The handler interrupts whatever the program does then: a launch, an allocation. */
static void arm(const struct kp_prog_options *options)
{
	const struct itimerval often = {{0, 1700}, {0, 1700}};
	struct sigaction action = {.sa_handler = end_in_handler, .sa_flags = SA_RESTART};

	exit_code = (int)options->exit_code;
	need(sigaction(SIGALRM, &action, NULL), "sigaction");
	need(setitimer(ITIMER_REAL, &often, NULL), "setitimer");
}

void kp_prog_trouble_early(const struct kp_prog_options *options)
{
	if (options->chdir)
		need(chdir(options->chdir), options->chdir);
	if (options->close_fds)
		close_all();
	if (options->umask)
		umask((mode_t)options->umask);
	if (options->fsize)
		limit(RLIMIT_FSIZE, options->fsize, "RLIMIT_FSIZE");
	if (options->nofile)
		limit(RLIMIT_NOFILE, options->nofile, "RLIMIT_NOFILE");
}

void kp_prog_trouble_late(const struct kp_prog_options *options)
{
	if (options->chroot) {
		need(chroot(options->chroot), options->chroot);
		need(chdir("/"), "/");
	}
	if (options->uid)
		need(setuid((uid_t)options->uid), "setuid");
	if (options->close_late)
		close_all();
	if (options->dup_fds)
		replace_all();
	if (options->exit_in_handler)
		arm(options);
}

/* An exception of C++ that nobody catches, thrown by hand. */
static void throw_exception(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
	void *(*allocate)(size_t);
	void (*throw)(void *, void *, void (*)(void *));
	void *type;

	need(!library, "libstdc++.so.6");
	*(void **)&allocate = dlsym(library, "__cxa_allocate_exception");
	*(void **)&throw = dlsym(library, "__cxa_throw");
	type = dlsym(library, "_ZTIi");
	need(!allocate || !throw || !type, "libstdc++.so.6");
	throw(memset(allocate(sizeof(int)), 0, sizeof(int)), type, NULL);
}

void kp_prog_end(const struct kp_prog_options *options)
{
	volatile uintptr_t nowhere = 8;

	if (options->abort)
		abort();
	if (options->throw)
		throw_exception();
	if (options->segv)
		*(volatile int *)nowhere = 0;
	if (options->sigkill_self)
		kill(getpid(), SIGKILL);
	if (options->raise)
		kill(getpid(), (int)options->raise);
	if (options->_exit)
		_exit((int)options->exit_code);
	if (options->quick_exit)
		quick_exit((int)options->exit_code);
	if (options->exec) {
		execl(options->exec, options->exec, (char *)NULL);
		perror(options->exec);
		exit(3);
	}
}
