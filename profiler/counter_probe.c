/* Asks whether hardware counters can be sampled; see counter_probe.h. */
#include "profiler/counter_probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 60000

typedef void (*tell_function)(void *context, int device, bool works, const char *text);

/* In the child: one finding is one write, which a pipe takes in one piece. */
static void tell(void *context, int device, bool works, const char *text)
{
	struct kp_counter_finding finding = {.device = device, .works = works};
	const int *fd = context;

	strncpy(finding.text, text, sizeof finding.text - 1);
	if (write(*fd, &finding, sizeof finding) < 0)
		_exit(1);
}

static void ask(const char *path, int fd)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int (*probe)(tell_function tell, void *context);

	/* Whatever the driver has to say is no answer of kprof's. */
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	unsetenv("CUDA_INJECTION64_PATH");
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *found = library ? dlsym(library, "KprofProbeCounters") : NULL;
	memcpy(&probe, &found, sizeof probe);
	if (!found)
		_exit(1);
	probe(tell, &fd);
	_exit(0);
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void listen_to(int fd, struct kp_counter_probe *out)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	long long until_ms = now_ms() + LIMIT_MS;

	while (out->count < KP_COUNTER_PROBE_GPUS) {
		long long left_ms = until_ms - now_ms();
		int ready = poll(&wanted, 1, left_ms > 0 ? (int)left_ms : 0);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0) {
			out->timed_out = true;
			return;
		}
		struct kp_counter_finding *finding = &out->findings[out->count];
		if (read(fd, finding, sizeof *finding) != (ssize_t)sizeof *finding)
			return;
		finding->text[sizeof finding->text - 1] = '\0';
		out->count++;
	}
}

bool kp_counter_probe(const char *path, struct kp_counter_probe *out)
{
	int pipes[2], status = 0;

	memset(out, 0, sizeof *out);
	if (pipe2(pipes, O_CLOEXEC) != 0)
		return false;
	pid_t child = fork();
	if (child == 0)
		ask(path, pipes[1]);
	close(pipes[1]);
	if (child > 0)
		listen_to(pipes[0], out);
	close(pipes[0]);
	if (child < 0)
		return false;
	if (out->timed_out)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return out->timed_out || out->count > 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
