/*
 * kprof [options] -- CMD and kprof record: prepare, launch, settle, and say where the time went.
 *
 * Whatever goes wrong once CMD runs, its exit status is not hidden: kprof's own failure shows only
 * where CMD succeeded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/aftermath.h"
#include "profiler/commands.h"
#include "profiler/counter_options.h"
#include "profiler/followers.h"
#include "profiler/humanise.h"
#include "profiler/launch.h"
#include "profiler/library.h"
#include "profiler/open.h"
#include "profiler/output.h"
#include "profiler/print.h"
#include "profiler/ranking.h"
#include "profiler/recording.h"
#include "profiler/rules.h"
#include "profiler/say.h"
#include "profiler/untraced.h"
#include "profiler/window_options.h"

/* One run, from the command line to the report. */
struct run {
	const struct kp_settings *settings;
	bool ranks; /* run, not record */
	int report_format;
	const char *command; /* CMD, as given */
	struct kp_target target;
	char library[PATH_MAX];
	struct kp_recording recording;
	struct kp_aftermath aftermath;
};

/* Says why CMD cannot be started; returns the exit status for it. */
static int refuse(const struct run *run, int error)
{
	bool missing = error == ENOENT || error == ENOTDIR;
	const struct kp_target *target = &run->target;

	if (missing && target->program.is_script)
		kp_say("%s: its interpreter %s was not found", run->command,
		       target->program.interpreter);
	else if (missing && target->program.is_elf)
		kp_say("%s: its dynamic loader was not found on this machine", run->command);
	else
		kp_say("%s: %s", run->command, strerror(error));
	return missing ? KP_EXIT_NOT_FOUND : KP_EXIT_NOT_EXECUTABLE;
}

/* Everything that can fail before CMD starts; 0, or the exit status after saying why. */
static int prepare(struct run *run)
{
	const struct kp_settings *settings = run->settings;
	const char *named = getenv("KPROF_INJECT_LIB");

	if (settings->report) {
		run->report_format = kp_format_of_path(settings->report);
		if (run->report_format < 0)
			return kp_fail(
				"--report %s: its extension names no format; it is one of %s",
				settings->report, kp_format_extensions());
		if (settings->output && strcmp(settings->output, settings->report) == 0)
			return kp_fail("-o and --report both name %s", settings->report);
		if (!kp_output_check(settings->report))
			return KP_EXIT_FAILURE;
	}
	if (!kp_window_options_check(settings) || !kp_rules_check(settings))
		return KP_EXIT_FAILURE;
	kp_target_inspect(run->command, getenv("PATH"), &run->target);
	bool missing = run->target.state == KP_TARGET_NOT_FOUND;
	if (run->target.state != KP_TARGET_FOUND) {
		kp_say("%s: %s", run->command, kp_target_explain(&run->target));
		return missing ? KP_EXIT_NOT_FOUND : KP_EXIT_NOT_EXECUTABLE;
	}
	if (kp_library_find(run->library))
		return kp_counter_options_check(settings, run->library) ? 0 : KP_EXIT_FAILURE;
	if (named && *named)
		return kp_fail("cannot read %s, which KPROF_INJECT_LIB names", named);
	return kp_fail(
		"libkprof_inject.so was not found: this kprof was built without the CUDA Toolkit; "
		"build it with CUDA_HOME set (see README), or set KPROF_INJECT_LIB");
}

static uint64_t trace_bytes(const struct kp_recording *recording)
{
	struct stat facts;

	return fstat(recording->fd, &facts) == 0 ? (uint64_t)facts.st_size : 0;
}

/* What the user would call the trace. */
static const char *trace_name(const struct run *run)
{
	const char *slash = strrchr(run->recording.trace, '/');

	if (run->settings->output)
		return run->settings->output;
	return slash ? slash + 1 : run->recording.trace;
}

/* Nothing was recorded: one line says why, unless one was said when CMD started. */
static void say_nothing_recorded(const struct run *run)
{
	const char *who = run->target.program.is_script ? " nor any program that it started" : "";

	size_t followers = kp_followers_count(run->recording.live_path);

	if (followers > 0)
		kp_say("%s did not use the GPU, but %zu process%s that it started still run%s: if "
		       "one uses the GPU, its trace goes to %s",
		       run->command, followers, followers == 1 ? "" : "es",
		       followers == 1 ? "s" : "", trace_name(run));
	else if (run->aftermath.processes > 0)
		kp_say("%s used the GPU, but nothing was recorded; no trace was written",
		       run->command);
	else if (kp_target_explain(&run->target))
		return;
	else if (!kp_library_has_driver())
		kp_say("%s never used the GPU: this machine has no NVIDIA driver (libcuda.so.1 was "
		       "not found); no trace was written",
		       run->command);
	else
		kp_say("%s%s%s used the GPU: no CUDA initialisation was seen; no trace was written",
		       *who ? "neither " : "", run->command, *who ? who : " never");
	if (run->aftermath.processes == 0)
		kp_untraced_say(run->recording.live);
}

