/*
 * Rounds of null controls; see self_test.h. A round is one run of kprof itself, as a user runs it:
 * «kprof ab --rules … -- kprof_controls …» with a rule for each control. What it leaves in --raw
 * is read here.
 */
#include "profiler/self_test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/ab_judged.h"
#include "profiler/library.h"
#include "profiler/output.h"
#include "profiler/print_ab.h"
#include "profiler/say.h"

#define LAUNCHES_OF_RESULTS 4  /* two comparisons, both of which must be right, and more */
#define LAUNCHES_OF_TIMES 1024 /* 64 pairs */
#define ATTEMPTS 8             /* at a control of which a run has said nothing */
#define COMPARED_LEAST 2       /* before a replacement is shown */
#define TIME_SEED 6            /* a shape for all times, in which it is the rounds that count */
#define WORD_BYTES 48
#define PPM_OF_PCT 1e4
#define SAW_A_FAULT 4     /* kp_control_work */
#define FOUND_A_FAULT 123 /* kprof ab */
#define FOUND_NOTHING 122 /* kprof ab, of a few controls of which nothing was compared */

extern char **environ;

/* A rule of a round, and the launches that it is for. */
struct control {
	enum kp_control control;
	uint32_t seed;
	double delay_pct;
	int delay; /* enum kp_self_delay_id; -1: of no delay */
	char word[WORD_BYTES];
};

struct self_test {
	const struct kp_settings *settings;
	struct kp_self_test test;
	char own[PATH_MAX], program[PATH_MAX], library[PATH_MAX];
	char folder[PATH_MAX];
	char rules[PATH_MAX + 16], raw[PATH_MAX + 16], log[PATH_MAX + 16];
	struct control controls[KP_AB_RULES_MOST];
	size_t count;
};

/* ---- the controls of a round ---- */

static void add(struct self_test *self, enum kp_control control, uint32_t seed, int delay,
		double delay_pct)
{
	struct control *row = &self->controls[self->count++];

	*row = (struct control){control, seed, delay_pct, delay, ""};
	snprintf(row->word, sizeof row->word, "%s:%u:%d", kp_self_control_key(control), seed,
		 control == KP_CONTROL_TIMED ? LAUNCHES_OF_TIMES : LAUNCHES_OF_RESULTS);
}

static void choose(struct self_test *self, uint32_t round)
{
	double known_pct = self->test.detectable_pct;

	self->count = 0;
	for (uint32_t seed = 0; seed < KP_SELF_TEST_SEEDS; seed++)
		for (int i = 0; i < KP_CONTROL_TIMED; i++)
			add(self, (enum kp_control)i, round * KP_SELF_TEST_SEEDS + seed, -1, 0);
	for (uint32_t i = 0; self->test.timed && i < KP_SELF_TEST_SAME; i++)
		add(self, KP_CONTROL_TIMED, TIME_SEED, -1, 0);
	for (int i = 0; self->test.timed && i < KP_SELF_DELAY_COUNT; i++) {
		double pct = kp_self_delay_pct((enum kp_self_delay_id)i);

		if (pct > 0 || !isnan(known_pct))
			add(self, KP_CONTROL_TIMED, TIME_SEED, i, pct > 0 ? pct : 2 * known_pct);
	}
}

/* As YAML has a text that may hold anything: quotes twice. */
static void write_quoted(FILE *file, const char *text)
{
	fputc('\'', file);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (const char[]){*text, '\0'}, file);
	fputc('\'', file);
}

#define AT(member) (unsigned)offsetof(struct kp_control_args, member)

static void write_data(FILE *file, const char *name, unsigned at, const char *rows,
		       const char *columns)
{
	fprintf(file,
		"  - {name: %s, address: 'ptr(0, %u)', dtype: dtype, rows: %s, columns: %s}\n",
		name, at, rows, columns);
}

static void write_rule(FILE *file, const struct self_test *self, unsigned number)
{
	const struct control *row = &self->controls[number];

	fprintf(file,
		"- name: %s-%u\n  kernel: kp_control_original\n  parameters: [%zu]\n"
		"  let:\n    rows: u32(0, %u)\n    columns: u32(0, %u)\n    depth: u32(0, %u)\n"
		"    dtype: u32(0, %u)\n    rounds: u32(0, %u) * %.0f / 1000000\n"
		"  when: u32(0, %u) == %u\n  repeatable: true\n"
		"  replace:\n    library: ",
		kp_self_control_key(row->control), number, sizeof(struct kp_control_args), AT(rows),
		AT(columns), AT(depth), AT(dtype), AT(rounds), 1e6 + row->delay_pct * PPM_OF_PCT,
		AT(number), number);
	write_quoted(file, self->library);
	fprintf(file,
		"\n    entry: kp_control_candidate\n    arguments:\n    - i32: %d\n    - i32: %u\n"
		"    - ptr: ptr(0, %u)\n    - ptr: ptr(0, %u)\n    - ptr: ptr(0, %u)\n"
		"    - i32: rows\n    - i32: columns\n    - i32: depth\n    - i32: rounds\n"
		"    - i32: dtype\n    - i32: %u\n",
		(int)row->control, number, AT(y), AT(x), AT(w), row->seed);
	fputs("  inputs:\n", file);
	write_data(file, "x", AT(x), "rows", "depth");
	write_data(file, "w", AT(w), "columns", "depth");
	fputs("  outputs:\n", file);
	write_data(file, "y", AT(y), "rows", "columns");
}

