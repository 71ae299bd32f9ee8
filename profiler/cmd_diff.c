/* kprof diff: what changed from some runs to others, with a verdict. */
#include <stdlib.h>
#include <string.h>

#include "analyzers/diff.h"
#include "profiler/commands.h"
#include "profiler/gating.h"
#include "profiler/open.h"
#include "profiler/output.h"
#include "profiler/print_diff.h"
#include "profiler/ranking.h"
#include "profiler/rules.h"
#include "profiler/say.h"
#include "profiler/style.h"

/* All runs, and their comparisons. */
struct work {
	const struct kp_settings *settings;
	struct kp_operators *operators; /* NULL: the built-in rules */
	struct kp_gating gating;
	struct kp_run **runs; /* one an operand */
	struct kp_diff **diffs;
	size_t diff_count;
};

/* Everything of one trace that a comparison needs; NULL after saying what is wrong. */
static struct kp_run *read_run(const struct work *work, const char *path)
{
	struct kp_report_options options = kp_view_analysis(work->settings, KP_FORMAT_YAML);
	struct kp_reader *reader = kp_open_traces(&path, 1);
	struct kp_report *report = NULL;
	struct kp_run *run = NULL;
	enum kp_status status;

	if (!reader)
		return NULL;
	options.operators = work->operators;
	options.process_times = false;
	options.step_parts = true;
	status = kp_report_build(reader, &options, &report);
	if (status == KP_OK)
		status = kp_run_create(report, path, &run);
	if (status != KP_OK)
		kp_fail("cannot analyse %s: %s", path, kp_status_message(status));
	kp_report_destroy(report);
	kp_reader_close(reader);
	return run;
}

static bool read_runs(struct work *work)
{
	size_t count = work->settings->operand_count;

	work->runs = calloc(count + 1, sizeof(*work->runs));
	work->diffs = calloc(count + 1, sizeof(*work->diffs));
	if (!work->runs || !work->diffs)
		return kp_fail("out of memory") == 0;
	for (size_t i = 0; i < count; i++) {
		work->runs[i] = read_run(work, work->settings->operands[i]);
		if (!work->runs[i])
			return false;
	}
	return true;
}

static bool compare(struct work *work, size_t base_count, size_t first, size_t count)
{
	const struct kp_run *const *runs = (const struct kp_run *const *)work->runs;
	const char *named = work->settings->iterations;
	const struct kp_diff_options options = {
		.margin_pct = work->settings->margin_pct,
		.allow_not_comparable = work->settings->allow_not_comparable,
		.range = named && strcmp(named, "auto") != 0 ? named : NULL,
	};
	struct kp_diff **out = &work->diffs[work->diff_count];
	enum kp_status status = kp_diff_build(runs, base_count, runs + first, count, &options, out);

	if (status != KP_OK) {
		kp_fail("cannot compare: %s", kp_status_message(status));
		return false;
	}
	work->diff_count++;
	return kp_gating_judge_diff(&work->gating, *out);
}

/* The runs before «--» with those behind it; without it, each with the first. */
static bool compare_all(struct work *work)
{
	size_t count = work->settings->operand_count, before = work->settings->operands_before;

	if (before > 0 && before < count)
		return compare(work, before, before, count - before);
	for (size_t i = 1; i < count; i++)
		if (!compare(work, 1, i, 1))
			return false;
	return true;
}

static enum kp_status print_all(const struct work *work, FILE *file, const struct kp_view *view)
{
	enum kp_status status = work->diffs ? KP_OK : KP_NO_MEMORY;

	for (size_t i = 0; status == KP_OK && i < work->diff_count; i++) {
		if (i > 0)
			fputc('\n', file);
		status = kp_print_diff(file, work->diffs[i], view);
	}
	return status;
}

static bool write_all(const struct work *work, enum kp_format format)
{
	const struct kp_settings *settings = work->settings;
	struct kp_output output;
	enum kp_status status = KP_OK;

	if (!kp_output_open(&output, settings->output))
		return false;
	struct kp_view view = kp_view_of(settings, output.file);
	if (format != KP_FORMAT_TEXT)
		status = kp_document_diff(output.file, (const struct kp_diff *const *)work->diffs,
					  work->diff_count, format);
	else
		status = print_all(work, kp_output_text(&output), &view);
	bool written = kp_output_close(&output);
	if (status != KP_OK)
		kp_fail("cannot write the comparison: %s", kp_status_message(status));
	return written && status == KP_OK;
}

static int conclude(const struct work *work)
{
	struct kp_gate_suite *suites = calloc(work->diff_count + 1, sizeof(*suites));
	int status;

	if (!suites)
		return kp_fail("out of memory");
	for (size_t i = 0; i < work->diff_count; i++) {
		const struct kp_diff *diff = work->diffs[i];

		if (diff)
			suites[i] = (struct kp_gate_suite){diff->totals[1].runs[0]->name,
							   diff->gates, diff->gate_count};
	}
	status = kp_gating_conclude(work->settings, "diff", suites, work->diff_count);
	free(suites);
	return status;
}

static void end(struct work *work)
{
	for (size_t i = 0; i < work->diff_count; i++)
		kp_diff_destroy(work->diffs[i]);
	for (size_t i = 0; work->runs && i < work->settings->operand_count; i++)
		kp_run_destroy(work->runs[i]);
	free(work->diffs);
	free(work->runs);
	kp_gating_close(&work->gating);
	kp_operators_destroy(work->operators);
}

