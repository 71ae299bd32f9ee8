/*
 * kprof ab: compile the rules, run CMD with them, and report what came of it.
 *
 * CMD runs as under «kprof record», but nothing is recorded of kernels: times are taken without
 * CUPTI. Its failure is passed through, with a report of what was done before that; whether
 * anything was wrong or nothing replaced shows in the status where it succeeded.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/ab_counts.h"
#include "profiler/arms.h"
#include "profiler/commands.h"
#include "profiler/library.h"
#include "profiler/output.h"
#include "profiler/print_ab.h"
#include "profiler/rules.h"
#include "profiler/say.h"
#include "profiler/self_test.h"
#include "profiler/suggest.h"
#include "profiler/trier.h"

#define CANDIDATES "libkprof_candidates.so"
#define NOT_RECORDED_S 1e9
#define PHASE_LAUNCHES 2000
#define PHASE_RANGES 20

enum { KP_EXIT_NOT_REPLACED = 122, KP_EXIT_WRONG = 123 };

/* One run: its rules, and a folder for its files. */
struct ab {
	const struct kp_settings *settings;
	struct kp_ab_rules *rules;
	char folder[PATH_MAX];
	struct kp_arms arms;
	enum kp_arms_verdict output;
	struct kp_trier trier;
	char plan[PATH_MAX + 16], raw[PATH_MAX + 16], trace[PATH_MAX + 16];
};

/* ---- rules ---- */

/* The folder that holds a file, absolute: programs change theirs. */
static bool find_folder(const char *path, char out[PATH_MAX])
{
	char *slash;

	if (!realpath(path, out))
		return false;
	slash = strrchr(out, '/');
	*slash = '\0';
	return true;
}

static bool add_file(struct kp_ab_rules *rules, const char *path)
{
	struct kp_rules_error error = {0};
	char folder[PATH_MAX];
	size_t length = 0;
	char *text = kp_rules_read("rules", path, &length);
	enum kp_status status;

	if (!text)
		return false;
	status = find_folder(path, folder) ? kp_ab_rules_add(rules, text, length, folder, &error)
					   : KP_IO;
	free(text);
	if (status == KP_INVALID)
		kp_fail("--rules %s:%zu: %s", path, error.line, error.text);
	else if (status != KP_OK)
		kp_fail("--rules %s: %s", path, kp_status_message(status));
	return status == KP_OK;
}

static bool read_rules(const struct kp_settings *settings, struct kp_ab_rules *rules)
{
	const char *missing = NULL;
	bool done = true;

	for (size_t i = 0; done && i < settings->ab_files.count; i++)
		done = add_file(rules, settings->ab_files.items[i]);
	if (settings->ab_files.count == 0 && kp_ab_rules_add_builtin(rules) != KP_OK) {
		kp_fail("out of memory");
		return false;
	}
	if (done && settings->ab_rules.count &&
	    !kp_ab_rules_keep(rules, settings->ab_rules.items, settings->ab_rules.count,
			      &missing)) {
		kp_fail("--rule %s: there is no such rule; see kprof ab --list", missing);
		return false;
	}
	return done;
}

static int list_rules(const struct kp_ab_rules *rules)
{
	struct kp_output output;

	if (!kp_output_open(&output, NULL))
		return KP_EXIT_FAILURE;
	for (size_t i = 0; i < kp_ab_rules_count(rules); i++) {
		struct kp_ab_rule_words words = kp_ab_rules_words(rules, i);

		fprintf(output.file, "%s\n  %s\n  replaces %s\n", words.name,
			words.about ? words.about : "", words.matches);
		if (words.module)
			fprintf(output.file, "  of the module %016" PRIx64 "\n", words.module);
		fprintf(output.file, "  by %s\n", words.by);
	}
	return kp_output_close(&output) ? 0 : KP_EXIT_FAILURE;
}

/* ---- the run ---- */

static bool find_candidates(char out[PATH_MAX])
{
	const char *named = getenv("KPROF_CANDIDATES_LIB");
	char *slash;

	if (named && *named) {
		if (realpath(named, out))
			return true;
		kp_fail("cannot read %s, which KPROF_CANDIDATES_LIB names", named);
		return false;
	}
	if (!kp_library_find(out)) {
		kp_fail("libkprof_inject.so was not found");
		return false;
	}
	slash = strrchr(out, '/') + 1;
	if ((size_t)(slash - out) + sizeof CANDIDATES <= PATH_MAX) {
		strcpy(slash, CANDIDATES);
		if (access(out, R_OK) == 0)
			return true;
	}
	kp_fail("%s was not found beside libkprof_inject.so", CANDIDATES);
	return false;
}

/* Writes the whole of a new file. */
static bool write_file(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "wbxe");
	bool done = file && fwrite(bytes, 1, length, file) == length;

	if (file)
		done &= fclose(file) == 0;
	if (!done)
		kp_fail("cannot write %s: %s", path, strerror(errno));
	return done;
}

