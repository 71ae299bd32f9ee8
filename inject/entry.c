/*
 * Where the program's world meets kprof: the driver's injection door, and the program's end.
 *
 * The library is in the process from its start (LD_PRELOAD), but does nothing until the driver
 * calls InitializeInjection, in the program's first cuInit (CUDA_INJECTION64_PATH names this
 * library). So programs that never use CUDA run as if it were not there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/ab.h"
#include "inject/boards.h"
#include "inject/buffers.h"
#include "inject/clocks.h"
#include "inject/collector.h"
#include "inject/counters.h"
#include "inject/entry.h"
#include "inject/hooks.h"
#include "inject/host.h"
#include "inject/host_streams.h"
#include "inject/kept_names.h"
#include "inject/library.h"
#include "inject/nvtx.h"
#include "inject/runs.h"
#include "inject/share.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int InitializeInjection(void);

static void at_end(void)
{
	kp_collector_finish(&kp_inject);
}

/* ---- processes ---- */

bool kp_inject_is_on(const struct kp_inject *inject)
{
	return atomic_load(&inject->running) && inject->pid == getpid();
}

/* In the child of fork: nothing of the parent's goes on. If the driver lets the child use CUDA, it
 * calls InitializeInjection anew. */
static void begin_anew(void)
{
	atomic_store(&kp_inject.running, false);
	kp_inject.pid = 0;
	kp_collector_forget();
	kp_boards_forget();
	kp_clocks_forget();
	kp_buffers_forget();
	kp_kept_names_forget();
	kp_nvtx_forget();
	kp_windows_forget();
	kp_passages_forget();
	kp_hooks_forget();
	kp_hooks_graph_forget();
	kp_host_forget();
	kp_host_streams_forget();
	kp_runs_forget();
	kp_library_forget();
	kp_ab_forget();
	kp_share_forget();
	kp_counters_forget();
	kp_live_forget(&kp_inject);
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, begin_anew);
}

void kp_inject_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}

/* ---- the driver's door ---- */

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

/* The handlers of exit; a forked child has its parent's. */
static bool watch_end(void)
{
	static bool watched;

	if (!watched)
		watched = atexit(at_end) == 0 && at_quick_exit(at_end) == 0;
	return watched;
}

void kp_entry_watch_end(void)
{
	(void)atexit(at_end); /* on failure the earlier one remains */
}

static void start(struct kp_inject *inject)
{
	if (kp_inject_is_on(inject) || !kp_settings_read(&inject->settings))
		return;
	if (atomic_load(&inject->running))
		begin_anew(); /* a child that was not made by fork */
	kp_inject_watch_forks();
	start_chained(inject->settings.chain_path);
	inject->pid = getpid();
	inject->process = random_identity();
	kp_live_attach(inject);
	if (!kp_collector_start(inject)) {
		atomic_store(&inject->slot->state, KP_LIVE_DISABLED);
		return;
	}
	atomic_store(&inject->running, true);
	kp_hooks_start(inject);
	kp_ab_start();
	if (!watch_end())
		kp_live_say(inject,
			    "the end of the program cannot be seen: its last records may be "
			    "missing");
}

/* Called by the CUDA driver; the result only tells it whether the injection worked. */
int InitializeInjection(void)
{
	int error = errno;

	start(&kp_inject);
	errno = error;
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