/* Beside what was recorded: CMD and its children, where kprof could not see into them. */
static void append_untraced(const struct run *run, pid_t pid)
{
	const struct kp_program *program = &run->target.program;

	if (kp_program_reason(program->kind))
		kp_live_list(run->recording.live, program->kind, run->target.path, (uint32_t)pid,
			     (uint32_t)getpid());
	if (kp_untraced_append(run->recording.live, run->recording.fd) != KP_OK)
		kp_say("warning: programs that could not be traced are not listed in the trace");
}

/* What the header of the report does not say. */
static void say_aftermath(const struct run *run)
{
	const struct kp_aftermath *aftermath = &run->aftermath;

	if (aftermath->slotless > 0)
		kp_say("warning: %" PRIu64
		       " processes found no place in the shared counts: if they are "
		       "killed, how much was lost is unknown",
		       aftermath->slotless);
	if (aftermath->running > 0)
		kp_say("warning: %zu process%s; what is recorded from now on is appended to %s",
		       aftermath->running, aftermath->running == 1 ? " still runs" : "es still run",
		       trace_name(run));
	if (aftermath->killed > 0 && !run->ranks)
		kp_say("warning: %zu process%s killed; kprof info %s says what is missing",
		       aftermath->killed, aftermath->killed == 1 ? " was" : "es were",
		       trace_name(run));
}

/* The ranking on stderr, and the file of --report; false if either failed. */
static bool rank(const struct run *run)
{
	const struct kp_settings *settings = run->settings;
	enum kp_format format =
		settings->report ? (enum kp_format)run->report_format : KP_FORMAT_TEXT;
	const char *path = run->recording.trace;
	struct kp_reader *reader = kp_open_traces(&path, 1);
	bool done = true;

	if (!reader)
		return false;
	struct kp_report *report = kp_ranking_build(reader, settings, format);
	if (report && !settings->quiet) {
		struct kp_view view = kp_view_of(settings, stderr);
		fputc('\n', stderr);
		done = kp_print_text(stderr, report, &view) == KP_OK;
		fputc('\n', stderr);
		fflush(stderr); /* kp_say goes past the buffer */
	}
	if (report && settings->report)
		done &= kp_ranking_write(report, settings, format, settings->report);
	done &= report != NULL;
	if (report)
		kp_report_destroy(report);
	kp_reader_close(reader);
	return done;
}

static bool conclude(const struct run *run)
{
	const struct kp_settings *settings = run->settings;
	uint64_t bytes = trace_bytes(&run->recording);
	bool done = true;

	if (bytes == 0) {
		say_nothing_recorded(run);
		return true;
	}
	if (run->ranks && (!settings->quiet || settings->report))
		done = rank(run);
	say_aftermath(run);
	if (!settings->quiet)
		kp_say("the trace is in %s (%s)", trace_name(run), kp_human_bytes(bytes, 3).text);
	return done;
}

/* CMD, between the recording's opening and its closing; returns kprof's exit status. */
static int launch(struct run *run)
{
	const struct kp_environment environment = {
		.library = run->library,
		.trace = run->recording.trace,
		.live = run->recording.live_path,
		.preload = kp_program_takes_preload(run->target.program.kind),
		.redact = run->settings->redact == KP_SWITCH_ON,
		.clocks = run->settings->clocks == KP_SWITCH_ON,
	};
	const char *explanation = kp_target_explain(&run->target);
	struct kp_launched launched;

	kp_environment_warn(&environment);
	if (explanation)
		kp_say("%s %s", run->command, explanation);
	if (!kp_window_options_export(run->settings) || !kp_counter_options_export(run->settings))
		return kp_fail("out of memory");
	enum kp_status status =
		kp_launch_run(run->settings->operands, &run->target, &environment, &launched);
	if (status != KP_OK)
		return kp_fail("cannot start %s: %s", run->command, strerror(errno));
	if (launched.exec_error)
		return refuse(run, launched.exec_error);
	kp_aftermath_settle(&run->recording, &run->aftermath);
	if (trace_bytes(&run->recording) > 0)
		append_untraced(run, launched.pid);
	bool done = conclude(run);
	return launched.exit_status || done ? launched.exit_status : KP_EXIT_FAILURE;
}

static int record(const struct kp_settings *settings, bool ranks)
{
	struct run *run = calloc(1, sizeof *run);

	if (!run)
		return kp_fail("out of memory");
	run->settings = settings;
	run->ranks = ranks;
	run->command = settings->operands[0];
	int status = prepare(run);
	if (status == 0 && !kp_recording_open(&run->recording, settings->output, run->command))
		status = KP_EXIT_FAILURE;
	else if (status == 0) {
		/* The ranking is many small writes, and its last line must not come before them. */
		setvbuf(stderr, NULL, _IOFBF, BUFSIZ);
		status = launch(run);
		kp_recording_close(&run->recording, trace_bytes(&run->recording) > 0);
	}
	free(run);
	return status;
}

int kp_cmd_run(const struct kp_settings *settings)
{
	return record(settings, true);
}

int kp_cmd_record(const struct kp_settings *settings)
{
	return record(settings, false);
}
