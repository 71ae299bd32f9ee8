/* The program under kprof top; see top_program.h. */
#include "profiler/top_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profiler/aftermath.h"
#include "profiler/commands.h"
#include "profiler/counter_options.h"
#include "profiler/humanise.h"
#include "profiler/library.h"
#include "profiler/say.h"
#include "profiler/window_options.h"

/* Of output that waited so much is shown, from the end. */
#define SHOWN_BYTES (1 << 20)
#define STEP_NS 50000000

/* A file without a name. */
static int open_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (!folder || !*folder)
		folder = "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "%s/kprof-top.XXXXXX", folder);
	fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Where the program's first three descriptors lead. */
static bool open_streams(struct kp_top_program *program, bool screens)
{
	const char *log = program->settings->live.log;
	int *streams = program->launch.streams;

	program->log = log ? open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)
			   : open_temporary();
	program->log_is_shown = !log;
	if (program->log < 0) {
		kp_fail("cannot write %s: %s", log ? log : "a temporary file", strerror(errno));
		return false;
	}
	streams[0] = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	streams[1] = log || screens || isatty(STDOUT_FILENO) ? program->log : -1;
	streams[2] = log || isatty(STDERR_FILENO) ? program->log : -1;
	return true;
}

bool kp_top_program_has_rules(const struct kp_settings *settings)
{
	return settings->ab_files.count || settings->ab_rules.count || settings->live.rules;
}

/* Rules, if they were asked for. False: said. */
static bool prepare_rules(struct kp_top_program *program)
{
	const struct kp_settings *settings = program->settings;

	program->with_rules = kp_top_program_has_rules(settings);
	if (!program->with_rules)
		return true;
	program->ab_settings = *settings;
	program->ab_settings.ab_mode = KP_AB_SWAP;
	return kp_ab_run_read(&program->ab, &program->ab_settings) &&
	       kp_ab_run_prepare(&program->ab) && kp_ab_run_export(&program->ab);
}

static bool export_windows(const struct kp_top_program *program)
{
	struct kp_settings recorded = *program->settings;

	/* Nothing is recorded of calls, but rules look at them. */
	recorded.calls = program->with_rules ? KP_SWITCH_ON : KP_SWITCH_OFF;
	return kp_window_options_export(&recorded) && kp_counter_options_export(&recorded);
}

/* The end of the rules' files; returns the status. */
static int leave(struct kp_top_program *program, int status)
{
	if (program->with_rules)
		kp_ab_run_end(&program->ab);
	return status;
}

int kp_top_program_prepare(struct kp_top_program *program, const struct kp_settings *settings,
			   bool screens)
{
	const char *command = settings->operands[0];

	*program = (struct kp_top_program){.settings = settings, .log = -1};
	kp_target_inspect(command, getenv("PATH"), &program->target);
	if (program->target.state != KP_TARGET_FOUND) {
		kp_say("%s: %s", command, kp_target_explain(&program->target));
		return program->target.state == KP_TARGET_NOT_FOUND ? KP_EXIT_NOT_FOUND
								    : KP_EXIT_NOT_EXECUTABLE;
	}
	if (!kp_library_find(program->library))
		return kp_fail(
			"libkprof_inject.so was not found; kprof doctor says what is missing");
	if (!prepare_rules(program))
		return leave(program, KP_EXIT_FAILURE);
	if (!export_windows(program))
		return leave(program, kp_fail("out of memory"));
	if (!kp_recording_open(&program->recording, settings->output, command))
		return leave(program, KP_EXIT_FAILURE);
	if (open_streams(program, screens))
		return 0;
	kp_recording_close(&program->recording, false);
	return leave(program, KP_EXIT_FAILURE);
}

bool kp_top_program_begin(struct kp_top_program *program, const char *room)
{
	const struct kp_environment environment = {
		.library = program->library,
		.trace = program->recording.trace,
		.live = program->recording.live_path,
		.board = room,
		.preload = kp_program_takes_preload(program->target.program.kind),
		.redact = program->settings->redact == KP_SWITCH_ON,
		.clocks = program->settings->clocks == KP_SWITCH_ON,
	};

	program->begun = true;
	if (kp_launch_begin(&program->launch, program->settings->operands, &program->target,
			    &environment) != KP_OK)
		program->error = errno;
	return !program->error && !program->launch.launched.exec_error;
}

bool kp_top_program_has_ended(struct kp_top_program *program)
{
	kp_launch_step(&program->launch, false);
	return program->launch.ended;
}

/* ---- afterwards ---- */

/* Output that was not shown so far. */
static void show_log(struct kp_top_program *program)
{
	char buffer[1 << 14];
	ssize_t got;

	while (program->log_is_shown &&
	       (got = pread(program->log, buffer, sizeof buffer, program->shown)) > 0) {
		fwrite(buffer, 1, (size_t)got, stdout);
		program->shown += got;
	}
	fflush(stdout);
}

static void skip_old_output(struct kp_top_program *program)
{
	struct stat about;

	if (!program->log_is_shown || fstat(program->log, &about) != 0 ||
	    about.st_size <= SHOWN_BYTES)
		return;
	program->shown = about.st_size - SHOWN_BYTES;
	kp_say("the first %s of the output are left out; --log keeps all",
	       kp_human_bytes((uint64_t)program->shown, 3).text);
}

static int status_of(const struct kp_top_program *program)
{
	const struct kp_launched *launched = &program->launch.launched;
	bool missing = launched->exec_error == ENOENT || launched->exec_error == ENOTDIR;

	if (!program->begun)
		return KP_EXIT_FAILURE;
	if (program->error)
		return kp_fail("cannot start %s: %s", program->settings->operands[0],
			       strerror(program->error));
	if (!launched->exec_error)
		return launched->exit_status;
	kp_say("%s: %s", program->settings->operands[0], strerror(launched->exec_error));
	return missing ? KP_EXIT_NOT_FOUND : KP_EXIT_NOT_EXECUTABLE;
}

/* What collectors have to say, and the trace. */
static void settle(struct kp_top_program *program)
{
	struct kp_aftermath aftermath;
	struct stat about;

	kp_aftermath_settle(&program->recording, &aftermath);
	if (program->recorded && fstat(program->recording.fd, &about) == 0)
		kp_say("the trace is in %s (%s)", program->recording.trace,
		       kp_human_bytes((uint64_t)about.st_size, 3).text);
	else if (aftermath.processes == 0)
		kp_say("%s never used the GPU", program->settings->operands[0]);
}

int kp_top_program_finish(struct kp_top_program *program)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	int status;

	if (program->begun) {
		skip_old_output(program);
		while (!kp_top_program_has_ended(program)) {
			show_log(program);
			nanosleep(&step, NULL);
		}
		show_log(program);
		kp_launch_end(&program->launch);
		if (!program->error && !program->launch.launched.exec_error)
			settle(program);
		if (program->with_rules)
			kp_ab_run_tell_wrong(&program->ab);
	}
	status = status_of(program);
	kp_recording_close(&program->recording, program->recorded);
	close(program->log);
	if (program->launch.streams[0] >= 0)
		close(program->launch.streams[0]);
	return leave(program, status);
}
