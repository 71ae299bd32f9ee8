/* kprof top: watches a running program on the terminal, or prints its screens. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analyzers/operators.h"
#include "profiler/commands.h"
#include "profiler/control_client.h"
#include "profiler/rules.h"
#include "profiler/say.h"
#include "profiler/top_program.h"
#include "profiler/top_watch.h"
#include "profiler/tui_screen.h"
#include "tui/tui.h"

#define PATIENCE_S 10

/* What is watched: a program that kprof runs, a process, or a file. */
struct top {
	const struct kp_settings *settings;
	struct kp_top_watch watch;
	struct kp_top_program program; /* with runs */
	bool runs;
	long pid; /* 0: none */
	char words[64];
};

/* The script that prints screens; NULL: the terminal is wanted. */
static const char *script_of(const struct kp_settings *settings)
{
	if (!settings->tui.keys && settings->live.frames != KP_TOP_NO_FRAMES)
		return "";
	return settings->tui.keys;
}

/* ---- what the screen asks for ---- */

/* Whether all has ended; then the last figures are there. */
static bool is_over(struct top *top)
{
	struct kp_top_watch *watch = &top->watch;
	bool any = watch->count == 0; /* it has not been looked at */

	if (top->runs && !top->program.begun && !kp_top_program_begin(&top->program, watch->path))
		watch->view.closing = true;
	if (top->runs)
		return kp_top_program_has_ended(&top->program);
	for (size_t i = 0; i < watch->count; i++)
		any |= !watch->processes[i].image || watch->processes[i].alive;
	return !any;
}

static const char *state_of(struct top *top)
{
	const struct kp_launching *launch = &top->program.launch;

	if (!top->watch.room)
		return "saved";
	if (!top->watch.over)
		return "running";
	if (!top->runs)
		return "ended";
	snprintf(top->words, sizeof top->words, "ended with %d", launch->launched.exit_status);
	return top->words;
}

static const struct kp_top_view *refresh(void *context)
{
	struct top *top = context;
	struct kp_top_watch *watch = &top->watch;

	if (watch->room && !watch->over)
		watch->over = is_over(top);
	watch->view.closing |= top->runs && watch->over && top->program.launch.passed_on;
	if (!kp_top_watch_refresh(watch) && !watch->view.closing)
		return NULL;
	watch->view.subject = top->settings->operands[0];
	watch->view.state = state_of(top);
	return &watch->view;
}

static void wait_a_moment(void *context, unsigned most_ms)
{
	const struct timespec pause = {.tv_nsec = (long)most_ms * 1000000};

	(void)context;
	nanosleep(&pause, NULL);
}

static void record(void *context, bool on, char *words, size_t size)
{
	struct top *top = context;

	top->program.recorded |= kp_top_watch_record(&top->watch, on, words, size);
}

static void switch_rule(void *context, const char *rule, bool on, char *words, size_t size)
{
	struct top *top = context;

	kp_top_watch_switch(&top->watch, rule, on, words, size);
}

static enum kp_status save(void *context, FILE *file)
{
	const struct top *top = context;

	return kp_top_watch_save(&top->watch, file);
}

/* ---- the screen ---- */

static int watch_on_screen(struct top *top, struct kp_tui_settings *screen)
{
	char complaint[KP_TUI_COMPLAINT_BYTES] = "";
	struct kp_operators *operators;
	struct kp_top_source live = {
		.context = top,
		.refresh = refresh,
		.wait = wait_a_moment,
		.record = top->watch.room ? record : NULL,
		.switch_rule = top->watch.room ? switch_rule : NULL,
		.save = save,
		.unit_range = top->settings->live.unit_range,
		.units = top->settings->live.units,
	};
	const struct kp_tui_source source = {.live = &live};

	if (!kp_rules_open(top->settings, &operators))
		return KP_EXIT_FAILURE;
	if (!operators && kp_operators_builtin(&operators) != KP_OK)
		return kp_fail("out of memory");
	live.operators = operators;
	screen->framed = top->settings->live.frames != KP_TOP_NO_FRAMES;
	screen->frames = (size_t)top->settings->live.frames;
	enum kp_status status = kp_tui_screen_show(&source, screen, script_of(top->settings),
						   "--frames prints screens", complaint);
	kp_top_watch_close(&top->watch);
	kp_operators_destroy(operators);
	if (complaint[0])
		kp_fail("%s", complaint);
	return status == KP_OK ? 0 : KP_EXIT_FAILURE;
}

/* ---- what is watched ---- */

static int watch_process(struct top *top, struct kp_tui_settings *screen)
{
	static struct kp_control_answer answer;
	char complaint[KP_CONTROL_COMPLAINT_BYTES];

	if (!kp_top_watch_open(&top->watch))
		return kp_fail("no memory to share: %s", strerror(errno));
	if (!kp_control_ask(top->pid, KP_CONTROL_WATCH, top->watch.fd, PATIENCE_S, &answer,
			    complaint))
		return kp_fail("%s", complaint);
	return watch_on_screen(top, screen);
}

static int watch_program(struct top *top, struct kp_tui_settings *screen)
{
	int status, ended;

	if (!kp_top_watch_open(&top->watch))
		return kp_fail("no memory to share: %s", strerror(errno));
	status = kp_top_program_prepare(&top->program, top->settings,
					script_of(top->settings) != NULL);
	if (status)
		return status;
	top->runs = true;
	status = watch_on_screen(top, screen);
	ended = kp_top_program_finish(&top->program);
	return ended ? ended : status;
}

/* Whether a word names a file that was saved: then *status is what came of loading it. */
static bool load(struct top *top, enum kp_status *status)
{
	const char *path = top->settings->operands[0];
	struct stat about;

	if (top->settings->operand_count != 1 || stat(path, &about) != 0 ||
	    !S_ISREG(about.st_mode) || about.st_mode & 0111)
		return false;
	*status = kp_top_watch_load(&top->watch, path);
	return *status != KP_INVALID;
}

static int show_file(struct top *top, struct kp_tui_settings *screen, enum kp_status loaded)
{
	const char *path = top->settings->operands[0];

	if (loaded == KP_IO)
		return kp_fail("cannot read %s: %s", path, strerror(errno));
	if (loaded == KP_CORRUPT)
		return kp_fail("%s is damaged", path);
	return loaded == KP_OK ? watch_on_screen(top, screen) : kp_fail("out of memory");
}

int kp_cmd_top(const struct kp_settings *settings)
{
	static struct top top;
	struct kp_tui_settings screen;
	enum kp_status loaded;
	int status;

	top = (struct top){.settings = settings, .watch = {.fd = -1}};
	if (!kp_tui_screen_settings(settings, &screen))
		return KP_EXIT_FAILURE;
	bool is_pid = kp_control_pid(settings->operands[0], &top.pid);
	if (is_pid && settings->operand_count > 1)
		return kp_fail("options come before the number of the process: kprof top [OPTIONS] "
			       "%ld",
			       top.pid);
	if (is_pid && kp_top_program_has_rules(settings))
		return kp_fail("rules are for a program that kprof starts: kprof top --rules FILE "
			       "-- CMD");
	if (is_pid)
		status = watch_process(&top, &screen);
	else if (load(&top, &loaded))
		status = show_file(&top, &screen, loaded);
	else
		status = watch_program(&top, &screen);
	kp_top_watch_fini(&top.watch);
	return status;
}