/* Launches of a phase, or ranges. */
static uint32_t phase_of(const struct kp_settings *settings)
{
	if (settings->ab_phase != UINT64_MAX)
		return (uint32_t)settings->ab_phase;
	return settings->ab_unit ? PHASE_RANGES : PHASE_LAUNCHES;
}

/* Whether anything is the user's, and to be tried. */
static bool needs_trials(const struct ab *ab)
{
	bool builtin = true;

	for (size_t i = 0; i < kp_ab_rules_count(ab->rules); i++)
		builtin &= kp_ab_rules_words(ab->rules, i).builtin;
	return !builtin && !ab->settings->ab_no_try;
}

static bool write_plan(const struct ab *ab)
{
	char candidates[PATH_MAX];
	const struct kp_ab_plan_settings settings = {
		.mode = (enum kp_ab_mode)ab->settings->ab_mode,
		.again = ab->settings->ab_again ? (uint32_t)ab->settings->ab_again : 1,
		.phase = phase_of(ab->settings),
		.unit = ab->settings->ab_unit,
		.seed = (uint32_t)getpid(),
		.trials = needs_trials(ab),
		.candidates = candidates,
		.results = ab->raw,
	};
	enum kp_status status;
	void *plan = NULL;
	size_t length = 0;
	bool done;

	if (!find_candidates(candidates))
		return false;
	status = kp_ab_rules_plan(ab->rules, &settings, &plan, &length);
	if (status != KP_OK)
		kp_fail("the rules: %s", kp_status_message(status));
	done = status == KP_OK && write_file(ab->plan, plan, length);
	free(plan);
	return done;
}

/* A folder of this run alone, and its files' names; the results' file, empty. */
static bool prepare(struct ab *ab)
{
	const char *temporary = getenv("TMPDIR"), *raw = ab->settings->ab_raw;
	int length = snprintf(ab->folder, sizeof ab->folder, "%s/kprof-ab-XXXXXX",
			      temporary && *temporary ? temporary : "/tmp");

	if (length >= (int)sizeof ab->folder || !mkdtemp(ab->folder)) {
		kp_fail("cannot make a folder in %s: %s", temporary ? temporary : "/tmp",
			strerror(errno));
		ab->folder[0] = '\0';
		return false;
	}
	snprintf(ab->plan, sizeof ab->plan, "%s/plan", ab->folder);
	snprintf(ab->raw, sizeof ab->raw, "%s/results", ab->folder);
	snprintf(ab->trace, sizeof ab->trace, "%s/trace", ab->folder);
	if (raw) {
		FILE *file = fopen(raw, "wbe");

		if (!file || fclose(file) != 0 || !realpath(raw, ab->raw)) {
			kp_fail("cannot write %s: %s", raw, strerror(errno));
			return false;
		}
	} else if (!write_file(ab->raw, "", 0)) {
		return false;
	}
	return write_plan(ab) && kp_ab_counts_make(ab->plan);
}

static void clean_up(struct ab *ab)
{
	if (!ab->folder[0])
		return;
	kp_arms_end(&ab->arms);
	kp_trier_stop(&ab->trier, ab->plan);
	kp_ab_counts_remove(ab->plan);
	unlink(ab->plan);
	unlink(ab->trace);
	if (!ab->settings->ab_raw)
		unlink(ab->raw);
	rmdir(ab->folder);
}

/* ---- the report ---- */

static bool write_report(const struct kp_ab_report *view, const char *path)
{
	int format = kp_format_of_path(path);
	enum kp_status status = KP_OK;
	struct kp_output output;

	if (!kp_output_open(&output, path))
		return false;
	if (format == KP_FORMAT_TEXT)
		kp_ab_print_text(output.file, view);
	else
		status = kp_ab_print_document(output.file, view, (enum kp_format)format);
	return kp_output_close(&output) && status == KP_OK;
}

/* 0, or the status that says what is the matter. */
static int conclude(const struct kp_ab_report *view)
{
	uint64_t done = 0, wrong = 0;
	bool harmful = false;

	for (size_t i = 0; i < kp_ab_rules_count(view->rules); i++) {
		const struct kp_ab_rule_result *result = &view->results->rules[i];

		done += view->mode == KP_AB_SHADOW ? result->shadows : kp_ab_replaced(result);
		wrong += result->wrong;
		harmful |= kp_trial_fault_is_wrong(result->trial_fault);
	}
	if (harmful)
		kp_say("a replacement did harm where it was tried: the program never had it");
	if (view->output == KP_ARMS_DIFFERENT)
		kp_say("the program's output is not that of its own kernels");
	if (wrong)
		kp_say("results were wrong: the rule was taken back, and the program went on with "
		       "its own kernels");
	else if (done == 0)
		kp_say("nothing was %s: no verdict",
		       view->mode == KP_AB_SHADOW ? "compared" : "replaced");
	if (wrong || harmful || view->output == KP_ARMS_DIFFERENT)
		return KP_EXIT_WRONG;
	return done == 0 ? KP_EXIT_NOT_REPLACED : 0;
}

