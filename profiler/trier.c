/* Answering trials; see trier.h. */
#include "profiler/trier.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/ab_counts.h"
#include "profiler/say.h"
#include "profiler/trial.h"

#define PATH_BYTES (PATH_MAX + 32)
#define LOOK_NS 5000000L
#define START_S 120 /* for CUDA, and the data */
#define DYING_S 10

static const struct {
	const char *key, *words;
	bool wrong;
} faults[KP_AB_TRIAL_FAULT_COUNT] = {
#define ROW(NAME, key, what, wrong) {key, what, wrong},
	KP_AB_TRIAL_FAULTS(ROW)
#undef ROW
};

const char *kp_trial_fault_key(enum kp_ab_trial_fault fault)
{
	return faults[fault].key;
}

enum kp_ab_trial_fault kp_trial_fault_of(const char *key)
{
	uint32_t i = 0;

	while (i < KP_AB_TRIAL_FAULT_COUNT && strcmp(faults[i].key, key) != 0)
		i++;
	return (enum kp_ab_trial_fault)i;
}

const char *kp_trial_fault_words(enum kp_ab_trial_fault fault)
{
	return faults[fault].words;
}

bool kp_trial_fault_is_wrong(enum kp_ab_trial_fault fault)
{
	return faults[fault].wrong;
}

/* ---- the process ---- */

struct answering {
	const char *plan_path, *results;
	double limit_s;
	struct kp_ab_plan plan;
	struct kp_ab_trials_file *trials;
	struct kp_trial *trial; /* shared with the process that tries */
};

static void path_of(const char *plan, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%.*s" KP_AB_TRIALS_SUFFIX, PATH_MAX - 1, plan);
}

static void path_of_launch(const char *plan, uint32_t number, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%.*s" KP_AB_TRIALS_SUFFIX ".%" PRIu32, PATH_MAX - 1, plan,
		 number);
}

static void *map(const char *path, size_t *length, int flags)
{
	int fd = open(path, (flags == MAP_SHARED ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat about;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &about) == 0 && about.st_size > 0)
		bytes = mmap(NULL, (size_t)about.st_size,
			     flags == MAP_SHARED ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd,
			     0);
	close(fd);
	*length = bytes == MAP_FAILED ? 0 : (size_t)about.st_size;
	return bytes == MAP_FAILED ? NULL : bytes;
}