static int cmd_diff(const struct kp_settings *settings)
{
	enum kp_format format = kp_ranking_format(settings);
	struct work work = {.settings = settings};
	int status = KP_EXIT_FAILURE;

	if (format != KP_FORMAT_TEXT && format != KP_FORMAT_YAML && format != KP_FORMAT_JSON)
		return kp_fail("a comparison is text, YAML or JSON; choose one with --format");
	if (!kp_gating_open(settings, KP_GATE_DIFF, &work.gating))
		return KP_EXIT_FAILURE;
	if (kp_rules_open(settings, &work.operators) && read_runs(&work) && compare_all(&work) &&
	    write_all(&work, format))
		status = conclude(&work);
	end(&work);
	return status;
}

// clang-format off
#define AT(member) offsetof(struct kp_settings, member)
static const char *const diff_formats[] = {"text", "yaml", "json", NULL};
static const char *const diff_names[] = {"short", "full", "mangled", NULL};
static const char *const diff_colors[] = {"auto", "always", "never", NULL};
static const struct kp_option diff_options[] = {
	{.name = "margin", .type = KP_OPTION_NUMBER, .offset = AT(margin_pct), .argument = "PCT",
	 .minimum = 0, .maximum = 100, .suffix = '%',
	 .help = "A change that lies within PCT percent with all of its interval is no difference; "
		 "1 by default."},
	{.name = "iterations", .type = KP_OPTION_TEXT, .offset = AT(iterations),
	 .argument = "auto|RANGE",
	 .help = "What is an iteration: with auto, the default, what repeats in the sequence of "
		 "kernels; else each NVTX range called RANGE."},
	{.name = "allow-not-comparable", .type = KP_OPTION_FLAG, .offset = AT(allow_not_comparable),
	 .help = "Let the verdict be that of the data although the sides should not be compared: "
		 "another GPU, other clocks, another command, records missing. What speaks against "
		 "it is still said."},
	{.name = "operators", .type = KP_OPTION_FILE, .offset = AT(operators), .argument = "FILE",
	 .once = true,
	 .help = "Label kernels by the rules in FILE first, as in kprof report."},
	{0},
};
static const struct kp_option diff_output_options[] = {
	{.name = "format", .letter = 'f', .type = KP_OPTION_CHOICE, .offset = AT(format),
	 .choices = diff_formats,
	 .help = "The format. Without this option it follows the extension of the output file, "
		 "else it is text."},
	{.name = "output", .letter = 'o', .type = KP_OPTION_FILE, .offset = AT(output),
	 .argument = "FILE",
	 .help = "Write to FILE instead of the standard output, which - stands for."},
	{.name = "names", .type = KP_OPTION_CHOICE, .offset = AT(names), .choices = diff_names,
	 .help = "Kernel names in text: short (the default), full (demangled) or mangled."},
	{.name = "top", .letter = 'n', .type = KP_OPTION_COUNT, .offset = AT(top), .argument = "N",
	 .help = "Show at most N operators and at most N kernels of each, and add up the rest; 0 "
		 "shows all; 10 by default. YAML and JSON always hold all."},
	{.name = "color", .type = KP_OPTION_CHOICE, .offset = AT(color), .choices = diff_colors,
	 .help = "Colour the text: auto colours on a terminal unless NO_COLOR is set."},
	{0},
};
static const struct kp_option diff_help_options[] = {
	{.name = "help", .letter = 'h', .type = KP_OPTION_FLAG, .offset = AT(help),
	 .help = "Print this help and exit."},
	{0},
};
static const struct kp_option_group diff_group = {"What is compared", diff_options};
static const struct kp_option_group diff_output_group = {"Output", diff_output_options};
static const struct kp_option_group diff_help_group = {"Help", diff_help_options};

static const char *const diff_description[] = {
	"Compares runs, each a trace: how much faster or slower the new side is than the base, "
	"with a 95 % confidence interval, and which operators, kernels and causes of idle time "
	"moved the total. Two files are base and new; of more, each is compared with the first. "
	"With -- the files before it are runs of the base, those behind it runs of the new side: "
	"several of each tell what differs from run to run. Options go before --.",
	"An iteration is compared where all runs have iterations, and else the whole run. Its "
	"length is the sum of its parts: the time of each kernel, where kernels overlap each "
	"instant divided among them, and idle time by cause. So what moved adds up to the "
	"difference exactly.",
	"The verdict is faster, slower, no difference, inconclusive, or not comparable, and says "
	"why. A kernel that another one replaced in the same place (of the same operator, called "
	"as often, with the same neighbours) is compared with that one.",
	NULL,
};
static const struct kp_example diff_examples[] = {
	{"kprof diff before.kprof after.kprof", "What changed?"},
	{"kprof diff base.kprof one.kprof two.kprof", "Two candidates, each with the base."},
	{"kprof diff old*.kprof -- new*.kprof", "Several runs of both sides."},
	{"kprof diff --fail-on 'slower > 2%' a.kprof b.kprof", "A gate: exit status 1."},
	{0},
};
static const struct kp_example diff_statuses[] = {
	{"0", "The output is complete, and no rule of --fail-on failed."},
	{"1", "A rule of --fail-on failed; one line each says so."},
	{"125", "A file could not be read or written, or kprof was called wrongly."},
	{0},
};
static const struct kp_example diff_environment[] = {
	KP_STYLE_ENVIRONMENT,
	{0},
};
const struct kp_command kp_diff_command = {
	.name = "diff", .page = "kprof-diff", .operands = "BASE NEW... | BASE... -- NEW...",
	.summary = "compare runs: what changed, with a verdict",
	.description = diff_description, .examples = diff_examples, .statuses = diff_statuses,
	.environment = diff_environment, .least = 2, .most = SIZE_MAX,
	.groups = (const struct kp_option_group *const[]){&diff_group, &diff_output_group,
							  &kp_gate_group, &diff_help_group, NULL},
	.run = cmd_diff,
};
// clang-format on
