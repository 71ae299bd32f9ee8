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
#include "profiler/ab_run.h"
#include "profiler/arms.h"
#include "profiler/commands.h"
#include "profiler/output.h"
#include "profiler/print_ab.h"
#include "profiler/say.h"
#include "profiler/self_test.h"
#include "profiler/suggest.h"

#define NOT_RECORDED_S 1e9

enum { KP_EXIT_NOT_REPLACED = 122, KP_EXIT_WRONG = 123 };

/* One run, and what belongs to kprof ab alone. */
struct ab {
	const struct kp_settings *settings;
	struct kp_ab_run run;
	struct kp_arms arms;
	enum kp_arms_verdict output;
	char trace[PATH_MAX + 16]; /* empty: there is none so far */
};

/* ---- the run ---- */

static int list_rules(const struct kp_ab_rules *rules)
{
	struct kp_output output;

	if (!kp_output_open(&output, NULL))
		return KP_EXIT_FAILURE;
	for (size_t i = 0; i < kp_ab_rules_count(rules); i++) {
		struct kp_ab_rule_words words = kp_ab_rules_words(rules, i);

		fprintf(output.file, "%s\n  %s\n  replaces %s%s\n", words.name,
			words.about ? words.about : "",
			words.recognised ? "recognised launches: " : "", words.matches);
		if (words.module)
			fprintf(output.file, "  of the module %016" PRIx64 "\n", words.module);
		fprintf(output.file, "  by %s\n", words.by);
		if (words.off)
			fprintf(output.file,
				"  off: such sequences were never replaced on a GPU; --rule %s or "
				"--unseen switches it on\n",
				words.name);
	}
	return kp_output_close(&output) ? 0 : KP_EXIT_FAILURE;
}

static void clean_up(struct ab *ab)
{
	kp_arms_end(&ab->arms);
	if (ab->trace[0])
		unlink(ab->trace);
	kp_ab_run_end(&ab->run);
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
		kp_ab_print_text(kp_output_text(&output), view);
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
	struct kp_ab_report view = {.rules = ab->run.rules,
				    .mode = (enum kp_ab_mode)ab->settings->ab_mode,
				    .unit = ab->settings->ab_unit,
				    .phase = kp_ab_run_phase(ab->settings),
				    .output = ab->output};
	struct kp_ab_results *results;
	uint64_t processes;
	enum kp_status status;
	int verdict;

	if (!kp_ab_counts_collect(ab->run.plan, (uint32_t)kp_ab_rules_count(ab->run.rules),
				  ab->run.raw, &processes))
		return KP_EXIT_FAILURE;
	status = kp_ab_results_read(ab->run.raw, &results);
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

	if (!kp_ab_run_prepare(&ab->run))
		return KP_EXIT_FAILURE;
	snprintf(ab->trace, sizeof ab->trace, "%s/trace", ab->run.folder);
	if (check && !kp_arms_begin(&ab->arms, ab->run.folder, settings.operands))
		return KP_EXIT_FAILURE;
	settings.calls = KP_SWITCH_ON;
	settings.delay_s = NOT_RECORDED_S;
	settings.quiet = true;
	settings.output = settings.output ? settings.output : ab->trace;
	if (!kp_ab_run_export(&ab->run) || (check && !kp_arms_redirect(&ab->arms)))
		return KP_EXIT_FAILURE;
	status = kp_cmd_record(&settings);
	kp_trier_stop(&ab->run.trier, ab->run.plan);
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

	if (!ab)
		return kp_fail("out of memory");
	ab->settings = settings;
	ab->arms.standard = -1;
	if (kp_ab_run_read(&ab->run, settings)) {
		if (settings->ab_list)
			status = list_rules(ab->run.rules);
		else
			status = run(ab);
	}
	clean_up(ab);
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
	if (settings->ab_self_test && settings->ab_rounds == 0)
		return kp_fail("--rounds: a self-test has one round at least");
	if (settings->ab_self_test)
		status = kp_self_test(settings);
	if (status || (settings->ab_self_test && settings->operand_count == 0))
		return status;
	return run_rules(settings);
}