static bool prepare(struct answering *of)
{
	char path[PATH_BYTES];
	size_t length;
	void *bytes = map(of->plan_path, &length, MAP_PRIVATE);

	if (!bytes || kp_ab_plan_check(bytes, length, &of->plan) != KP_OK)
		return false;
	path_of(of->plan_path, path);
	of->trials = map(path, &length, MAP_SHARED);
	of->trial = mmap(NULL, sizeof(*of->trial), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return of->trials && length == sizeof(*of->trials) && of->trial != MAP_FAILED;
}

/* Dies with its parent. What it says, or leaves behind, is of no use to anybody. */
static void be_alone(pid_t parent)
{
	const struct rlimit none = {0, 0};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	setsid(); /* signals of the terminal are not for this one */
	for (int fd = 0; nothing >= 0 && fd < 3; fd++)
		dup2(nothing, fd);
	setrlimit(RLIMIT_CORE, &none);
}

static void try_launch(const struct answering *of, const char *path, pid_t parent)
{
	sigset_t none;

	be_alone(parent);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	kp_trial_run(&of->plan, path, of->trial);
	_exit(0);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * The limit is for the replacement: it begins with its launch, and CUDA has one of its own to start
 * within. False: it was ended at one, or cannot even be ended.
 */
static bool wait_for(const struct answering *of, pid_t child, int *status)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	bool launched = false, killed = false;
	double end_s = now_s() + START_S;

	while (waitpid(child, status, WNOHANG) == 0) {
		double now = now_s();

		if (!launched && atomic_load(&of->trial->launched)) {
			launched = true;
			end_s = now + of->limit_s;
		}
		if (now >= end_s && killed)
			return false;
		if (now >= end_s) {
			kill(child, SIGKILL);
			killed = true;
			end_s = now + DYING_S;
		}
		nanosleep(&pause, NULL);
	}
	return !killed;
}

static enum kp_ab_trial_fault try_in_process(const struct answering *of, uint32_t number)
{
	char path[PATH_BYTES];
	bool launched, in_time;
	pid_t parent = getpid(), child;
	int status = 0;

	path_of_launch(of->plan_path, number, path);
	memset(of->trial, 0, sizeof(*of->trial));
	atomic_store(&of->trial->fault, KP_AB_TRIAL_CRASHED); /* until it says how it went */
	child = fork();
	if (child == 0)
		try_launch(of, path, parent);
	if (child < 0)
		return KP_AB_TRIAL_NO_MEMORY;
	in_time = wait_for(of, child, &status);
	unlink(path);
	launched = atomic_load(&of->trial->launched);
	if (!in_time)
		return launched ? KP_AB_TRIAL_HANGS : KP_AB_TRIAL_NO_DRIVER;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return launched ? KP_AB_TRIAL_CRASHED : KP_AB_TRIAL_NOT_LOADED;
	return (enum kp_ab_trial_fault)(atomic_load(&of->trial->fault) % KP_AB_TRIAL_FAULT_COUNT);
}

/* One write, so that the line is whole beside those of others. False: it could not be written. */
static bool tell(const struct answering *of, const struct kp_ab_trial *trial,
		 enum kp_ab_trial_fault fault)
{
	int fd = open(of->results, O_WRONLY | O_APPEND | O_CLOEXEC), length;
	char key[32], line[256];
	bool told;

	snprintf(key, sizeof key, fault == KP_AB_TRIAL_NONE ? "null" : "\"%s\"", faults[fault].key);
	length = snprintf(line, sizeof line,
			  "{\"trial\":{\"rule\":%" PRIu32 ",\"shape\":\"%016" PRIx64
			  "\",\"fault\":%s,\"error\":%" PRId32 "}}\n",
			  trial->rule, trial->shape, key, atomic_load(&of->trial->error));
	if (fd < 0)
		return false;
	told = write(fd, line, (size_t)length) == length;
	close(fd);
	return told;
}

static void answer(const struct answering *of, uint32_t number)
{
	struct kp_ab_trial *trial = &of->trials->trials[number];
	enum kp_ab_trial_fault fault = try_in_process(of, number);

	/* No replacement runs of which the report does not know. */
	if (fault != KP_AB_TRIAL_NONE)
		atomic_store(&trial->state, KP_AB_TRIAL_FAILED);
	if (tell(of, trial, fault) && fault == KP_AB_TRIAL_NONE)
		atomic_store(&trial->state, KP_AB_TRIAL_PASSED);
	else
		atomic_store(&trial->state, KP_AB_TRIAL_FAILED);
}

static void serve(struct answering *of, pid_t parent)
{
	sigset_t all;

	be_alone(parent);
	/* What ends a whole group is for kprof and the program to deal with. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	for (;;) {
		uint32_t asked = atomic_load(&of->trials->asked);

		for (uint32_t i = 0; i < KP_AB_TRIALS_MOST; i++)
			if (atomic_load(&of->trials->trials[i].state) == KP_AB_TRIAL_ASKED)
				answer(of, i);
		syscall(SYS_futex, &of->trials->asked, FUTEX_WAIT, asked, NULL, NULL, 0);
	}
}

/* ---- from outside ---- */

bool kp_trier_start(struct kp_trier *trier, const char *plan, const char *results, double limit_s)
{
	struct answering of = {.plan_path = plan, .results = results, .limit_s = limit_s};
	pid_t parent = getpid();
	char path[PATH_BYTES];

	path_of(plan, path);
	if (!kp_ab_shared_make(path, KP_AB_TRIALS_MAGIC, sizeof(struct kp_ab_trials_file)))
		return false;
	if (!prepare(&of)) {
		kp_fail("the trials of replacements: %s", strerror(errno));
		return false;
	}
	trier->pid = fork();
	if (trier->pid == 0)
		serve(&of, parent);
	if (trier->pid < 0) {
		trier->pid = 0;
		kp_fail("no process for the trials of replacements: %s", strerror(errno));
		return false;
	}
	return true;
}

void kp_trier_stop(struct kp_trier *trier, const char *plan)
{
	char path[PATH_BYTES];

	if (!trier->pid)
		return;
	kill(trier->pid, SIGKILL); /* what it tries goes with it */
	while (waitpid(trier->pid, NULL, 0) < 0 && errno == EINTR)
		;
	trier->pid = 0;
	for (uint32_t i = 0; i < KP_AB_TRIALS_MOST; i++) {
		path_of_launch(plan, i, path);
		unlink(path);
	}
	path_of(plan, path);
	unlink(path);
}