static int report_judged(const struct ab *ab, struct kp_ab_report *view)
{
	struct kp_ab_judged *judged = malloc(sizeof *judged);
	enum kp_status status =
		judged ? kp_ab_judge_results(view->results, view->phase, judged) : KP_NO_MEMORY;
	bool done = true;

	view->judged = judged;
	if (status == KP_OK) {
		kp_ab_print_text(stderr, view);
		fflush(stderr);
		if (ab->settings->ab_out)
			done = write_report(view, ab->settings->ab_out);
	}
	free(judged);
	if (status != KP_OK)
		return kp_fail("the results of the run: %s", kp_status_message(status));
	return done ? conclude(view) : KP_EXIT_FAILURE;
}

/* `failed`: CMD; then there may be nothing to report. */
static int report(const struct ab *ab, bool failed)
{
	struct kp_ab_report view = {.rules = ab->rules,
				    .mode = (enum kp_ab_mode)ab->settings->ab_mode,
				    .unit = ab->settings->ab_unit,
				    .phase = phase_of(ab->settings),
				    .output = ab->output};
	struct kp_ab_results *results;
	uint64_t processes;
	enum kp_status status;
	int verdict;

	if (!kp_ab_counts_collect(ab->plan, (uint32_t)kp_ab_rules_count(ab->rules), ab->raw,
				  &processes))
		return KP_EXIT_FAILURE;
	status = kp_ab_results_read(ab->raw, &results);
	if (status != KP_OK)
		return kp_fail("the results of the run: %s", kp_status_message(status));
	if (results->processes < processes)
		results->processes = processes; /* those that were killed before they wrote */
	view.results = results;
	verdict = failed && results->processes == 0 ? 0 : report_judged(ab, &view);
	kp_ab_results_destroy(results);
	return verdict;
}

static int run(struct ab *ab)
{
	struct kp_settings settings = *ab->settings;
	const char *check = settings.ab_check;
	int status;

	if (!prepare(ab) || (check && !kp_arms_begin(&ab->arms, ab->folder, settings.operands)))
		return KP_EXIT_FAILURE;
	settings.calls = KP_SWITCH_ON;
	settings.delay_s = NOT_RECORDED_S;
	settings.quiet = true;
	settings.output = settings.output ? settings.output : ab->trace;
	if (setenv("KPROF_AB", ab->plan, 1) != 0)
		return kp_fail("out of memory");
	if (needs_trials(ab) &&
	    !kp_trier_start(&ab->trier, ab->plan, ab->raw, settings.ab_try_limit_s))
		return KP_EXIT_FAILURE;
	if (check && !kp_arms_redirect(&ab->arms))
		return KP_EXIT_FAILURE;
	status = kp_cmd_record(&settings);
	kp_trier_stop(&ab->trier, ab->plan);
	if (check && !kp_arms_release(&ab->arms))
		return KP_EXIT_FAILURE;
	if (check && status == 0 && !kp_arms_compare(&ab->arms, check, &ab->output))
		return KP_EXIT_FAILURE;
	if (status == 0)
		return report(ab, false);
	/* What was counted before CMD failed, or was killed, is told all the same. */
	if (status < KP_EXIT_FAILURE || status > KP_EXIT_NOT_FOUND)
		report(ab, true);
	return status;
}

static int run_rules(const struct kp_settings *settings)
{
	struct ab *ab = calloc(1, sizeof *ab);
	int status = KP_EXIT_FAILURE;

	if (!ab || kp_ab_rules_create(&ab->rules) != KP_OK) {
		free(ab);
		return kp_fail("out of memory");
	}
	ab->settings = settings;
	ab->arms.standard = -1;
	if (read_rules(settings, ab->rules)) {
		if (settings->ab_list)
			status = list_rules(ab->rules);
		else
			status = run(ab);
	}
	clean_up(ab);
	kp_ab_rules_destroy(ab->rules);
	free(ab);
	return status;
}

static bool check_report(const char *path)
{
	if (kp_format_of_path(path) >= 0 && kp_format_of_path(path) <= KP_FORMAT_JSON)
		return kp_output_check(path);
	kp_fail("--out %s: a report of A/B is .txt, .yaml or .json", path);
	return false;
}

int kp_cmd_ab(const struct kp_settings *settings)
{
	int status = 0;

	if (settings->ab_out && !check_report(settings->ab_out))
		return KP_EXIT_FAILURE;
	if (settings->ab_unit && settings->ab_phase == 0)
		return kp_fail("--unit-range says what a phase consists of: not with --phase 0");
	if (settings->ab_try && settings->ab_no_try)
		return kp_fail("--try and --no-try exclude each other");
	if (settings->ab_suggest)
		return kp_suggest(settings);
	if (settings->operand_count == 0 && !settings->ab_list && !settings->ab_self_test)
		return kp_fail("a command is missing: kprof ab -- CMD");
	if (settings->ab_self_test)
		status = kp_self_test(settings);
	if (status || (settings->ab_self_test && settings->operand_count == 0))
		return status;
	return run_rules(settings);
}
