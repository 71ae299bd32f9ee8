/*
 * Where the program's world meets kprof: the driver's injection door, and the program's end.
 *
 * The library is in the process from its start (LD_PRELOAD), but does nothing until the driver
 * calls InitializeInjection, in the program's first cuInit (CUDA_INJECTION64_PATH names this
 * library). So programs that never use CUDA run as if it were not there.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/collector.h"
#include "inject/hooks.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int InitializeInjection(void);

static void at_end(void)
{
	kp_collector_finish(&kp_inject);
}

static uint64_t random_identity(void)
{
	uint64_t identity = 0;

	if (getrandom(&identity, sizeof(identity), GRND_NONBLOCK) != sizeof(identity) || !identity)
		identity = kp_clock_now() ^ (uint64_t)getpid() << 40;
	return identity;
}

/* The driver knows one injection; another that the user has set is started from here, and first. */
static void start_chained(const char *path)
{
	void *library = path[0] ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void);

	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize && initialize != InitializeInjection)
		initialize();
}

/* Called by the CUDA driver; the result only tells it whether the injection worked. */
int InitializeInjection(void)
{
	struct kp_inject *inject = &kp_inject;

	if (atomic_load(&inject->running) && inject->pid == getpid())
		return 1;
	if (!kp_settings_read(&inject->settings))
		return 1;
	start_chained(inject->settings.chain_path);
	inject->pid = getpid();
	inject->process = random_identity();
	kp_live_attach(inject);
	if (!kp_collector_start(inject)) {
		atomic_store(&inject->slot->state, KP_LIVE_DISABLED);
		return 1;
	}
	atomic_store(&inject->running, true);
	kp_hooks_start(inject);
	if (atexit(at_end) != 0 || at_quick_exit(at_end) != 0)
		kp_live_say(inject,
			    "the end of the program cannot be seen: its last records may be "
			    "missing");
	return 1;
}

/*
 * _exit runs no handlers, so it is taken here. The program ends either way, in the same manner and
 * with the same status.
 */
EXPORTED void _exit(int status);
EXPORTED void _Exit(int status);

void _exit(int status)
{
	at_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}