static bool write_rules(const struct self_test *self)
{
	FILE *file = fopen(self->rules, "we");
	bool good = file != NULL;

	if (file) {
		fputs("rules:\n", file);
		for (size_t i = 0; i < self->count; i++)
			write_rule(file, self, (unsigned)i);
		good = !ferror(file);
		good &= fclose(file) == 0;
	}
	if (!good)
		kp_fail("cannot write %s: %s", self->rules, strerror(errno));
	return good;
}

/* ---- a round ---- */

/* Runs kprof, whose words go to the log. Its exit status; -1: it could not be run. */
static int run_kprof(const struct self_test *self, const char **argv)
{
	posix_spawn_file_actions_t actions;
	int status = -1, error = posix_spawn_file_actions_init(&actions);
	pid_t child;

	if (error)
		return -1;
	error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, self->log,
						 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!error)
		error = posix_spawn(&child, self->own, &actions, NULL, (char **)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* With the first line of the log: who failed first knows why. */
static void tell_trouble(const struct self_test *self, int status)
{
	FILE *file = fopen(self->log, "re");
	char line[512] = "";

	while (file && fgets(line, sizeof line, file) && line[0] == '\n')
		;
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = '\0';
	kp_fail("a round of the self-test ended with status %d: %s", status, line);
}

static void add_delay(struct kp_self_delay *delay, double planted_pct,
		      const struct kp_ab_estimate *estimate)
{
	bool due = planted_pct >= 2 * estimate->detectable_pct;

	delay->runs++;
	delay->due += due;
	delay->seen += due && estimate->low_pct > 0;
	delay->planted_pct += planted_pct;
	delay->change_pct += estimate->change_pct;
}

static double least(double a, double b)
{
	return isnan(a) || b < a ? b : a;
}

static double most(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

/* What is detectable decides how long a delay the next round plants. */
static void add_times(struct kp_self_test *test, const struct control *row,
		      const struct kp_ab_estimate *estimate)
{
	if (!estimate->known) {
		test->unknown++;
		return;
	}
	test->shortest_us = least(test->shortest_us, estimate->median_us[0]);
	if (row->delay >= 0) {
		add_delay(&test->delays[row->delay], row->delay_pct, estimate);
		return;
	}
	test->same++;
	test->same_claims += estimate->low_pct > 0 || estimate->high_pct < 0;
	test->detectable_pct = most(test->detectable_pct, estimate->detectable_pct);
}

/*
 * Whether a run says something of a control. No launch waits for the worker of kprof ab: while the
 * machine is busy elsewhere nothing may be compared in so few of them, or timed.
 */
static bool is_decided(const struct self_test *self, const struct control *row,
		       const struct kp_ab_rule_result *result,
		       const struct kp_ab_estimate *estimate)
{
	if (row->control == KP_CONTROL_TIMED)
		return estimate->known;
	return result->wrong > 0 || (result->shadows >= COMPARED_LEAST &&
				     (self->test.hidden || kp_ab_replaced(result) > 0));
}

/* What is not decided stays among the controls; of the last attempt nothing does. */
static void add_results(struct self_test *self, const struct kp_ab_results *results,
			const struct kp_ab_judged *judged, bool is_last)
{
	size_t count = self->count;

	self->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct control *row = &self->controls[i];
		const struct kp_ab_rule_result *result = &results->rules[i];
		struct kp_self_fault *fault = &self->test.faults[row->control];

		if (!is_last && !is_decided(self, row, result, &judged->rules[i].estimate)) {
			self->controls[self->count++] = *row;
			continue;
		}
		fault->runs++;
		fault->caught += result->wrong > 0;
		fault->shown += kp_ab_replaced(result) > 0;
		if (row->control == KP_CONTROL_TIMED)
			add_times(&self->test, row, &judged->rules[i].estimate);
	}
}

static bool read_results(struct self_test *self, bool is_last)
{
	struct kp_ab_judged *judged = malloc(sizeof *judged);
	struct kp_ab_results *results = NULL;
	enum kp_status status = judged ? kp_ab_results_read(self->raw, &results) : KP_NO_MEMORY;

	if (status == KP_OK)
		status = kp_ab_judge_results(results, 0, judged);
	if (status == KP_OK)
		add_results(self, results, judged, is_last);
	else
		kp_fail("the results of a round: %s", kp_status_message(status));
	kp_ab_results_destroy(results);
	free(judged);
	return status == KP_OK;
}

static bool run_controls(struct self_test *self, bool is_last)
{
	const char *argv[KP_AB_RULES_MOST + 16] = {
		self->own,     "ab",      "--rules",  self->rules,
		"--raw",       self->raw, "--mode",   kp_ab_mode_names[self->settings->ab_mode],
		"--phase",     "0",       "--no-try", "--",
		self->program,
	};
	size_t words = 13;
	int status;

	for (size_t i = 0; i < self->count; i++)
		argv[words++] = self->controls[i].word;
	if (!write_rules(self))
		return false;
	status = run_kprof(self, argv);
	self->test.spoilt |= status == SAW_A_FAULT;
	if (status == 0 || status == FOUND_A_FAULT || status == FOUND_NOTHING ||
	    status == SAW_A_FAULT)
		return read_results(self, is_last);
	tell_trouble(self, status);
	return false;
}

static bool do_round(struct self_test *self, uint32_t round)
{
	bool good = true;

	choose(self, round);
	for (int attempt = 1; good && self->count > 0; attempt++)
		good = run_controls(self, attempt == ATTEMPTS);
	return good;
}

/* ---- all ---- */

/* The program, and its library beside it. */
static bool find_program(struct self_test *self)
{
	const char *named = getenv("KPROF_CONTROLS");
	ssize_t length = readlink("/proc/self/exe", self->own, sizeof self->own - 1);
	char *slash;

	if (length <= 0)
		return false;
	self->own[length] = '\0';
	if (named && *named ? !realpath(named, self->program)
			    : !kp_library_find_named("kprof_controls", self->program))
		return false;
	memcpy(self->library, self->program, sizeof self->library);
	slash = strrchr(self->library, '/') + 1;
	if ((size_t)(slash - self->library) + sizeof "libkprof_controls.so" > PATH_MAX)
		return false;
	strcpy(slash, "libkprof_controls.so");
	return access(self->library, R_OK) == 0;
}

static bool make_folder(struct self_test *self)
{
	const char *temporary = getenv("TMPDIR");
	int length = snprintf(self->folder, sizeof self->folder, "%s/kprof-self-test-XXXXXX",
			      temporary && *temporary ? temporary : "/tmp");

	if (length >= (int)sizeof self->folder || !mkdtemp(self->folder)) {
		self->folder[0] = '\0';
		kp_fail("cannot make a folder for files of this run: %s", strerror(errno));
		return false;
	}
	snprintf(self->rules, sizeof self->rules, "%s/rules.yaml", self->folder);
	snprintf(self->raw, sizeof self->raw, "%s/raw", self->folder);
	snprintf(self->log, sizeof self->log, "%s/log", self->folder);
	return true;
}

static void clean_up(const struct self_test *self)
{
	if (!self->folder[0])
		return;
	unlink(self->rules);
	unlink(self->raw);
	unlink(self->log);
	rmdir(self->folder);
}

static bool write_report(const struct self_test *self)
{
	const char *path = self->settings->ab_out;
	int format = kp_format_of_path(path);
	enum kp_status status = KP_OK;
	struct kp_output output;

	if (!kp_output_open(&output, path))
		return false;
	if (format == KP_FORMAT_TEXT)
		kp_self_test_print(kp_output_text(&output), &self->test);
	else
		status = kp_self_test_document(output.file, &self->test, (enum kp_format)format);
	return kp_output_close(&output) && status == KP_OK;
}

static int run(struct self_test *self)
{
	bool good = true;

	if (!find_program(self))
		return kp_fail("kprof_controls and libkprof_controls.so were not found");
	if (!make_folder(self))
		return KP_EXIT_FAILURE;
	for (uint32_t i = 0; good && i < self->test.rounds; i++)
		good = do_round(self, i);
	if (!good)
		return KP_EXIT_FAILURE;
	kp_self_test_print(stderr, &self->test);
	fflush(stderr);
	if (self->settings->ab_out && self->settings->operand_count == 0 && !write_report(self))
		return KP_EXIT_FAILURE;
	return kp_self_test_passed(&self->test) ? 0 : FOUND_A_FAULT;
}

int kp_self_test(const struct kp_settings *settings)
{
	struct self_test *self = calloc(1, sizeof *self);
	int status;

	if (!self)
		return kp_fail("out of memory");
	self->settings = settings;
	self->test.rounds = settings->ab_rounds;
	self->test.timed = settings->ab_mode == KP_AB_MEASURE;
	self->test.hidden = settings->ab_mode == KP_AB_SHADOW;
	self->test.detectable_pct = self->test.shortest_us = NAN;
	status = run(self);
	clean_up(self);
	free(self);
	return status;
}
