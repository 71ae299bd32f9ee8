/* The files of an A/B run; see ab_run.h. */
#include "profiler/ab_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/ab_counts.h"
#include "profiler/ab_results.h"
#include "profiler/library.h"
#include "profiler/rules.h"
#include "profiler/say.h"

#define PHASE_LAUNCHES 2000
#define PHASE_RANGES 20
#define CANDIDATES "libkprof_candidates.so"

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

bool kp_ab_run_read(struct kp_ab_run *run, const struct kp_settings *settings)
{
	struct kp_ab_rules *rules = NULL;
	const char *missing = NULL;
	bool done = true;

	*run = (struct kp_ab_run){.settings = settings};
	if (kp_ab_rules_create(&run->rules) != KP_OK) {
		kp_fail("out of memory");
		return false;
	}
	rules = run->rules;

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
	if (settings->ab_unseen)
		kp_ab_rules_allow_unseen(rules);
	if (settings->ab_files.count == 0 && !settings->ab_list)
		kp_ab_rules_leave_off(rules);
	return done;
}

/* ---- files ---- */

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

uint32_t kp_ab_run_phase(const struct kp_settings *settings)
{
	if (settings->ab_phase != UINT64_MAX)
		return (uint32_t)settings->ab_phase;
	return settings->ab_unit ? PHASE_RANGES : PHASE_LAUNCHES;
}

/* Whether anything is the user's, and to be tried. */
static bool needs_trials(const struct kp_ab_run *run)
{
	bool builtin = true;

	for (size_t i = 0; i < kp_ab_rules_count(run->rules); i++)
		builtin &= kp_ab_rules_words(run->rules, i).builtin;
	return !builtin && !run->settings->ab_no_try;
}

static bool write_plan(const struct kp_ab_run *run)
{
	char candidates[PATH_MAX];
	const struct kp_ab_plan_settings settings = {
		.mode = (enum kp_ab_mode)run->settings->ab_mode,
		.again = run->settings->ab_again ? (uint32_t)run->settings->ab_again : 1,
		.phase = kp_ab_run_phase(run->settings),
		.seed = (uint32_t)getpid(),
		.trials = needs_trials(run),
		.unit = run->settings->ab_unit,
		.other_inputs = run->settings->ab_other_inputs,
		.candidates = candidates,
		.results = run->raw,
	};
	enum kp_status status;
	void *plan = NULL;
	size_t length = 0;
	bool done;

	if (!find_candidates(candidates))
		return false;
	status = kp_ab_rules_plan(run->rules, &settings, &plan, &length);
	if (status != KP_OK)
		kp_fail("the rules: %s", kp_status_message(status));
	done = status == KP_OK && write_file(run->plan, plan, length);
	free(plan);
	return done;
}

/* A folder of this run alone, and its files' names; the results' file, empty. */
bool kp_ab_run_prepare(struct kp_ab_run *run)
{
	const char *temporary = getenv("TMPDIR"), *raw = run->settings->ab_raw;
	int length = snprintf(run->folder, sizeof run->folder, "%s/kprof-ab-XXXXXX",
			      temporary && *temporary ? temporary : "/tmp");

	if (length >= (int)sizeof run->folder || !mkdtemp(run->folder)) {
		kp_fail("cannot make a folder in %s: %s", temporary ? temporary : "/tmp",
			strerror(errno));
		run->folder[0] = '\0';
		return false;
	}
	snprintf(run->plan, sizeof run->plan, "%s/plan", run->folder);
	snprintf(run->raw, sizeof run->raw, "%s/results", run->folder);
	if (raw) {
		FILE *file = fopen(raw, "wbe");

		if (!file || fclose(file) != 0 || !realpath(raw, run->raw)) {
			kp_fail("cannot write %s: %s", raw, strerror(errno));
			return false;
		}
	} else if (!write_file(run->raw, "", 0)) {
		return false;
	}
	return write_plan(run) && kp_ab_counts_make(run->plan) &&
	       (!needs_trials(run) ||
		kp_trier_start(&run->trier, run->plan, run->raw, run->settings->ab_try_limit_s));
}

bool kp_ab_run_export(const struct kp_ab_run *run)
{
	if (setenv("KPROF_AB", run->plan, 1) == 0 &&
	    (!kp_ab_rules_have_sequences(run->rules) || setenv("KPROF_AB_SEQUENCES", "1", 1) == 0))
		return true;
	kp_fail("out of memory");
	return false;
}

void kp_ab_run_tell_wrong(const struct kp_ab_run *run)
{
	uint32_t count = (uint32_t)kp_ab_rules_count(run->rules);
	struct kp_ab_results *results = NULL;
	uint64_t processes;

	if (!kp_ab_counts_collect(run->plan, count, run->raw, &processes) ||
	    kp_ab_results_read(run->raw, &results) != KP_OK)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (results->rules[i].wrong)
			kp_say("a result of the rule %s was wrong: it was taken back, and the "
			       "program went on with its own kernels",
			       kp_ab_rules_words(run->rules, i).name);
	kp_ab_results_destroy(results);
}

void kp_ab_run_end(struct kp_ab_run *run)
{
	if (run->folder[0]) {
		kp_trier_stop(&run->trier, run->plan);
		kp_ab_counts_remove(run->plan);
		unlink(run->plan);
		if (!run->settings->ab_raw)
			unlink(run->raw);
		rmdir(run->folder);
	}
	kp_ab_rules_destroy(run->rules);
	*run = (struct kp_ab_run){0};
}
